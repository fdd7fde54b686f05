"""The timeline when links are shared or sends block, event by event.

Two things that the longest-path model leaves out and real frameworks have. *Occupancy*: a transfer has its link, in
its direction, to itself for a part of the delay; others wait in the order in which they became ready. *Blocking
sends*: a rank computes nothing while what it sent is on its way, as in Megatron's 1F1B, which sends and receives in
one blocking batch. The receiver is taken to be ready, so a blocking send never deadlocks an order that runs without.
"""

import heapq
from collections.abc import Sequence
from itertools import count

from hyperflow.ir.timeline import Operation, PipelineOrder, StageTimes, Timeline
from hyperflow.simulate.timeline import chunk_durations, count_peaks, refuse_deadlock

_Package = tuple[bool, int, int]  # is a gradient, the stage it is for, micro-batch


def simulate_transfers(
    order: PipelineOrder,
    durations: StageTimes,
    links: Sequence[float],
    occupancy: Sequence[float] | None = None,
    blocking_sends: bool = False,
) -> Timeline:
    """Time an order when a transfer keeps link e busy for `occupancy[e]` of its delay `links[e]`, or sends block.

    Without either it is `timeline.simulate`, slower. Raises InputError (HF656) when the order deadlocks.
    """
    run = _Run(order, durations, links, occupancy or (0.0,) * len(links), blocking_sends)
    run.until_done()
    refuse_deadlock(order, run.ends)
    until_weight, until_input = count_peaks(order)
    return Timeline(
        order=order,
        times=durations,
        links=tuple(links),
        starts=tuple(map(tuple, run.starts)),
        ends=tuple(map(tuple, run.ends)),
        peak_until_weight=until_weight,
        peak_until_input=until_input,
    )


class _Run:
    """Events in order of time: an operation ends, or a transfer reaches the next rank on its way."""

    def __init__(
        self,
        order: PipelineOrder,
        durations: StageTimes,
        links: Sequence[float],
        occupancy: Sequence[float],
        blocking_sends: bool,
    ) -> None:
        self._order, self._links, self._occupancy, self._blocking = order, links, occupancy, blocking_sends
        self._lengths = [chunk_durations(durations, rank, order.num_chunks) for rank in range(order.num_ranks)]
        self.starts: list[list[float]] = [[] for _ in order.operations]
        self.ends: list[list[float]] = [[] for _ in order.operations]
        self._free = [True] * order.num_ranks
        self._done: set[Operation] = set()
        self._arrived: set[_Package] = set()
        self._link_free: dict[tuple[int, bool], float] = {}
        self._events: list[tuple[float, int, int, _Package | None, int]] = []
        self._sequence = count()

    def until_done(self) -> None:
        """Handle events until none is left."""
        for rank in range(self._order.num_ranks):
            self._start_next(rank, 0.0)
        while self._events:
            now, _, rank, package, sender = heapq.heappop(self._events)
            if package is None:
                self._finish(rank, now)
            else:
                self._pass_on(rank, package, sender, now)

    def _start_next(self, rank: int, now: float) -> None:
        """Start the rank's next operation if the rank is free and the inputs are there."""
        operations, position = self._order.operations[rank], len(self.starts[rank])
        if self._free[rank] and position < len(operations) and self._is_ready(operations[position]):
            self._free[rank] = False
            self.starts[rank].append(now)
            self._push(now + self._lengths[rank][operations[position].kind], rank, None, rank)

    def _is_ready(self, operation: Operation) -> bool:
        kind, stage, microbatch = operation
        if kind == "W":
            return Operation("B", stage, microbatch) in self._done
        if kind == "F":
            return stage == 0 or (False, stage, microbatch) in self._arrived
        at_the_end = stage == len(self._order.stage_ranks) - 1
        forward_done = Operation("F", stage, microbatch) in self._done
        return forward_done and (at_the_end or (True, stage, microbatch) in self._arrived)

    def _finish(self, rank: int, now: float) -> None:
        operation = self._order.operations[rank][len(self.ends[rank])]
        self.ends[rank].append(now)
        self._done.add(operation)
        self._free[rank] = True
        is_gradient = operation.kind != "F"
        target = operation.stage - 1 if is_gradient else operation.stage + 1
        if operation.kind != "W" and 0 <= target < len(self._order.stage_ranks):
            self._free[rank] = not self._blocking
            self._pass_on(rank, (is_gradient, target, operation.microbatch), rank, now)
        self._start_next(rank, now)

    def _pass_on(self, rank: int, package: _Package, sender: int, now: float) -> None:
        """Deliver a package that has reached its rank, or send it over the next link on its way."""
        target = self._order.stage_ranks[package[1]]
        if rank == target:
            self._arrived.add(package)
            self._free[sender] = self._free[sender] or self._blocking
            self._start_next(rank, now)
            self._start_next(sender, now)
            return
        down = target > rank
        link = rank if down else rank - 1
        start = max(now, self._link_free.get((link, down), 0.0))
        self._link_free[link, down] = start + self._occupancy[link]
        self._push(start + self._links[link], rank + 1 if down else rank - 1, package, sender)

    def _push(self, when: float, rank: int, package: _Package | None, sender: int) -> None:
        heapq.heappush(self._events, (when, next(self._sequence), rank, package, sender))
