"""Kernels: the inner loops, each in a compiled form and in plain NumPy, equal bit for bit.

Empty on purpose: import the topic, for example ``from fuel.kernels import permutation``.

For each topic there are three files. ``topic.py`` is the door: it checks arguments, allocates
results and calls. ``_topic.pyx`` is the compiled form: it trusts the door and runs without the
interpreter's lock. ``_topic_reference.py`` is the same in plain NumPy: the tests hold the
compiled form against it, and it does the work where the compiled form is missing.
``_select`` chooses between the two. Longer C is in a ``.h`` beside the ``.pyx``.

===================  =========================================================================
``gather``           rows of an array by their numbers, with arithmetic on the way
``crop``             a window of each of many images, mirrored, in another layout
``arithmetic``       the chains of arithmetic that both do (``_arithmetic_steps``: in elementary
                     terms; ``_arithmetic_forms``: which loops do them); ``_batches`` and
                     ``_status`` are what their doors have in common
``ragged``           sequences of unequal lengths into a rectangle, and back (``_fill``: padding)
``windows``          all windows over many sequences (``_rows``: shared with ``ragged``)
``packing``          several sequences in a row
``objects``          objects out of a list, and how long they are
``chunks``           rows out of decoded chunks, wherever they are in memory
``filters``          undoing HDF5's own filters: LZF, the shuffle of bytes, Fletcher's checksum
``heap``             elements of variable length from the bytes of an HDF5 file
``permutation``      the index at any place of a shuffled order
``draws``            random bits and numbers by address
``jpeg``             encoded images (``_jpeg_backends``, ``_jpeg_batch``, ``_jpeg_pillow``)
``memory``           recycled, aligned memory for results
``threads``          the pool that large pieces of work are spread over
===================  =========================================================================
"""
