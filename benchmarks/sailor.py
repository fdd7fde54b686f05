"""The instance sailor_het0 through the planner's search, priced by the cost text of its file."""

import itertools
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from hyperflow.plan.problem import LayerTable, Place, SplitProblem
from hyperflow.plan.stage_search import Option, Priced, search_options

MOST_STAGES = 6


@dataclass(frozen=True)
class Kind:
    """Stages of tp devices of one type."""

    device: str
    tp: int

    @property
    def link_name(self) -> str:
        """Its name in the link table."""
        return f"{self.device}x{self.tp}"


@dataclass(frozen=True)
class Sequence:
    """Kinds in stage order with micro-batch size and data-parallel degree."""

    kinds: tuple[Kind, ...]
    size: int
    dp: int


class Sailor:
    """The instance and its cost."""

    def __init__(self, path: Path) -> None:
        self.data: dict[str, Any] = json.loads(path.read_text())
        self.count = {c["device"]: c["count"] for c in self.data["clusters"]}
        self.memory = {c["device"]: c["mem_gib"] * 2**30 for c in self.data["clusters"]}
        self.batch = self.data["global_batch"]
        self.send = cache(self.send)
        self.total = cache(lambda kind, size: sum(self.times(kind, size) or []))
        self.whole = cache(lambda kind, dp: self.exchange(kind, dp, 0, len(self.data["weight_bytes_tp1"])))

    @cached_property
    def kinds(self) -> list[Kind]:
        """All kinds with a profile of some micro-batch size."""
        names = {tuple(key.split("|")) for key in self.data["layer_fwd_bwd_s"]}
        return sorted({Kind(device, int(tp[2:])) for device, _, tp in names}, key=lambda k: (k.device, k.tp))

    def times(self, kind: Kind, size: int) -> list[float] | None:
        """Layer seconds, or None when that micro-batch was not profiled there."""
        return self.data["layer_fwd_bwd_s"].get(f"{kind.device}|mbs{size}|tp{kind.tp}")

    def send(self, a: Kind, b: Kind, size: float) -> float:
        """Seconds of a message: the fitted bandwidth in GB/s is quadratic in log2 of the size in MB."""
        c2, c1, c0 = self.data["link_coeffs"][f"{a.link_name}->{b.link_name}"]
        x = math.log2(size / 1e6)
        return size / 1e9 / (c2 * x * x + c1 * x + c0)

    def hops(self, sequence: Sequence) -> list[float]:
        """N_i of each stage: what its sends take."""
        kinds, stages = sequence.kinds, len(sequence.kinds)
        size = self.data["boundary_act_bytes_per_sample"][0] * sequence.size
        if stages == 1:
            return [0.0]
        hops = [(1 if stages <= 3 else 2) * self.send(kinds[0], kinds[1], size)]
        hops += [
            self.send(b, c, size) + self.send(b, a, size) for a, b, c in zip(kinds, kinds[1:], kinds[2:], strict=False)
        ]
        return [*hops, 2 * self.send(kinds[-1], kinds[-2], size)]

    def needed(self, sequence: Sequence, stage: int, start: int, end: int) -> float:
        """Bytes of a stage."""
        kind = sequence.kinds[stage]
        weights = sum(self.data["params_floats"][str(kind.tp)][start:end])
        kept = sum(self.data["act_mem_floats"][str(kind.tp)][start:end])
        held = sequence.size * (len(sequence.kinds) - stage)
        return 24 * weights + 4 * kept * held + (2e9 if kind.tp == 1 else 3e9)

    def exchange(self, kind: Kind, dp: int, start: int, end: int) -> float:
        """Bucketed ring all-reduce of a stage's fp32 weights, at the speed of single devices of its type."""
        if dp == 1:
            return 0.0
        single = Kind(kind.device, 1)
        size = sum(self.data["weight_bytes_tp1"][start:end]) / kind.tp
        full, rest = divmod(size, self.data["bucket_bytes"])
        buckets = [self.data["bucket_bytes"]] * int(full) + [rest] * (rest > 0)
        return sum(2 * (dp - 1) * self.send(single, single, bucket / dp) for bucket in buckets)

    def cost(self, sequence: Sequence, layers: tuple[int, ...]) -> float | None:
        """Iteration seconds by the file's cost text; None when a stage does not fit its memory."""
        hops, steady, compute, update, exchange = self.hops(sequence), 0.0, 0.0, 0.0, 0.0
        start = 0
        for i, (kind, count) in enumerate(zip(sequence.kinds, layers, strict=True)):
            end = start + count
            if self.needed(sequence, i, start, end) > self.memory[kind.device]:
                return None
            seconds = sum((self.times(kind, sequence.size) or [])[start:end])
            compute += seconds
            steady = max(steady, seconds + hops[i])
            update = max(update, self.data["layer_update_s"][f"{kind.device}|mbs{sequence.size}|tp{kind.tp}"][start])
            exchange = max(exchange, self.exchange(kind, sequence.dp, start, end))
            start = end
        rounds = math.ceil(self.batch / (sequence.size * sequence.dp))
        return (rounds - 1) * steady + compute + sum(hops) + update + exchange

    def options(self, sizes: tuple[int, ...] = (1, 2, 4, 8), degrees: tuple[int, ...] = ()) -> Iterator[Option]:
        """One option per micro-batch, data-parallel degree and multiset of kinds, bounded by its layers as a fluid."""
        for size in sizes:
            usable = [kind for kind in self.kinds if self.times(kind, size)]
            for dp in degrees or range(1, max(self.count.values()) + 1):
                for kinds in self._multisets(usable, dp):
                    yield Option(
                        bound=self._bound(kinds, size, dp, self._least_hops(kinds, size)),
                        tag=None,
                        expand=lambda kinds=kinds, size=size, dp=dp: self._orders(kinds, size, dp),
                    )

    def _multisets(self, kinds: list[Kind], dp: int) -> Iterator[tuple[Kind, ...]]:
        for stages in range(1, MOST_STAGES + 1):
            for chosen in itertools.combinations_with_replacement(kinds, stages):
                if all(sum(k.tp for k in chosen if k.device == d) * dp <= n for d, n in self.count.items()):
                    yield chosen

    def _least_hops(self, kinds: tuple[Kind, ...], size: int) -> list[float]:
        """The least N_i of each stage in any order: its quickest send, twice where every stage sends twice."""
        message = self.data["boundary_act_bytes_per_sample"][0] * size
        trips = 2 if len(kinds) > 3 else 1
        return [trips * min(self.send(a, b, message) for b in kinds) if len(kinds) > 1 else 0.0 for a in kinds]

    def _bound(self, kinds: tuple[Kind, ...], size: int, dp: int, hops: list[float]) -> float:
        """Layers as a fluid over the stages, each with what it sends; the exchange shared out as a fluid too.

        A share of the layers takes at least that share of 97 % of all of them, since the layers differ by so much.
        """
        rounds = math.ceil(self.batch / (size * dp))
        totals = [self.total(kind, size) * 0.97 for kind in kinds]
        rate = sum(1 / total for total in totals)
        period = (1 + sum(hop / total for hop, total in zip(hops, totals, strict=True))) / rate
        whole = [self.whole(kind, dp) for kind in kinds]
        exchange = 0.97 / sum(1 / seconds for seconds in whole) if dp > 1 else 0.0
        return (rounds - 1) * period + min(totals) + sum(hops) + exchange

    def _orders(self, kinds: tuple[Kind, ...], size: int, dp: int) -> Iterator[Option]:
        for order in sorted(set(itertools.permutations(kinds)), key=lambda o: [(k.device, k.tp) for k in o]):
            sequence = Sequence(order, size, dp)
            bound = self._bound(order, size, dp, self.hops(sequence))
            yield Option(bound=bound, tag=sequence, problem=self.problem(sequence))

    def problem(self, sequence: Sequence) -> SplitProblem:
        """The closed form of a sequence: layers, sends and memory, without update and exchange."""
        hops, stages = self.hops(sequence), len(sequence.kinds)
        tables = {}
        for kind in set(sequence.kinds):
            tables[kind.link_name] = LayerTable(
                seconds=tuple(self.times(kind, sequence.size) or ()),
                state_bytes=tuple(24.0 * x for x in self.data["params_floats"][str(kind.tp)]),
                held_bytes=tuple(4.0 * x * sequence.size for x in self.data["act_mem_floats"][str(kind.tp)]),
                fixed_bytes=2e9 if kind.tp == 1 else 3e9,
            )
        return SplitProblem(
            places=tuple(
                Place(name=f"s{i}", device=k.link_name, memory_bytes=self.memory[k.device], extra_seconds=hops[i])
                for i, k in enumerate(sequence.kinds)
            ),
            tables=tables,
            num_stages=stages,
            microbatches=math.ceil(self.batch / (sequence.size * sequence.dp)),
            order=tuple(range(stages)),
            in_flight=tuple(float(stages - i) for i in range(stages)),
        )

    def search(self, seconds: float) -> Priced:
        """Find the cheapest plan."""
        return search_options(
            list(self.options()), lambda option, layers: self.cost(option.tag, layers), seconds=seconds
        )
