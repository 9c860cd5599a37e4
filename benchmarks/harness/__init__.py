"""The machinery of the benchmarks: what measures, compares and reports.

In this room, one idea a file: `registry` (what a workload and a contender are), `environments`
(virtual environments for the peers), `child` (the process of one contender), `conductor` (starts
the children and lets them run in turns), `usage` (processor time and memory of a process and those
below it), `report` (ratios and tables), `plot` (a picture of a table), `pages` (the tables of
`docs/benchmarks.md`). Not here: the work itself (`workloads`), and the loops in C that say what the
hardware can do (`limits`).

Nothing here imports Fuel or a peer, so that each runs in a process and an environment of its own.
"""
