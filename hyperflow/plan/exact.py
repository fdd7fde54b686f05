"""The exact search under a limit on the period.

Stages are chosen from the last to the first. A partial answer keeps the layers still to place, the places used, the
last place, the sum so far and (with links) the slack of the period. Of two partial answers alike in all but sum and
slack, one that is better in neither is dropped; so is one that the rest cannot complete. For a fixed limit P the
condition over every run of stages, sum T + 2 sum c <= P * length, is carried as one number:
w = T - P + max(0, w_next + 2c) <= 0 (Lindley's recursion).
"""

from dataclasses import dataclass, fields

import numpy as np

from hyperflow.plan.arrays import Flags, Floats, Ints, Numbers
from hyperflow.plan.budget import Budget, SearchStopped
from hyperflow.plan.cover import Cover, end_cost, lowest_start, make_cover, reachable
from hyperflow.plan.problem import Split
from hyperflow.plan.remainder import Remainder

MOST_LABELS = 4_000_000
COUNT_BITS = 10
EVEN = 2e-10
"""Weight of the squares of stage times: of splits that cost the same, the evener one is taken."""
TIE_DIGITS = 12
"""Scaled times are rounded here, so that equal splits tie instead of differing by the rounding of their sums."""


@dataclass(slots=True, kw_only=True)
class Labels:
    """Partial answers in parallel arrays."""

    left: Ints
    key: Ints
    place: Ints
    total: Floats
    slack: Floats
    parent: Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The best split under a limit with its total (None: none there), and whether all that could win were looked at."""

    split: Split | None
    total: float
    complete: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """One search: the limits it works under, when it must stop, and bounds for a free order where they were made.

    With `width`, only so many partial answers of each length are kept, those of least bound.
    """

    numbers: Numbers
    cover: Cover
    low: float
    worst_total: float
    budget: Budget
    remainder: Remainder | None = None
    width: int | None = None

    def check(self, size: int) -> None:
        """Raise SearchStopped when the budget is used up or the arrays would grow too large."""
        self.budget.spend(size)
        if size > MOST_LABELS:
            raise SearchStopped


def cheapest_under(
    numbers: Numbers,
    low: float,
    limit: float,
    worst_total: float,
    budget: Budget,
    *,
    remainder: Remainder | None = None,
    width: int | None = None,
) -> Found:
    """Give the best split whose period is at most `limit`, with its total.

    Total is all of the objective but the period's part. With links the best is the one of least total, without them
    the one of least objective. No split has a period below `low`; splits whose objective exceeds `worst_total` plus
    the part of `low` may be left out. Raises SearchStopped.
    """
    sweep = Sweep(
        numbers=numbers, cover=make_cover(numbers, limit), low=low, worst_total=worst_total, budget=budget,
        remainder=remainder, width=width,
    )  # fmt: skip
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
    complete = True
    for position in range(numbers.num_stages - 1, -1, -1):
        parts: list[Labels] = []
        for place in _tried(numbers, position):
            part = _extend(sweep, labels, place, position)
            if part is not None:
                parts.append(part)
                sweep.check(sum(len(done.left) for done in parts))
        if not parts:
            return Found(split=None, total=np.inf, complete=complete)
        labels = _undominated(numbers, parts)
        if width is not None and len(labels.left) > width:
            labels, complete = _most_promising(sweep, labels, position, width), False
        history.append(labels)
    best = _best_row(numbers, labels)
    return Found(split=_trace(history, best), total=float(labels.total[best]), complete=complete)


def _tried(numbers: Numbers, position: int) -> tuple[int, ...]:
    """The places that a stage at this position may be on."""
    order, first = numbers.problem.order, numbers.problem.first_places
    tried = tuple(range(len(numbers.places))) if order is None else (order[position],)
    return tried if position or first is None else tuple(place for place in tried if place in first)


def _most_promising(sweep: Sweep, labels: Labels, position: int, width: int) -> Labels:
    """Keep so many answers of least bound."""
    numbers, remainder = sweep.numbers, sweep.remainder
    assert remainder is not None, "only a search with bounds may be narrow"
    if numbers.problem.objective == "bottleneck":
        bound = labels.slack
    else:
        count = numbers.num_stages - position
        bound = labels.total + remainder.after(count, remainder.graph.column[labels.key], labels.place, labels.left)
        if not numbers.links:
            bound = bound + numbers.period_weight * labels.slack
    kept = np.sort(np.argsort(bound, kind="stable")[:width])
    return Labels(**{field.name: getattr(labels, field.name)[kept] for field in fields(labels)})


def _best_row(numbers: Numbers, labels: Labels) -> int:
    if numbers.links:
        return int(np.argmin(np.round(labels.total, TIE_DIGITS)))
    if numbers.problem.objective != "bottleneck":
        return int(np.argmin(np.round(labels.total + numbers.period_weight * labels.slack, TIE_DIGITS)))
    return int(np.lexsort((labels.total, np.round(labels.slack, TIE_DIGITS)))[0])


def _extend(sweep: Sweep, labels: Labels, place: int, position: int) -> Labels | None:
    """Put a stage on `place` before each partial answer, with every number of layers that can work."""
    numbers, remainder = sweep.numbers, sweep.remainder
    rows, keys = _usable(numbers, labels, place)
    if remainder is not None:
        rows, keys = _hopeful(sweep, remainder, labels, rows, keys, place, position)
    if not len(rows):
        return None
    left = labels.left[rows]
    end_seconds, end_bytes = end_cost(numbers, place, position)
    held = numbers.problem.held(position)
    lowest = lowest_start(numbers, place, left, sweep.cover.limit, held, end_seconds, end_bytes)
    lowest = np.maximum(lowest, numbers.problem.min_layers * position)
    if remainder is None:
        held_before = reachable(numbers, sweep.cover, _spare(numbers, keys, place), position)
    else:
        count = numbers.num_stages - position
        held_before = remainder.reach[count][remainder.graph.column[keys]]
    highest = np.minimum(left - numbers.problem.min_layers, held_before)
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
    if remainder is not None and len(kept):
        count = numbers.num_stages - position
        bound = total[kept] + remainder.after(count, remainder.graph.column[keys[pick[kept]]], place, rest[kept])
        if not numbers.links:
            bound = bound + numbers.period_weight * (slack[kept] - sweep.low)
        kept = kept[bound <= sweep.worst_total]
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


def _hopeful(
    sweep: Sweep, remainder: Remainder, labels: Labels, rows: Ints, keys: Ints, place: int, position: int
) -> tuple[Ints, Ints]:
    """Drop the rows that cannot win, or cannot be completed, with the next stage on `place`."""
    numbers = sweep.numbers
    count = numbers.num_stages - position
    after = remainder.graph.column[keys]
    cut = _cut_after(numbers, labels, rows, place, position)
    taken = np.maximum(0.0, labels.slack[rows] + 2 * cut) if numbers.links else np.zeros(len(rows))
    bound = labels.total[rows] + cut * numbers.cut_weight
    bound += remainder.through(count, after, place, labels.left[rows], taken)
    if not numbers.links:
        bound += numbers.period_weight * (labels.slack[rows] - sweep.low)
    kept = (bound <= sweep.worst_total) & (remainder.reach[count][after] >= 0)
    return rows[kept], keys[kept]


def _cut_after(numbers: Numbers, labels: Labels, rows: Ints, place: int, position: int) -> Floats:
    """One-way seconds of the cut between a stage on `place` and what follows it."""
    if position == numbers.num_stages - 1:
        return np.zeros(len(rows))
    cut = numbers.pair[place, labels.place[rows]] + numbers.by_position[position]
    return cut if numbers.by_layer is None else cut + numbers.by_layer[labels.left[rows], position]


def _priced(
    sweep: Sweep, labels: Labels, rows: Ints, rest: Ints, place: int, position: int, end_seconds: float
) -> tuple[Floats, Floats]:
    """Give total and slack after a stage that leaves `rest` layers."""
    numbers = sweep.numbers
    p = numbers.places[place]
    seconds = np.round(p.seconds[labels.left[rows]] - p.seconds[rest] + end_seconds, TIE_DIGITS)
    seconds_counted = seconds + EVEN * seconds * seconds
    cut = _cut_after(numbers, labels, rows, place, position)
    tail = p.tail * numbers.tail_weight if position == numbers.num_stages - 1 else 0.0
    total = labels.total[rows] + seconds_counted + cut * numbers.cut_weight + tail
    if not numbers.links:
        return total, np.maximum(labels.slack[rows], seconds)
    slack = seconds - sweep.cover.limit + np.maximum(0.0, labels.slack[rows] + 2 * cut)
    return total, np.maximum(slack, -numbers.largest_round_trip)


def _usable(numbers: Numbers, labels: Labels, place: int) -> tuple[Ints, Ints]:
    """Rows that may take a stage on `place`, and their keys after it."""
    problem = numbers.problem
    linked: Flags = np.append(~np.isnan(numbers.pair[place]), np.True_)
    allowed: Flags = np.take(linked, labels.place)
    if problem.ascending:
        allowed = allowed & (labels.place >= place)
    if problem.order is not None:
        rows = np.flatnonzero(allowed)
        return rows, labels.key[rows]
    copies = numbers.places[place].copies
    if problem.grouped:
        here = labels.place == place
        mask, count = labels.key >> COUNT_BITS, labels.key & ((1 << COUNT_BITS) - 1)
        blocked: Ints = np.where(here, count // copies, (mask >> place) & 1)
        keys = np.where(here, labels.key + 1, ((mask | (1 << place)) << COUNT_BITS) + 1)
        rows = np.flatnonzero(allowed & (blocked == 0))
        return rows, keys[rows]
    radix = _radix(numbers)
    taken: Ints = labels.key // radix[place] % (copies + 1)
    rows = np.flatnonzero(allowed & (taken < copies))
    return rows, labels.key[rows] + radix[place]


def _radix(numbers: Numbers) -> Ints:
    """What one copy of each place counts in a key."""
    copies = np.array([p.copies for p in numbers.places[:-1]], dtype=np.int64)
    return np.cumprod(np.concatenate([np.ones(1, dtype=np.int64), copies + 1]))


def _spare(numbers: Numbers, keys: Ints, place: int) -> Ints:
    """The copies left of every place (columns) at each key, after a stage on `place`."""
    copies = np.array([p.copies for p in numbers.places], dtype=np.int64)
    if numbers.problem.order is not None:
        return np.zeros((len(keys), 0), dtype=np.int64)
    if numbers.problem.grouped:
        spare = (((keys[:, None] >> (COUNT_BITS + np.arange(len(copies)))) & 1) == 0) * copies
        spare[:, place] = copies[place] - (keys & ((1 << COUNT_BITS) - 1))
        return spare
    return copies - keys[:, None] // _radix(numbers) % (copies + 1)


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
