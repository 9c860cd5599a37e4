"""Looking at HDF5 files: how they are stored, what is in them, and pictures of it.

- `fuel.inspection.storage`: how sources are stored, and whether that suits random reading
- `fuel.inspection.statistics`: smallest, largest, mean, and the balance of classes
- `fuel.inspection.preview`: a picture of some examples
- `fuel.inspection.page`: all of it as a page of HTML

What files mean is known to `fuel.datasets.hdf5`; the command is in `fuel.bin.fuel_info`.
"""
