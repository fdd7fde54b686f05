"""ZB-V for the given times: two chunks per rank in a V, split backwards, the memory of 1F1B's first rank on every rank.

A greedy construction after arXiv 2401.10241, section 6: a V-shaped ramp, then turns of one backward and one forward
per rank, with weight gradients in gaps that are worse than those of other ranks. A micro-batch passes a rank on four
legs: 0 forward down, 1 forward up, 2 backward down, 3 backward up.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import inf

from hyperflow.ir.timeline import Operation, PipelineOrder, StageTimes

_KINDS = "FFBBWW"


class Blocked(Exception):
    """The greedy construction asked for an operation whose input does not exist; it has no order for these times."""


class TooSlow(Exception):
    """The try has a longer bubble than an earlier one."""


@dataclass(slots=True, kw_only=True)
class _Ranks:
    """The growing order. `slack[r]` is how much shorter than the longest the bubble of rank r was in an earlier try.

    A bubble of `give_up_at` or more ends the try.
    """

    times: StageTimes
    delays: Sequence[float]
    microbatches: int
    slack: list[float]
    give_up_at: float = inf
    clock: list[float] = field(init=False)
    bubble: list[float] = field(init=False)
    held: list[int] = field(init=False)
    pending: list[deque[tuple[int, int]]] = field(init=False)
    visits: list[list[tuple[int, int]]] = field(init=False)
    ends: list[list[list[float]]] = field(init=False)
    durations: list[tuple[float, float, float, float, float]] = field(init=False)
    overruns: list[bool] = field(default_factory=lambda: [False, False])

    def __post_init__(self) -> None:
        ranks = range(self.times.num_ranks)
        self.clock, self.bubble, self.held = [0.0 for _ in ranks], [0.0 for _ in ranks], [0 for _ in ranks]
        self.pending, self.visits = [deque() for _ in ranks], [[] for _ in ranks]
        self.ends = [[[] for _ in ranks] for _ in range(4)]
        columns = zip(self.times.forward, self.times.backward_input, self.times.backward_weight, strict=True)
        self.durations = [(f / 2, f / 2, b / 2, b / 2, w / 2) for f, b, w in columns]

    def done(self, leg: int, rank: int) -> int:
        """Count the operations of a leg."""
        return len(self.ends[leg][rank])

    def arrival(self, leg: int, rank: int) -> float | None:
        """When the next operation's input is there: None if not yet known, -1 if it comes from the rank itself."""
        down = leg in (0, 2)
        neighbour = rank - 1 if down else rank + 1
        if not 0 <= neighbour < len(self.clock):
            return -1.0
        ends, turn = self.ends[leg][neighbour], len(self.ends[leg][rank])
        return ends[turn] + self.delays[neighbour if down else rank] if turn < len(ends) else None

    def run(self, leg: int, rank: int) -> None:
        """Run the next forward or backward of a leg; raises Blocked when it cannot run."""
        self._run_at(leg, rank, self.arrival(leg, rank))

    def _run_at(self, leg: int, rank: int, arrival: float | None) -> None:
        ends, duration = self.ends[leg][rank], self.durations[rank][leg]
        turn = len(ends)
        if arrival is None or turn >= self.microbatches or (leg and turn >= len(self.ends[leg - 1][rank])):
            raise Blocked
        at_once = self.clock[rank] + duration
        end = max(at_once, arrival + duration) if arrival >= 0 else at_once
        if self.visits[rank]:
            self.bubble[rank] += end - at_once
        self.clock[rank] = end
        ends.append(end)
        self.visits[rank].append((leg, turn))
        if leg >= 2:
            self.pending[rank].append((leg + 2, turn))
            return
        self.held[rank] += 1
        if self.held[rank] > 2 * len(self.clock):
            raise Blocked

    def run_weight(self, rank: int) -> None:
        """Run the weight gradient that has waited longest; raises Blocked when none waits."""
        if not self.pending[rank]:
            raise Blocked
        self.visits[rank].append(self.pending[rank].popleft())
        self.clock[rank] += self.durations[rank][4]
        self.held[rank] -= 1

    def fill_and_run(self, leg: int, rank: int, overrun: bool) -> None:
        """Put weight gradients into the wait for the next operation, then run it; `overrun` allows one too long."""
        arrival = self.arrival(leg, rank)
        if arrival is not None and arrival > self.clock[rank] and self.pending[rank]:
            self._fill_gap(leg, rank, arrival, overrun)
        self._run_at(leg, rank, arrival)

    def _fill_gap(self, leg: int, rank: int, arrival: float, overrun: bool) -> None:
        weight = self.durations[rank][4]
        while self.pending[rank] and arrival >= self.clock[rank] + weight:
            self.run_weight(rank)
        if self.pending[rank] and arrival > self.clock[rank]:
            worst = max(max(self.bubble), self.slack[rank])
            if arrival - self.clock[rank] > worst - self.bubble[rank]:
                if leg < 3:
                    self.overruns[leg // 2] = True
                if overrun:
                    self.run_weight(rank)


def greedy_orders(
    times: StageTimes, delays: Sequence[float], microbatches: int
) -> Iterator[tuple[float, PipelineOrder]]:
    """Give (longest bubble, order) for each choice of where a W may overrun its gap; none where the ramp is blocked.

    Choices that cannot differ from one already built are left out.
    """
    backward_matters = True
    for backwards in (True, False):
        if not (backwards or backward_matters):
            continue
        backward_matters = False
        for forwards in (True, False):
            best, overruns = _improve(times, delays, microbatches, (forwards, backwards))
            backward_matters = backward_matters or overruns[1]
            if best is not None:
                yield max(best.bubble), _as_order(best)
            if not overruns[0]:
                break


def _improve(
    times: StageTimes, delays: Sequence[float], microbatches: int, overrun: tuple[bool, bool]
) -> tuple[_Ranks | None, tuple[bool, bool]]:
    """Build, and build again knowing which ranks had bubbles to spare, while the longest bubble shrinks.

    Also give whether a W came up that would overrun its gap, before forwards and before backwards down.
    """
    best: _Ranks | None = None
    slack = [0.0] * times.num_ranks
    overruns = (False, False)
    while True:
        least = max(best.bubble) if best else inf
        ranks = _Ranks(times=times, delays=delays, microbatches=microbatches, slack=slack, give_up_at=least)
        slower = False
        try:
            _build(ranks, *overrun)
        except Blocked:
            return best, (True, True)
        except TooSlow:
            slower = True
        overruns = (overruns[0] or ranks.overruns[0], overruns[1] or ranks.overruns[1])
        worst = max(ranks.bubble)
        if slower or worst >= least:
            return best, overruns
        best = ranks
        slack = [worst - bubble for bubble in ranks.bubble]


def _build(ranks: _Ranks, overrun_forward: bool, overrun_backward: bool) -> None:
    count, microbatches = ranks.times.num_ranks, ranks.microbatches
    _ramp(ranks)
    for _ in range(2 * microbatches):
        if max(ranks.bubble) >= ranks.give_up_at:
            raise TooSlow
        up = [rank for rank in range(count) if _goes_up(ranks, rank)]
        down = [rank for rank in range(count) if rank not in up]
        for leg, rank in [(3, rank) for rank in reversed(up)] + [(2, rank) for rank in down]:
            ranks.fill_and_run(leg, rank, leg == 3 or overrun_backward)
        for rank in range(count):
            leg = _next_forward(ranks, rank)
            if leg is not None:
                while ranks.held[rank] >= 2 * count:
                    ranks.run_weight(rank)
                ranks.fill_and_run(leg, rank, overrun_forward)
    for rank in range(count):
        while ranks.pending[rank]:
            ranks.run_weight(rank)


def _ramp(ranks: _Ranks) -> None:
    """First forwards down and up, with more of them while a rank waits for the way up; then level the counts."""
    count, microbatches = ranks.times.num_ranks, ranks.microbatches
    for rank in range(count):
        ranks.run(0, rank)
    for rank in range(count - 1, -1, -1):
        arrival = ranks.arrival(1, rank)
        while (
            arrival is not None
            and ranks.held[rank] + 2 * (1 + rank) <= 2 * count
            and ranks.clock[rank] + ranks.durations[rank][0] <= arrival
            and ranks.done(0, rank) < microbatches
        ):
            for above in range(rank + 1):
                ranks.run(0, above)
        ranks.run(1, rank)
    leg = 0
    for rank in range(1, count):
        while (
            ranks.done(0, rank) + ranks.done(1, rank) < ranks.done(0, rank - 1) + ranks.done(1, rank - 1)
            or ranks.done(1, rank) <= ranks.done(1, rank - 1) < microbatches
        ):
            for below in range(count - 1, rank - 1, -1):
                if ranks.done(leg, below) < microbatches:
                    ranks.run(leg, below)
            leg = 1 - leg


def _goes_up(ranks: _Ranks, rank: int) -> bool:
    """Say whether the rank's next backward is on leg 3, else on leg 2."""
    if ranks.done(3, rank) >= ranks.done(2, rank):
        return False
    return ranks.arrival(3, rank) is not None or ranks.done(2, rank) >= ranks.microbatches


def _next_forward(ranks: _Ranks, rank: int) -> int | None:
    """Give the leg of the rank's next forward: the way up first, None when neither can run."""
    if ranks.done(1, rank) >= ranks.microbatches:
        return None
    if ranks.done(1, rank) < ranks.done(0, rank):
        if ranks.arrival(1, rank) is not None:
            return 1
        if ranks.done(0, rank) >= ranks.microbatches or ranks.arrival(0, rank) is None:
            return None
    return 0


def _as_order(ranks: _Ranks) -> PipelineOrder:
    count = ranks.times.num_ranks
    operations: list[tuple[Operation, ...]] = []
    for rank, visits in enumerate(ranks.visits):
        first, last = rank, 2 * count - 1 - rank
        stages = (first, last, last, first, last, first)
        operations.append(tuple(Operation(_KINDS[leg], stages[leg], turn) for leg, turn in visits))
    return PipelineOrder(
        schedule="ZB-V",
        num_ranks=count,
        num_chunks=2,
        num_microbatches=ranks.microbatches,
        stage_ranks=(*range(count), *reversed(range(count))),
        operations=tuple(operations),
    )
