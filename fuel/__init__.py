"""Fuel streams data into training loops.

A *dataset* can say what lies at an index; an iteration *scheme* says which index comes next; a
*stream* asks the one what the other named; *transformers* change what comes back. Together they
are a pipeline that can be printed, pickled, resumed and repeated exactly.
"""

from fuel.config_parser import config
from fuel.version import version as __version__

__all__ = ["__version__", "config"]
