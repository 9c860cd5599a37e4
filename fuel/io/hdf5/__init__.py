"""Rows of HDF5 datasets in any order, without HDF5's own selection of elements.

Import the rooms themselves; nothing is loaded here.
"""
