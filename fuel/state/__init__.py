"""How a position is written down: plain JSON, with a fingerprint of the pipeline it belongs to.

- `fuel.state._generators`: random generators as JSON;
- `fuel.state.hidden`: what users' own objects remember between calls, with the places where it
  may be (`_places`) and the values that may be there (`_values`);
- `fuel.state._envelope`: the document around a position, its version, checksum and refusals.

Who holds which position is not here: that is `fuel.plan`.
"""

from __future__ import annotations

from fuel.state._envelope import (
    FORMAT_VERSION,
    check_state,
    compare_fingerprints,
    digest,
    make_state,
    plain,
)
from fuel.state._generators import generator_state, is_generator, set_generator_state

__all__ = [
    "FORMAT_VERSION",
    "check_state",
    "compare_fingerprints",
    "digest",
    "generator_state",
    "is_generator",
    "make_state",
    "plain",
    "set_generator_state",
]
