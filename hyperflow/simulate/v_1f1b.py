"""1F1B-V: two chunks per rank in a V, whole backwards, less memory than 1F1B.

A building block of arXiv 2405.15362: one micro-batch is laid out on a grid of unit slots (F takes one, a whole backward
two) so that copies every six slots never collide. The copies are then squeezed: each operation moves to the earliest
free slot after what it waits for, forwards only as far as the block's own peak of memory allows.

A micro-batch passes a rank on four legs: 0 forward down, 1 forward up, 2 backward down, 3 backward up. A whole
backward holds two slots: the second is marked leg + 2.
"""

from functools import lru_cache

from hyperflow.ir.timeline import Operation, PipelineOrder

_INTERVAL = 6  # slots of one micro-batch on one rank: two forwards and two backwards of two slots each


@lru_cache(maxsize=128)
def one_f_one_b_v(num_ranks: int, microbatches: int) -> PipelineOrder:
    """Give the order of 1F1B-V; it depends on the numbers of ranks and micro-batches alone."""
    grid = _Grid(num_ranks, microbatches)
    grid.squeeze()
    return PipelineOrder(
        schedule="1F1B-V",
        num_ranks=num_ranks,
        num_chunks=2,
        num_microbatches=microbatches,
        stage_ranks=(*range(num_ranks), *reversed(range(num_ranks))),
        operations=tuple(grid.operations(rank) for rank in range(num_ranks)),
    )


def _block(num_ranks: int) -> list[tuple[int, int, int, int, int, int]]:
    """Give per rank the slots of one micro-batch by leg, then the second slots of the two backwards."""
    now = 2 * num_ranks + (3 if num_ranks % 3 == 0 else 0)
    run = (3 - (num_ranks + 2) % 3) % 3
    backwards: list[int] = []
    for _ in range(2 * num_ranks):  # three backwards in a row, then three slots for the forwards of other copies
        backwards.append(now)
        run += 1
        now += 2
        if run == 3:
            run = 0
            now += 3
    block: list[tuple[int, int, int, int, int, int]] = []
    for rank in range(num_ranks):
        up = 2 * num_ranks - 1 - rank
        block.append((rank, up, backwards[rank], backwards[up], backwards[rank] + 1, backwards[up] + 1))
    return block


class _Grid:
    """Slots of all ranks: what stands in each, and how many (chunk, micro-batch) pairs are held after it."""

    def __init__(self, num_ranks: int, microbatches: int) -> None:
        self._num_ranks = num_ranks
        block = _block(num_ranks)
        length = max(map(max, block)) + _INTERVAL * microbatches + 1
        self._slots: list[list[tuple[int, int] | None]] = [[None] * length for _ in block]
        for row, firsts in zip(self._slots, block, strict=True):
            for leg, first in enumerate(firsts):
                for i in range(microbatches):
                    row[first + _INTERVAL * i] = (leg, i)
        self._held = [_profile(row) for row in self._slots]
        self._peak = max(map(max, self._held))
        self._placed: dict[tuple[int, int, int], int] = {}  # (rank, leg, micro-batch) -> slot

    def squeeze(self) -> None:
        """Visit all slots from the left and move what stands there to the earliest slot that is allowed."""
        for slot in range(len(self._slots[0])):
            for rank, row in enumerate(self._slots):
                standing = row[slot]
                if standing is None:
                    continue
                leg, i = standing
                target = self._target(rank, leg, i, slot)
                if target < slot:
                    row[target], row[slot] = standing, None
                    change = 1 if leg < 2 else -1 if leg > 3 else 0
                    for between in range(target, slot) if change else ():
                        self._held[rank][between] += change
                self._placed[rank, leg, i] = target

    def operations(self, rank: int) -> tuple[Operation, ...]:
        """Give the order of a rank: legs 0 and 3 are its first stage, 1 and 2 its last."""
        first, last = rank, 2 * self._num_ranks - 1 - rank
        kinds = (("F", first), ("F", last), ("BW", last), ("BW", first))
        return tuple(Operation(*kinds[s[0]], s[1]) for s in self._slots[rank] if s and s[0] < 4)

    def _target(self, rank: int, leg: int, i: int, slot: int) -> int:
        row, held = self._slots[rank], self._held[rank]
        target = self._after_inputs(rank, leg, i)
        while target < slot and row[target]:
            target += 1
        if leg in (2, 3):
            while target < slot and (row[target] or row[target + 1]):
                target += 1
        if leg < 2:  # as far left as memory allows, then to the next free slot
            earliest, target = target, slot
            while target > earliest and held[target - 1] < self._peak:
                target -= 1
            while target < slot and row[target]:
                target += 1
        return target

    def _after_inputs(self, rank: int, leg: int, i: int) -> int:
        """Give the first slot after the operation before it on this leg and after its inputs."""
        placed, last = self._placed, self._num_ranks - 1
        before = placed.get((rank, leg, i - 1), -1)
        if leg >= 4:
            before = max(before, placed[rank, leg - 2, i])
        elif leg in (0, 2) and rank:
            before = max(before, placed[rank - 1, 0 if leg == 0 else 4, i])
        elif leg in (1, 3) and rank < last:
            before = max(before, placed[rank + 1, 1 if leg == 1 else 5, i])
        elif leg:  # the turn of the V: forward down, forward up, whole backward down
            before = max(before, placed[rank, (0, 0, 1, 4)[leg], i])
        return before + 1


def _profile(row: list[tuple[int, int] | None]) -> list[int]:
    held = 0
    profile: list[int] = []
    for standing in row:
        if standing:
            held += 1 if standing[0] < 2 else -1 if standing[0] > 3 else 0
        profile.append(held)
    return profile
