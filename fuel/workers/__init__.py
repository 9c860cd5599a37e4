"""Who evaluates: what the processes that work for a stream are given, and how.

- `fuel.workers._sharing`: an object as bytes and shared memory, and back.
- `fuel.workers._picklable`: the name of what cannot be sent.

Child processes themselves are in `fuel.utils._process`, shared memory is in
`fuel.transport.segments`, and what can be evaluated apart is known by `fuel.plan`.
"""
