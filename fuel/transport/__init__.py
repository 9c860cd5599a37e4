"""How arrays travel between processes and machines.

- `fuel.transport.framing`: arrays as a header (JSON) and raw buffers, and back; no socket, no
  pickle. What arrives is checked before anything is allocated for it.
- `fuel.transport.sockets`: the same over a ZeroMQ socket, in the original wire form.
- `fuel.transport.segments`: shared memory, and how it is handed to another process.

Who sends what to whom is in `fuel.server` and in `fuel.streams`; objects between a process and
the workers that it started itself travel by `fuel.utils._process`.
"""
