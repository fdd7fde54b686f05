"""DualPipeV: two chunks per rank in a V (rank r holds stages r and 2p-1-r), one forward beside one whole backward.

Source: the DualPipeV description of deepseek-ai/DualPipe (arXiv 2412.19437). A pair of forward and backward is run
one after the other here: no gain from overlapping is assumed.
"""

from collections import deque

from hyperflow.ir.timeline import Operation, PipelineOrder


class _Rank:
    """Appends operations of one rank, counting micro-batches by chunk and kind."""

    def __init__(self, rank: int, num_ranks: int) -> None:
        self.operations: list[Operation] = []
        self._stages = (rank, 2 * num_ranks - 1 - rank)
        self._forwards = [0, 0]
        self._backwards = [0, 0]
        self._pending: deque[Operation] = deque()

    def forward(self, chunk: int) -> None:
        self.operations.append(Operation("F", self._stages[chunk], self._forwards[chunk]))
        self._forwards[chunk] += 1

    def backward(self, chunk: int, split: bool = False) -> None:
        stage, microbatch = self._stages[chunk], self._backwards[chunk]
        self.operations.append(Operation("B" if split else "BW", stage, microbatch))
        self._backwards[chunk] += 1
        if split:
            self._pending.append(Operation("W", stage, microbatch))

    def weight(self) -> None:
        if self._pending:
            self.operations.append(self._pending.popleft())


def dualpipe_v(num_ranks: int, microbatches: int) -> PipelineOrder:
    """Give the order of DualPipeV; it needs at least as many micro-batches as the 2p stages."""
    return PipelineOrder(
        schedule="DualPipeV",
        num_ranks=num_ranks,
        num_chunks=2,
        num_microbatches=microbatches,
        stage_ranks=(*range(num_ranks), *reversed(range(num_ranks))),
        operations=tuple(_rank_operations(rank, num_ranks, microbatches) for rank in range(num_ranks)),
    )


def _rank_operations(rank: int, num_ranks: int, microbatches: int) -> tuple[Operation, ...]:
    below = num_ranks - 1 - rank
    run = _Rank(rank, num_ranks)
    for _ in range(2 * below):
        run.forward(0)
    for _ in range(rank + 1):
        run.forward(0)
        run.forward(1)
    for _ in range(below):
        run.backward(1, split=True)
        run.weight()
        run.forward(1)
    for _ in range(microbatches - 2 * num_ranks + rank + 1):
        run.forward(0)
        run.backward(1)
        run.forward(1)
        run.backward(0)
    for _ in range(below):
        run.backward(1)
        run.forward(1)
        run.backward(0)
    # Of the last 2 (rank + 1) backwards the second half is split: their W wait for the tail, where bubbles are.
    for step in range(2 * (rank + 1)):
        run.backward(1 - step % 2, split=step >= rank + 1)
    for _ in range(below):
        run.weight()
        run.backward(0, split=True)
    for _ in range(rank + 1):
        run.weight()
    return tuple(run.operations)
