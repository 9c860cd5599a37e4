"""The version of the package, and nothing else (read by `setup.py` without importing anything)."""

version = "0.3.0"
