"""Kernels: the inner loops, each in a compiled form and in plain NumPy, equal bit for bit.

Empty on purpose: import the topic, for example ``from fuel.kernels import permutation``.

For each topic there are three files. ``topic.py`` is the door: it checks arguments, allocates
results and calls. ``_topic.pyx`` is the compiled form: it trusts the door and runs without the
interpreter's lock. ``_topic_reference.py`` is the same in plain NumPy: the tests hold the
compiled form against it, and it does the work where the compiled form is missing.
``_select`` chooses between the two.
"""
