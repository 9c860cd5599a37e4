"""From your own files to HDF5: one converter for each kind of input.

- `images`: folders of image files
- `tables`: CSV
- `arrays`: NumPy's ``.npz`` and ``.npy``
- `parquet`: Parquet
- `huggingface`: a data set of the library `datasets`, saved on disk
- `text`: lines of text
- `webdataset`: tar archives

Each reads its input in bounded memory, as often as needed: first to learn what is there and which
example belongs to which split (``_splits``), then once for every split, so that the examples of a
split lie next to each other in the file, in the order of the input (``_common`` writes them). The
way back is `fuel.converters.export`. Converters of well-known data sets are in `fuel.converters`.
"""

from __future__ import annotations

__all__: list[str] = []
