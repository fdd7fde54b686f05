"""The split as plain numbers: layers, stages to be had, what a cut costs, and the objective.

A problem knows nothing of jobs, clusters or frameworks. `place` means something that can hold stages: a cluster, or
one stage of a `hyperflow split` file. Times are seconds, sizes bytes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Objective = Literal["bottleneck", "1f1b", "1f1b-links", "1f1b-hidden"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EndCost:
    """What the first or the last stage bears besides its layers: embedding or head."""

    seconds: float = 0.0
    state_bytes: float = 0.0
    held_bytes: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerTable:
    """Each layer on one device: seconds and held bytes per micro-batch, state bytes; the ends; the runtime's bytes."""

    seconds: tuple[float, ...]
    state_bytes: tuple[float, ...] | None = None
    held_bytes: tuple[float, ...] | None = None
    first: EndCost = field(default_factory=EndCost)
    last: EndCost = field(default_factory=EndCost)
    fixed_bytes: float = 0.0
    tail_seconds: float = 0.0
    """Paid per micro-batch by the whole step when the last stage is on this device; no stage waits for it, and the
    bottleneck does not count it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Up to `copies` equal stages on one device type; `memory_bytes` None is unlimited.

    `extra_seconds` is what a stage there takes per micro-batch whatever its layers.
    """

    name: str
    device: str
    memory_bytes: float | None = None
    copies: int = 1
    extra_seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cuts:
    """One-way seconds of the cut between two stages.

    `by_pair` (place names) holds for any order; an absent pair has no link, but stages of one place always have.
    `by_position` adds the same seconds to cut j wherever it lies, `by_layer[l][j]` seconds to cut j after layer l.
    """

    by_pair: Mapping[tuple[str, str], float] | None = None
    by_position: tuple[float, ...] | None = None
    by_layer: tuple[tuple[float, ...], ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitProblem:
    """Cut `layers` into `num_stages` consecutive pieces, one a stage, at the least objective.

    `bottleneck` is the slowest stage. `1f1b` is fill, drain and steady state: sum of stages and cuts plus
    (microbatches - 1) times the slowest stage. `1f1b-links` counts each cut both ways and takes the exact period of
    1F1B, the largest mean over runs of neighbouring stages with the cuts between them (docs/planner.md).
    `1f1b-hidden` counts each cut both ways once a step and the slowest stage as period: what 1F1B reaches when
    enough micro-batches are in flight to hide the cuts.

    `order` lists the place of each stage; None leaves it free. With `grouped`, all stages of a place are neighbours.
    `in_flight[i]` is how many micro-batches stage i holds. Where `first_places` is given, stage 0 is on one of them.
    With `ascending`, a free order keeps the places in the order in which they are listed.
    """

    places: tuple[Place, ...]
    tables: Mapping[str, LayerTable]
    num_stages: int
    microbatches: int
    objective: Objective = "1f1b"
    order: tuple[int, ...] | None = None
    grouped: bool = False
    in_flight: tuple[float, ...] | None = None
    cuts: Cuts = field(default_factory=Cuts)
    min_layers: int = 1
    first_places: tuple[int, ...] | None = None
    ascending: bool = False

    @property
    def num_layers(self) -> int:
        """The number of layers to divide."""
        return len(next(iter(self.tables.values())).seconds)

    def table(self, place: int) -> LayerTable:
        """The layer table of a place."""
        return self.tables[self.places[place].device]

    def held(self, position: int) -> float:
        """Micro-batches that the stage at this position holds."""
        return self.in_flight[position] if self.in_flight else 1.0

    def cut_seconds(self, position: int, place: int, next_place: int, layers_before: int) -> float | None:
        """One-way seconds of the cut after the stage at `position`; None where the two places have no link."""
        seconds = 0.0
        if self.cuts.by_pair is not None:
            names = self.places[place].name, self.places[next_place].name
            pair = self.cuts.by_pair.get(names, 0.0 if place == next_place else None)
            if pair is None:
                return None
            seconds += pair
        if self.cuts.by_position is not None:
            seconds += self.cuts.by_position[position]
        if self.cuts.by_layer is not None and layers_before > 0:
            rows = self.cuts.by_layer
            seconds += rows[min(layers_before, len(rows)) - 1][position]
        return seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """An answer: the place of each stage and its number of layers."""

    order: tuple[int, ...]
    layers: tuple[int, ...]
