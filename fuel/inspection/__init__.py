"""Looking at HDF5 files: how they are stored, what is in them, and pictures of it.

`describe` says what a file is made of without reading its data, `statistics` looks at all of it
once, `preview` draws some examples, and `html` writes everything into one page. Files of any
origin can be looked at, not only those that `fuel.converters` wrote.

- `fuel.inspection.storage`: how sources are stored, and whether that suits random reading
- ``_describe``, ``_shapes``, ``_words``: the description, and numbers as people read them
- ``_blocks``, ``_moments``, ``_statistics``: all of the data, in one pass and bounded memory
- ``_choice``, ``_images``, ``_figures``: which examples are shown, and as what
- ``_drawing``, ``_svg``, ``_page``: figures as a PNG picture and as HTML

What files mean is known to `fuel.datasets.hdf5`; the command is in `fuel.bin.fuel_info`.
"""

from __future__ import annotations

from fuel.inspection._describe import describe
from fuel.inspection._page import html
from fuel.inspection._preview import preview
from fuel.inspection._statistics import statistics

__all__ = ["describe", "html", "preview", "statistics"]
