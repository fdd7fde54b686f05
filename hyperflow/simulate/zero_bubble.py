"""The greedy construction of a zero-bubble order: one chunk per rank, unequal times, a limit of memory per rank.

After the heuristic of arXiv 2401.10241, section 3: fill the wait for the first gradient with forwards as memory
allows, then take the micro-batches one by one, forwards down and backwards up, and put weight gradients where a rank
would wait or where memory must be freed. `zero_bubble_search` tries the open choices and keeps the best order.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf
from operator import add

from hyperflow.ir.timeline import StageTimes


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """The open choices of the greedy construction.

    `gap_before_backward`: stop the ramp before a forward that would delay the first gradient.
    `hold_forwards`: leave a forward out of a turn when the next rank is behind and would be starved of its backward.
    `always_fill`: start a W in a gap that it overruns even where the gap is no worse than another rank's.
    """

    gap_before_backward: bool
    hold_forwards: bool
    always_fill: bool


class TooSlow(Exception):
    """The order cannot end before `give_up_at` any more."""


@dataclass(slots=True, kw_only=True)
class Construction:
    """A growing order: per rank its clock, its bubble and the kinds of its operations in turn.

    `delays[e]` is the delay between ranks e and e+1, `limits[r]` how many micro-batches, at least one,
    rank r may hold from F to W.
    With `give_up_at` it stops when bubbles have made that end impossible. `fill_mattered` and `hold_mattered` tell
    whether the opposite choice would have made another order.
    """

    times: StageTimes
    delays: Sequence[float]
    microbatches: int
    limits: Sequence[int]
    choices: Choices
    give_up_at: float = inf
    clock: list[float] = field(init=False)
    bubble: list[float] = field(init=False)
    weights: list[int] = field(init=False)
    forward_end: list[list[float]] = field(init=False)
    backward_end: list[list[float]] = field(init=False)
    kinds: list[list[str]] = field(init=False)
    peaks: list[int] = field(init=False)
    fill_mattered: bool = field(default=False, init=False)
    hold_mattered: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        ranks = range(self.times.num_ranks)
        self.clock, self.bubble, self.weights = [0.0 for _ in ranks], [0.0 for _ in ranks], [0 for _ in ranks]
        self.forward_end, self.backward_end = [[] for _ in ranks], [[] for _ in ranks]
        self.kinds, self.peaks = [[] for _ in ranks], [0 for _ in ranks]

    @property
    def makespan(self) -> float:
        """The end of the last operation, under `delays`."""
        return max(self.clock)

    @property
    def longest_span(self) -> float:
        """The longest time from a rank's first start to its last end."""
        spans = zip(self.clock, self.forward_end, self.times.forward, strict=True)
        return max(clock - ends[0] + forward for clock, ends, forward in spans)

    def build(self) -> None:
        """Make the whole order; raises TooSlow when it gives up."""
        self._ramp()
        work = [self.microbatches * total for total in self.times.totals]
        least = [
            ends[0] - forward + w for ends, forward, w in zip(self.forward_end, self.times.forward, work, strict=True)
        ]
        for _ in range(1, self.microbatches):
            if self.give_up_at < inf and max(map(add, least, self.bubble)) >= self.give_up_at:
                raise TooSlow
            self._forwards_down()
            self._backwards_up()
        for rank in range(self.times.num_ranks):
            self._run_weights(rank)

    def _forwards_down(self) -> None:
        """Run the wanted forwards of a turn, freeing memory and filling gaps before each."""
        clock, ends = self.clock, self.forward_end
        for rank, wanted in enumerate(self._wanted_forwards()):
            if wanted:
                if len(ends[rank]) - self.weights[rank] >= self.limits[rank]:
                    self._free_memory(rank)
                arrival = ends[rank - 1][len(ends[rank])] + self.delays[rank - 1] if rank else 0.0
                if arrival > clock[rank]:
                    self._fill_gap(rank, arrival)
                self._run_forward(rank, arrival)

    def _backwards_up(self) -> None:
        """Run one backward per rank, filling the gap before each."""
        clock, ends, last = self.clock, self.backward_end, self.times.num_ranks - 1
        for rank in range(last, -1, -1):
            arrival = ends[rank + 1][len(ends[rank])] + self.delays[rank] if rank < last else 0.0
            if arrival > clock[rank]:
                self._fill_gap(rank, arrival)
            if rank == 0 and len(self.forward_end[0]) == self.microbatches:
                self._run_weights(0)
            self._run_backward(rank, arrival)

    def _ramp(self) -> None:
        """First forwards of all ranks, more while the first gradient is on its way, then the first backwards."""
        ranks, forward, backward = range(self.times.num_ranks), self.times.forward, self.times.backward_input
        for rank in ranks:
            self._run_forward(rank, self.clock[rank - 1] + self.delays[rank - 1] if rank else 0.0)
        more = [0 for _ in ranks]
        returned = self.clock[-1] + backward[-1]
        for rank in reversed(ranks[:-1]):
            arrival = returned + self.delays[rank]
            clock = self.clock[rank]
            while 1 + more[rank] < min(self.microbatches, self.limits[rank]):
                if (clock + forward[rank] > arrival) if self.choices.gap_before_backward else (clock >= arrival):
                    break
                clock += forward[rank]
                more[rank] += 1
            returned = max(clock, arrival) + backward[rank]
        for rank in ranks[1:]:
            if 1 + more[rank] < self.microbatches:
                more[rank] = min(more[rank], max(0, more[rank - 1] - 1))
            more[rank] = min(more[rank], more[rank - 1])
        for rank in ranks:
            for turn in range(1, 1 + more[rank]):
                self._run_forward(rank, self.forward_end[rank - 1][turn] + self.delays[rank - 1] if rank else 0.0)
        for rank in reversed(ranks):
            below = self.backward_end[rank + 1][0] + self.delays[rank] if rank < len(self.delays) else 0.0
            self._run_backward(rank, below)

    def _wanted_forwards(self) -> list[bool]:
        """Say which ranks run a forward in this turn: none runs one that the ranks below do not."""
        wanted = [len(done) < self.microbatches for done in self.forward_end]
        for rank in range(len(wanted) - 1 if self.choices.hold_forwards else 0):
            ahead = len(self.forward_end[rank]) - len(self.forward_end[rank + 1])
            if wanted[rank] and ahead >= 2 and self._should_hold(rank):
                self.hold_mattered = True
                wanted[rank] = False
        for rank in range(len(wanted) - 2, -1, -1):
            wanted[rank] = wanted[rank] and wanted[rank + 1]
        return wanted

    def _should_hold(self, rank: int) -> bool:
        below = rank + 1
        gradient = self.clock[below] + self.times.forward[below] + self.times.backward_input[below] + self.delays[rank]
        if self.clock[rank] >= gradient:
            return True
        to_free = min(self._held(rank) + 1 - self.limits[rank], len(self.backward_end[rank]) - self.weights[rank])
        busy = self.times.forward[rank] + max(0, to_free) * self.times.backward_weight[rank]
        fits = self.clock[rank] + busy <= gradient
        return not fits and gradient - self.clock[rank] <= max(self.bubble) - self.bubble[rank]

    def _held(self, rank: int) -> int:
        return len(self.forward_end[rank]) - self.weights[rank]

    def _free_memory(self, rank: int) -> None:
        # Always possible: the ramp leaves fewer than `limit` forwards without their B, and a turn adds no more of them.
        while self._held(rank) >= self.limits[rank]:
            self._run_weight(rank)

    def _fill_gap(self, rank: int, until: float) -> None:
        """Put weight gradients into the wait `until`."""
        weight = self.times.backward_weight[rank]
        done = len(self.backward_end[rank])
        while self.weights[rank] < done and self.clock[rank] + weight <= until:
            self._run_weight(rank)
        if self.weights[rank] < done and self.clock[rank] < until:
            harmless = until - self.clock[rank] <= max(self.bubble) - self.bubble[rank]
            self.fill_mattered = self.fill_mattered or harmless
            if self.choices.always_fill or not harmless:
                self._run_weight(rank)

    def _run_forward(self, rank: int, arrival: float) -> None:
        ends, duration = self.forward_end[rank], self.times.forward[rank]
        end = at_once = self.clock[rank] + duration
        if arrival + duration > end:
            end = arrival + duration
        if ends:
            self.bubble[rank] += end - at_once
        ends.append(end)
        self.clock[rank] = end
        self.kinds[rank].append("F")
        held = len(ends) - self.weights[rank]
        if held > self.peaks[rank]:
            self.peaks[rank] = held

    def _run_backward(self, rank: int, arrival: float) -> None:
        duration = self.times.backward_input[rank]
        end = at_once = self.clock[rank] + duration
        if arrival + duration > end:
            end = arrival + duration
            self.bubble[rank] += end - at_once
        self.backward_end[rank].append(end)
        self.clock[rank] = end
        self.kinds[rank].append("B")

    def _run_weight(self, rank: int) -> None:
        self.clock[rank] += self.times.backward_weight[rank]
        self.weights[rank] += 1
        self.kinds[rank].append("W")

    def _run_weights(self, rank: int) -> None:
        while self.weights[rank] < len(self.backward_end[rank]):
            self._run_weight(rank)
