"""Where bytes rest: reading files at the speed of the machine.

- `fuel.io.hdf5`: rows of HDF5 datasets in any order
"""
