"""Who evaluates: serially, in threads, or in processes, with the same results.

- `fuel.workers._base`: what every kind offers;
- `fuel.workers.serial`, `threads`, `processes`: the kinds;
- `fuel.workers._engine`: a pass whose items workers evaluate, in order and counted;
- `fuel.workers._crew`, `_choosing`: the workers of a pass, and how their kind is chosen;
- `fuel.workers._failures`, `_replacing`, `_blame`: what is done about failures, and how they are
  told;
- `fuel.workers._worker`, `_child`: a worker process from outside, and the loop inside it;
- `fuel.workers._idle`, `_closing`: workers kept warm, and how they end;
- `fuel.workers._results`: outcomes on their way to the consumer;
- `fuel.workers._sharing`, `_places`: an object as bytes and shared memory, and back;
- `fuel.workers._picklable`: the name of what cannot be sent.

What can be evaluated apart, and in which order, is known by `fuel.plan`; the transformer is
`fuel.transformers.Parallel`. Child processes are in `fuel.utils._process`, shared memory is in
`fuel.transport.segments`.
"""

from fuel.workers._closing import close_workers
from fuel.workers._failures import Failure, FailurePolicy, FailureReport

__all__ = ["Failure", "FailurePolicy", "FailureReport", "close_workers"]
