"""The loader: data in, batches out.

`DataLoader` takes any container, dataset or stream, and is nothing but a chain of streams and
transformers built from arguments, an order, and a count of what was delivered. In private modules:

- ``_loader``, ``_shortcuts``: the user's surface;
- ``_arguments``, ``_other_names``: checks, and what arguments are called elsewhere;
- ``_plan``: arguments to chain, pure;
- ``_iterator``: one run, and where it is;
- ``_order``: the order of a run of several epochs;
- ``_container``, ``_structure``: containers as datasets, and the form of items;
- ``_steps``, ``_repeat``: the steps that only loaders have.

Not here: containers and what is done with them as a whole (`fuel.observations`), workers
(`fuel.workers`), streams with steps of your own (`fuel.streams`, `fuel.transformers`).
"""

from __future__ import annotations

from fuel.loader._loader import DataLoader
from fuel.loader._shortcuts import close_dataloader_pool, eachobs

__all__ = ["DataLoader", "close_dataloader_pool", "eachobs"]
