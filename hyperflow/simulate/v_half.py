"""V-Half and V-Min: two chunks per rank in a V with half, or about a third, of the activation memory of 1F1B.

Building blocks of arXiv 2405.15362 on a grid of unit slots: one micro-batch per six slots and rank, laid out so that
little is in flight. The copies are squeezed twice: first the ramp and the tail with the weight gradients in place,
then the tail again with the weight gradients free to move. No move may raise the peak of memory.

A micro-batch passes a rank on four legs: 0 forward down, 1 forward up, 2 backward down, 3 backward up.
"""

from bisect import bisect_left, insort
from functools import lru_cache

from hyperflow.ir.timeline import Operation, PipelineOrder

_INTERVAL = 6
_WEIGHT = 4  # after the four legs: any weight gradient; split by leg they are 4 and 5
Slots = list[list[int]]  # per leg, the slot of each micro-batch on one rank


@lru_cache(maxsize=128)
def v_half(num_ranks: int, microbatches: int, minimal: bool = False) -> PipelineOrder:
    """Give the order of V-Half, or of V-Min when `minimal`; it does not depend on the times."""
    block = _minimal_block(num_ranks) if minimal else _half_block(num_ranks)
    legs = [[[first + _INTERVAL * i for i in range(microbatches)] for first in rank] for rank in block]
    legs = _Squeeze([[*rank, place_weights(rank)[0]] for rank in legs], microbatches).run()
    legs = _Squeeze([rank[:_WEIGHT] for rank in legs], microbatches).run()
    legs = [[*rank[:_WEIGHT], *place_weights(rank[:_WEIGHT], by_leg=True)] for rank in legs]
    return PipelineOrder(
        schedule="V-Min" if minimal else "V-Half",
        num_ranks=num_ranks,
        num_chunks=2,
        num_microbatches=microbatches,
        stage_ranks=(*range(num_ranks), *reversed(range(num_ranks))),
        operations=tuple(_operations(rank, num_ranks, slots) for rank, slots in enumerate(legs)),
    )


def _half_block(p: int) -> list[tuple[int, int, int, int]]:
    """First slots of a micro-batch on each rank: it goes down at half speed and up at full speed."""
    shift = 3 if p % 2 == 0 else 0
    return [(2 * r, 3 * p - r - 2, 3 * p + shift + 2 * r - 1, 6 * p + shift - r - 2) for r in range(p)]


def _minimal_block(p: int) -> list[tuple[int, int, int, int]]:
    """First slots of a micro-batch on each rank: all four legs at full speed."""
    shift = 2 if p % 3 == 0 else 0
    return [(r, 2 * p - r - 1, 2 * p + shift + r, 4 * p + shift - r - 1) for r in range(p)]


def place_weights(legs: Slots, by_leg: bool = False) -> Slots:
    """Put each weight gradient into the first free slot after its backward; `by_leg` keeps two lists, leg 2 first."""
    taken = {slot: leg for leg, slots in enumerate(legs) for slot in slots}
    placed: Slots = [[], []] if by_leg else [[]]
    waiting = [0, 0]
    slot, last = 0, max(taken)
    while slot <= last or any(waiting):
        leg = taken.get(slot)
        if leg is None:
            which = 0 if waiting[0] else 1
            if waiting[which]:
                placed[which].append(slot)
                waiting[which] -= 1
        elif leg >= 2:
            waiting[leg - 2 if by_leg else 0] += 1
        slot += 1
    return placed


class _Squeeze:
    """One squeeze: visits operations in slot order and moves those of the ramp and the tail to earlier free slots.

    With weight gradients in the grid (fifth leg) the ramp and the tail move; without, the tail only, and weight
    gradients are taken to run in free slots.
    """

    def __init__(self, legs: list[Slots], microbatches: int) -> None:
        self._legs = [[slots.copy() for slots in rank] for rank in legs]
        self._microbatches = microbatches
        self._with_weights = len(legs[0]) > _WEIGHT
        # Later slots may be looked up while a move is tried: leave room for the weight gradients at the end.
        length = max(slots[-1] for rank in legs for slots in rank) + 2
        self._grid: list[list[int]] = [[-1] * length for _ in legs]
        for grid, rank in zip(self._grid, self._legs, strict=True):
            for leg, slots in enumerate(rank):
                for slot in slots:
                    grid[slot] = leg
        self._backwards = [sorted(rank[2] + rank[3]) for rank in self._legs]
        self._limit = max(max(self._held(rank)) for rank in range(len(legs)))

    def run(self) -> list[Slots]:
        """Give the slots after the squeeze, weight gradients included, and after moving all to the left."""
        visit = sorted(
            (slot, rank, leg, i)
            for rank, legs in enumerate(self._legs)
            for leg, slots in enumerate(legs)
            for i, slot in enumerate(slots)
        )
        steady, tail = False, False
        for slot, rank, leg, microbatch in visit:
            steady = steady or (leg == 3 and rank == 0)
            last_forward = leg == 0 and microbatch == self._microbatches - 1
            if (steady and not tail) or (not steady and not self._with_weights):
                tail = tail or (steady and last_forward)
                continue
            self._move(rank, leg, microbatch, slot)
        legs = self._legs
        if not self._with_weights:
            legs = [[*rank, place_weights(rank)[0]] for rank in legs]
        return _push_left(legs)

    def _move(self, rank: int, leg: int, microbatch: int, slot: int) -> None:
        """Move one operation to the first free slot that its inputs and the limit of memory allow."""
        grid = self._grid[rank]
        for earlier in range(self._earliest(rank, leg, microbatch), slot):
            if grid[earlier] >= 0:
                continue
            grid[earlier], grid[slot] = leg, -1
            if leg == _WEIGHT or (leg >= 2 and self._with_weights) or max(self._held(rank)) <= self._limit:
                self._legs[rank][leg][microbatch] = earlier
                if leg in (2, 3):
                    order = self._backwards[rank]
                    del order[bisect_left(order, slot)]
                    insort(order, earlier)
                return
            grid[earlier], grid[slot] = -1, leg

    def _earliest(self, rank: int, leg: int, microbatch: int) -> int:
        """Give the first slot after what the operation waits for."""
        legs = self._legs
        after = legs[rank][leg][microbatch - 1] if microbatch else -1
        if leg == _WEIGHT:
            return 1 + max(after, self._backwards[rank][microbatch])
        neighbour = rank - 1 if leg in (0, 2) else rank + 1
        if 0 <= neighbour < len(legs):
            after = max(after, legs[neighbour][leg][microbatch])
        if leg:
            after = max(after, legs[rank][leg - 1][microbatch])
        return 1 + after

    def _held(self, rank: int) -> list[int]:
        """Give the (chunk, micro-batch) pairs held after each slot."""
        held = waiting = 0
        profile: list[int] = []
        for leg in self._grid[rank]:
            if leg < 0:
                if waiting:
                    waiting -= 1
                    held -= 1
            elif leg < 2:
                held += 1
            elif leg == _WEIGHT:
                held -= 1
            elif not self._with_weights:
                waiting += 1
            profile.append(held)
        return profile


def _push_left(legs: list[Slots]) -> list[Slots]:
    """Run the order of the slots with unit times and give the start of each operation."""
    visit = sorted(
        (slot, rank, leg, i)
        for rank, one in enumerate(legs)
        for leg, slots in enumerate(one)
        for i, slot in enumerate(slots)
    )
    starts: list[Slots] = [[[] for _ in rank] for rank in legs]
    free = [0] * len(legs)
    for _, rank, leg, microbatch in visit:
        start = free[rank]
        if leg < _WEIGHT:
            neighbour = rank - 1 if leg in (0, 2) else rank + 1
            if 0 <= neighbour < len(legs):
                start = max(start, starts[neighbour][leg][microbatch] + 1)
            if leg:
                start = max(start, starts[rank][leg - 1][microbatch] + 1)
        starts[rank][leg].append(start)
        free[rank] = start + 1
    return starts


def _operations(rank: int, num_ranks: int, legs: Slots) -> tuple[Operation, ...]:
    """Order the operations of a rank by slot; legs 0 and 3 are its first stage, 1 and 2 its last."""
    first, last = rank, 2 * num_ranks - 1 - rank
    kinds = (("F", first), ("F", last), ("B", last), ("B", first), ("W", last), ("W", first))
    visit = sorted((slot, leg, i) for leg, slots in enumerate(legs) for i, slot in enumerate(slots))
    return tuple(Operation(*kinds[leg], i) for _, leg, i in visit)
