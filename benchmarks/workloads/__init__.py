"""The work: one module for each workload, with all its contenders.

A contender is a function that gets the work (`harness.registry.Work`), sets up what it needs and
returns a function that makes one pass. It imports what it measures when it is called, because each
runs in a process, and perhaps an environment, of its own. Those of this project use its public
names only. A new workload is a module here with a name `WORKLOAD`, listed in
`harness.registry.WORKLOADS`.
"""
