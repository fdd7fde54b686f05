"""Fixed orders of two chunks per rank in a V (rank r holds stages r and 2p-1-r): DualPipeV and ZB-V for equal times.

Sources: DualPipeV of deepseek-ai/DualPipe (arXiv 2412.19437), where one forward runs beside one whole backward (here
one after the other: no gain from overlapping is assumed), and ZB-V of arXiv 2401.10241, section 6, whose bubble
vanishes when F = B = W.
"""

from collections import deque
from collections.abc import Callable

from hyperflow.ir.timeline import Operation, PipelineOrder


class _Rank:
    """Appends operations of one rank, counting micro-batches by chunk and kind; those past the last are left out."""

    def __init__(self, rank: int, num_ranks: int, microbatches: int) -> None:
        self.operations: list[Operation] = []
        self._microbatches = microbatches
        self._stages = (rank, 2 * num_ranks - 1 - rank)
        self._forwards = [0, 0]
        self._backwards = [0, 0]
        self._pending: deque[Operation] = deque()

    def forward(self, chunk: int) -> None:
        self._append(Operation("F", self._stages[chunk], self._forwards[chunk]))
        self._forwards[chunk] += 1

    def backward(self, chunk: int, split: bool = False) -> None:
        stage, microbatch = self._stages[chunk], self._backwards[chunk]
        self._append(Operation("B" if split else "BW", stage, microbatch))
        self._backwards[chunk] += 1
        if split:
            self._pending.append(Operation("W", stage, microbatch))

    def weight(self) -> None:
        """Run the weight gradient that has waited longest, if there is one."""
        if self._pending:
            self._append(self._pending.popleft())

    def weight_of(self, chunk: int) -> None:
        """Run the weight gradient of a chunk that has waited longest, if there is one."""
        waiting = [operation for operation in self._pending if operation.stage == self._stages[chunk]]
        if waiting:
            self._pending.remove(waiting[0])
            self._append(waiting[0])

    def whole(self, chunk: int) -> None:
        """Run B and at once its W."""
        self.backward(chunk, split=True)
        self.weight()

    def _append(self, operation: Operation) -> None:
        if operation.microbatch < self._microbatches:
            self.operations.append(operation)


def dualpipe_v(num_ranks: int, microbatches: int) -> PipelineOrder:
    """Give the order of DualPipeV; it needs at least as many micro-batches as the 2p stages."""
    return _order("DualPipeV", num_ranks, microbatches, _dualpipe_rank)


def zb_v_fixed(num_ranks: int, microbatches: int) -> PipelineOrder:
    """Give the order of ZB-V made for equal F, B and W, as torchtitan runs it under the name ZBVZeroBubble."""
    return _order("ZBVZeroBubble", num_ranks, microbatches, _zb_v_rank)


def _order(
    schedule: str, num_ranks: int, microbatches: int, fill: Callable[[_Rank, int, int, int], None]
) -> PipelineOrder:
    ranks: list[tuple[Operation, ...]] = []
    for rank in range(num_ranks):
        run = _Rank(rank, num_ranks, microbatches)
        fill(run, rank, num_ranks, microbatches)
        ranks.append(tuple(run.operations))
    return PipelineOrder(
        schedule=schedule,
        num_ranks=num_ranks,
        num_chunks=2,
        num_microbatches=microbatches,
        stage_ranks=(*range(num_ranks), *reversed(range(num_ranks))),
        operations=tuple(ranks),
    )


def _dualpipe_rank(run: _Rank, rank: int, num_ranks: int, microbatches: int) -> None:
    below = num_ranks - 1 - rank
    for _ in range(2 * below):
        run.forward(0)
    for _ in range(rank + 1):
        run.forward(0)
        run.forward(1)
    for _ in range(below):
        run.whole(1)
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


def _zb_v_rank(run: _Rank, rank: int, num_ranks: int, microbatches: int) -> None:
    # The pattern needs 2p - 1 micro-batches to unfold; with fewer the missing ones are left out of it.
    unfolded = max(2 * num_ranks - 1, microbatches)
    below = num_ranks - rank
    for _ in range(2 * below - 1):
        run.forward(0)
    for _ in range(rank):
        run.forward(1)
        run.forward(0)
    for _ in range(below):
        run.forward(1)
        run.whole(1)
    forwards = [2 * num_ranks - 1 - rank, num_ranks]  # done so far on the first and on the second chunk
    while forwards[1] < max(forwards[0], unfolded):
        if forwards[0] < unfolded:
            run.forward(0)
            forwards[0] += 1
        run.whole(0)
        run.forward(1)
        forwards[1] += 1
        run.whole(1)
    for _ in range(rank):
        run.backward(0, split=True)
        run.backward(1, split=True)
    for _ in range(below):
        run.backward(0, split=True)
        run.weight_of(0)
    for chunk in (1, 0):
        for _ in range(num_ranks):
            run.weight_of(chunk)
