"""The exact search under a limit on the period.

Stages are chosen from the last to the first. A partial answer keeps the layers still to place, the places used, the
last place, the sum so far and (with links) the slack of the period. Of two partial answers alike in all but sum and
slack, one that is better in neither is dropped; so is one that the rest cannot complete. For a fixed limit P the
condition over every run of stages, sum T + 2 sum c <= P * length, is carried as one number:
w = T - P + max(0, w_next + 2c) <= 0 (Lindley's recursion).
"""

import time
from dataclasses import dataclass

import numpy as np

from hyperflow.plan.arrays import Flags, Floats, Ints, Numbers
from hyperflow.plan.cover import Cover, end_cost, lowest_start, make_cover, reachable
from hyperflow.plan.problem import Split

MOST_LABELS = 4_000_000
CALL_WORK = 200
"""Rows that take about as long as the fixed part of one call."""
COUNT_BITS = 10
EVEN = 2e-10
"""Weight of the squares of stage times: of splits that cost the same, the evener one is taken."""
TIE_DIGITS = 12
"""Scaled times are rounded here, so that equal splits tie instead of differing by the rounding of their sums."""


class SearchStopped(Exception):
    """The time or the size allowed for the search is used up."""


@dataclass(slots=True, kw_only=True)
class Labels:
    """Partial answers in parallel arrays."""

    left: Ints
    key: Ints
    place: Ints
    total: Floats
    slack: Floats
    parent: Ints


@dataclass(slots=True, kw_only=True)
class Budget:
    """What a search may use: a moment on the monotonic clock, and work, which counts the same on every machine."""

    deadline: float
    work: float = float("inf")

    def spend(self, size: int) -> None:
        """Take so many rows and one call from the budget; raises SearchStopped when it is used up."""
        self.work -= size + CALL_WORK
        if self.work < 0 or time.monotonic() > self.deadline:
            raise SearchStopped


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """One search: the limits it works under and when it must stop."""

    numbers: Numbers
    cover: Cover
    low: float
    worst_total: float
    budget: Budget

    def check(self, size: int) -> None:
        """Raise SearchStopped when the budget is used up or the arrays would grow too large."""
        self.budget.spend(size)
        if size > MOST_LABELS:
            raise SearchStopped


def cheapest_under(
    numbers: Numbers, low: float, limit: float, worst_total: float, budget: Budget
) -> tuple[Split, float] | None:
    """Give the best split whose period is at most `limit`, with its total; None when there is none.

    Total is all of the objective but the period's part. With links the best is the one of least total, without them
    the one of least objective. No split has a period below `low`; splits whose objective exceeds `worst_total` plus
    the part of `low` may be left out. Raises SearchStopped.
    """
    cover = make_cover(numbers, limit)
    sweep = Sweep(numbers=numbers, cover=cover, low=low, worst_total=worst_total, budget=budget)
    places = len(numbers.places)
    if numbers.problem.order is None and not numbers.problem.grouped:
        sweep.check(
            size=max(0, int(np.prod([float(p.copies + 1) for p in numbers.places]) > 2.0**45)) * MOST_LABELS * 2
        )
    labels = Labels(
        left=np.array([numbers.num_layers], dtype=np.int64),
        key=np.zeros(1, dtype=np.int64),
        place=np.full(1, places, dtype=np.int64),
        total=np.zeros(1),
        slack=np.full(1, -np.inf if numbers.links else low),
        parent=np.zeros(1, dtype=np.int64),
    )
    history: list[Labels] = [labels]
    for position in range(numbers.num_stages - 1, -1, -1):
        order = numbers.problem.order
        tried = tuple(range(places)) if order is None else (order[position],)
        if position == 0 and numbers.problem.first_places is not None:
            tried = tuple(place for place in tried if place in numbers.problem.first_places)
        parts: list[Labels] = []
        for place in tried:
            part = _extend(sweep, labels, place, position)
            if part is not None:
                parts.append(part)
                sweep.check(sum(len(done.left) for done in parts))
        if not parts:
            return None
        labels = _undominated(numbers, parts)
        history.append(labels)
    best = _best_row(numbers, labels)
    return _trace(history, best), float(labels.total[best])


def _best_row(numbers: Numbers, labels: Labels) -> int:
    if numbers.links:
        return int(np.argmin(np.round(labels.total, TIE_DIGITS)))
    if numbers.problem.objective != "bottleneck":
        return int(np.argmin(np.round(labels.total + numbers.period_weight * labels.slack, TIE_DIGITS)))
    return int(np.lexsort((labels.total, np.round(labels.slack, TIE_DIGITS)))[0])


def _extend(sweep: Sweep, labels: Labels, place: int, position: int) -> Labels | None:
    """Put a stage on `place` before each partial answer, with every number of layers that can work."""
    numbers = sweep.numbers
    rows, keys, spare = _usable(numbers, labels, place)
    if not len(rows):
        return None
    left = labels.left[rows]
    end_seconds, end_bytes = end_cost(numbers, place, position)
    held = numbers.problem.held(position)
    lowest = lowest_start(numbers, place, left, sweep.cover.limit, held, end_seconds, end_bytes)
    lowest = np.maximum(lowest, numbers.problem.min_layers * position)
    highest = np.minimum(left - numbers.problem.min_layers, reachable(numbers, sweep.cover, spare, position))
    counts = np.maximum(highest - lowest + 1, 0)
    size = int(counts.sum())
    sweep.check(size)
    if not size:
        return None
    pick = np.repeat(np.arange(len(rows)), counts)
    rest = lowest[pick] + np.arange(size) - np.repeat(np.cumsum(counts) - counts, counts)
    total, slack = _priced(sweep, labels, rows[pick], rest, place, position, end_seconds)
    hopeful = total + sweep.cover.least_total[position][rest] <= sweep.worst_total
    if numbers.links:
        hopeful &= slack <= 1e-12 * sweep.cover.limit
    else:
        steady = numbers.period_weight * (slack - sweep.low)
        hopeful &= total + steady + sweep.cover.least_total[position][rest] <= sweep.worst_total
    kept = np.flatnonzero(hopeful)
    if not len(kept):
        return None
    return Labels(
        left=rest[kept],
        key=keys[pick[kept]],
        place=np.full(len(kept), place, dtype=np.int64),
        total=total[kept],
        slack=slack[kept],
        parent=rows[pick[kept]],
    )


def _priced(
    sweep: Sweep, labels: Labels, rows: Ints, rest: Ints, place: int, position: int, end_seconds: float
) -> tuple[Floats, Floats]:
    """Give total and slack after a stage that leaves `rest` layers."""
    numbers = sweep.numbers
    p = numbers.places[place]
    seconds = np.round(p.seconds[labels.left[rows]] - p.seconds[rest] + end_seconds, TIE_DIGITS)
    seconds_counted = seconds + EVEN * seconds * seconds
    if position == numbers.num_stages - 1:
        cut = np.zeros(len(rows))
        total = seconds_counted + p.tail * numbers.tail_weight
    else:
        cut = numbers.pair[place, labels.place[rows]] + numbers.by_position[position]
        if numbers.by_layer is not None:
            cut = cut + numbers.by_layer[labels.left[rows], position]
        total = labels.total[rows] + seconds_counted + cut * numbers.cut_weight
    if not numbers.links:
        return total, np.maximum(labels.slack[rows], seconds)
    slack = seconds - sweep.cover.limit + np.maximum(0.0, labels.slack[rows] + 2 * cut)
    return total, np.maximum(slack, -numbers.largest_round_trip)


def _usable(numbers: Numbers, labels: Labels, place: int) -> tuple[Ints, Ints, Ints]:
    """Rows that may take a stage on `place`, their keys after it, and the spare copies of every place then."""
    problem = numbers.problem
    linked: Flags = np.append(~np.isnan(numbers.pair[place]), np.True_)
    allowed: Flags = np.take(linked, labels.place)
    if problem.ascending:
        allowed = allowed & (labels.place >= place)
    if problem.order is not None:
        rows = np.flatnonzero(allowed)
        return rows, labels.key[rows], np.zeros((len(rows), 0), dtype=np.int64)
    copies = np.array([p.copies for p in numbers.places], dtype=np.int64)
    if problem.grouped:
        here = labels.place == place
        mask, count = labels.key >> COUNT_BITS, labels.key & ((1 << COUNT_BITS) - 1)
        blocked: Ints = np.where(here, count // copies[place], (mask >> place) & 1)
        keys = np.where(here, labels.key + 1, ((mask | (1 << place)) << COUNT_BITS) + 1)
        rows = np.flatnonzero(allowed & (blocked == 0))
        keys = keys[rows]
        spare = (((keys[:, None] >> (COUNT_BITS + np.arange(len(copies)))) & 1) == 0) * copies
        spare[:, place] = copies[place] - (keys & ((1 << COUNT_BITS) - 1))
        return rows, keys, spare
    radix = np.cumprod(np.concatenate([np.ones(1, dtype=np.int64), copies[:-1] + 1]))
    taken: Ints = labels.key // radix[place] % (copies[place] + 1)
    rows = np.flatnonzero(allowed & (taken < copies[place]))
    keys = labels.key[rows] + radix[place]
    return rows, keys, copies - keys[:, None] // radix % (copies + 1)


def _undominated(numbers: Numbers, parts: list[Labels]) -> Labels:
    """Keep of each group of like answers those that no other beats in total and slack."""
    left, key, place, total, slack, parent = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("left", "key", "place", "total", "slack", "parent")
    )
    last = place if numbers.place_matters else np.zeros_like(place)
    rounded = np.round(total, TIE_DIGITS)
    group = (key * (len(numbers.places) + 1) + last) * (numbers.num_layers + 1) + left
    sort = np.lexsort((slack, rounded, group))
    group, slack_sorted = group[sort], slack[sort]
    first = np.concatenate([np.ones(1, dtype=np.bool_), group[1:] != group[:-1]])
    lowered = slack_sorted - np.cumsum(first) * (2.0 * (slack.max() - slack.min()) + 1e-6)
    least_before = np.concatenate([np.full(1, np.inf), np.minimum.accumulate(lowered)[:-1]])
    chosen = sort[first | (lowered < least_before - 1e-11)]
    return Labels(
        left=left[chosen], key=key[chosen], place=place[chosen], total=total[chosen], slack=slack[chosen],
        parent=parent[chosen],
    )  # fmt: skip


def _trace(history: list[Labels], best: int) -> Split:
    """Walk back from the first stage to the last."""
    order: list[int] = []
    layers: list[int] = []
    for labels, before in zip(reversed(history[1:]), reversed(history[:-1]), strict=True):
        parent = int(labels.parent[best])
        order.append(int(labels.place[best]))
        layers.append(int(before.left[parent] - labels.left[best]))
        best = parent
    return Split(order=tuple(order), layers=tuple(layers))
