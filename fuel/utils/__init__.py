"""Tools that every floor above uses.

=========================  ====================================================================
`fuel.utils._subset`       `Subset`, `iterable_fancy_indexing`: parts of an indexed collection
`fuel.utils._requests`     the forms that a request may have
`fuel.utils._paths`        `find_in_data_path`
`fuel.utils._pickling`     `do_not_pickle_attributes`, `lazy_property_factory`
`fuel.utils._compat`       `remember_cwd`, `buffer_`, warnings about age
`fuel.utils._overrides`    who wrote a method, this package or a user
`fuel.utils._process`      child processes that run our own entry point (with `_child`, which runs
                           in them, `_launch`, starting and ending, `_channel`, the messages,
                           and `_failure`, the exceptions)
`fuel.utils._limits`       the processors and the memory that this process may use
`fuel.utils._shared_list`  texts in one buffer, read as a list
`fuel.utils._progress`     progress bars
`fuel.utils.cache`         copies of data files on a local disk
`fuel.utils.lock`          locks between processes
`fuel.utils.disk`          space, and making directories
`fuel.utils.formats`       opening compressed files and archives
`fuel.utils.parallel`      a producer in another process
`fuel.utils.vocabulary`    `Vocabulary`: tokens and their numbers (with `_vocabulary_files`, their
                           files, `_vocabulary_items`, what is asked of tokens, and `_tokenize`,
                           taking text apart)
`fuel.utils._lines`        the lines of text files, with places in bytes
`fuel.utils._compressed`   reading compressed files as bytes
=========================  ====================================================================
"""

from fuel.utils._compat import buffer_, remember_cwd
from fuel.utils._paths import find_in_data_path
from fuel.utils._pickling import do_not_pickle_attributes, lazy_property_factory
from fuel.utils._subset import Subset, iterable_fancy_indexing

__all__ = [
    "Subset",
    "buffer_",
    "do_not_pickle_attributes",
    "find_in_data_path",
    "iterable_fancy_indexing",
    "lazy_property_factory",
    "remember_cwd",
]
