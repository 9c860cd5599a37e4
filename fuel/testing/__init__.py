"""Contract suites: what every dataset, scheme and stream must hold, for ours and for yours.

Inherit a suite in a test module, say how an object is made, and its laws become tests::

    from fuel.testing import StreamContract

    class TestMyTransformer(StreamContract):
        def make_stream(self):
            return MyTransformer(...)

- `fuel.testing._compare`: exact comparison of items;
- `fuel.testing._resume`: `assert_resumes_everywhere`, with a new process (`_child`);
- `fuel.testing._pipeline`: `check_pipeline`, for a pipeline as it is;
- `fuel.testing._datasets`, `_schemes`, `_streams`: the suites;
- `fuel.testing.strategies`: Hypothesis strategies (needs ``hypothesis``; import it by name).

Nothing in the package imports this.
"""

from __future__ import annotations

from fuel.testing._compare import assert_same_items, canonical
from fuel.testing._datasets import DatasetContract
from fuel.testing._pipeline import check_pipeline
from fuel.testing._resume import assert_resumes_everywhere
from fuel.testing._schemes import SchemeContract
from fuel.testing._streams import StreamContract

__all__ = [
    "DatasetContract",
    "SchemeContract",
    "StreamContract",
    "assert_resumes_everywhere",
    "assert_same_items",
    "canonical",
    "check_pipeline",
]
