"""Reading of a split problem from the JSON of `hyperflow split`; every fault is found, each with its place."""

import math
from typing import Any, cast

from hyperflow.errors import Finding, InputError, Severity, nearest, raise_errors
from hyperflow.json_tree import is_mapping, is_sequence, mapping, sequence
from hyperflow.plan.problem import Cuts, EndCost, LayerTable, Objective, Place, SplitProblem

KEYS = (
    "microbatches", "objective", "order", "stages", "layer_seconds", "layer_bytes", "boundary_seconds",
    "last_stage_seconds_per_microbatch", "min_layers", "name", "description",
)  # fmt: skip
LARGEST = 1e100
LARGEST_WHOLE = 10**15
"""Sums and products of numbers up to these stay far from the largest float."""
OBJECTIVES = ("bottleneck", "1f1b", "1f1b-links")


def read_problem(document: object, where: str) -> tuple[SplitProblem, list[Finding]]:
    """Turn the parsed JSON into a problem and notes; raises InputError (HF200) with every fault found."""
    reader = _Reader(where)
    if not is_mapping(document):
        raise InputError(reader.fault("", "the problem must be a JSON object", got=_kind(document)))
    problem = reader.problem(document)
    findings = sorted(reader.findings, key=lambda finding: finding.code)  # what has no effect comes last
    raise_errors(findings)
    assert problem is not None, "a reader without findings has read the problem"
    return problem, findings


def _shown(value: object) -> str:
    return "nothing" if value is None else repr(value)[:40]


def _kind(value: object) -> str:
    return "nothing" if value is None else type(value).__name__


class _Reader:
    """Collects findings while it reads."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.findings: list[Finding] = []

    def fault(
        self, key: str, message: str, *, got: str | None = None, expected: str | None = None, hint: str = ""
    ) -> Finding:
        finding = Finding(
            code="HF200", message=message, where=f"{self.where}: {key}" if key else self.where, got=got,
            expected=expected, hint=hint,
        )  # fmt: skip
        self.findings.append(finding)
        return finding

    def idle(self, key: str, severity: Severity, message: str, hint: str) -> None:
        """Tell of a value that changes nothing."""
        where = f"{self.where}: {key}"
        self.findings.append(Finding(code="HF239", severity=severity, message=message, where=where, hint=hint))

    def number(self, value: object, key: str, *, least: float = 0.0) -> float:
        """Read a finite number of at least `least`."""
        large = False
        if isinstance(value, int | float) and not isinstance(value, bool):
            if least <= value <= LARGEST:
                return float(value)
            large = LARGEST < value < math.inf
        message = f"{key} is too large" if large else f"{key} must be a finite number"
        self.fault(key, message, got=_shown(value), expected=f"a number from {least:g} to {LARGEST:g}")
        return least

    def whole(self, value: object, key: str, *, least: int) -> int:
        """Read an integer of at least `least`."""
        if isinstance(value, int) and not isinstance(value, bool) and least <= value <= LARGEST_WHOLE:
            return value
        large = isinstance(value, int) and value > LARGEST_WHOLE
        self.fault(
            key,
            f"{key} is too large" if large else f"{key} must be a whole number",
            got=_shown(value),
            expected=f"an integer from {least} to {LARGEST_WHOLE}",
        )
        return least

    def numbers(self, value: object, key: str) -> tuple[float, ...]:
        """Read a list of finite numbers."""
        if not is_sequence(value):
            self.fault(key, f"{key} must be a list of numbers", got=_kind(value), expected="a list")
            return ()
        return tuple(self.number(item, f"{key}[{i}]") for i, item in enumerate(value))

    def choice(self, value: object, key: str, allowed: tuple[str, ...]) -> str:
        """Read one of the allowed words."""
        if value in allowed:
            return str(value)
        self.fault(
            key,
            f"{key} is unknown",
            got=_shown(value),
            expected=" or ".join(allowed),
            hint=nearest(str(value), allowed),
        )
        return allowed[0]

    def problem(self, document: dict[str, Any]) -> SplitProblem | None:
        """Read the whole problem; None when a part without which nothing can be built is missing."""
        for key in document:
            if key not in KEYS:
                self.fault(key, f'unknown key "{key}"', hint=nearest(key, KEYS))
        microbatches = self.whole(document.get("microbatches", 1), "microbatches", least=1)
        objective = cast(Objective, self.choice(document.get("objective", "1f1b"), "objective", OBJECTIVES))
        free = self.choice(document.get("order", "fixed"), "order", ("fixed", "free")) == "free"
        least = self.whole(document.get("min_layers", 1), "min_layers", least=0)
        places = self.places(document.get("stages"))
        seconds = self.layer_seconds(document.get("layer_seconds"), places)
        if not places or not seconds:
            return None
        num_layers = len(next(iter(seconds.values())))
        sizes = self.layer_bytes(document.get("layer_bytes"), places, num_layers)
        cuts = self.cuts(document.get("boundary_seconds"), places, num_layers, free)
        tails = self.tails(
            document.get("last_stage_seconds_per_microbatch", 0), seconds, mapping(document.get("layer_seconds"))
        )
        if any(finding.severity == "error" for finding in self.findings):
            return None
        bottleneck = objective == "bottleneck"
        tables = {
            device: LayerTable(
                seconds=times,
                state_bytes=sizes,
                last=EndCost(seconds=tails[device] if bottleneck else 0.0),
                tail_seconds=0.0 if bottleneck else tails[device],
            )
            for device, times in seconds.items()
        }
        return SplitProblem(
            places=places, tables=tables, num_stages=len(places), microbatches=microbatches, objective=objective,
            order=None if free else tuple(range(len(places))), cuts=cuts, min_layers=least,
        )  # fmt: skip

    def places(self, value: object) -> tuple[Place, ...]:
        """Read the stages: a name each, none twice, a device and a memory size or null."""
        if not is_sequence(value) or not value:
            self.fault("stages", "stages must be a list with at least one stage", got=_shown(value))
            return ()
        places: list[Place] = []
        for i, item in enumerate(value):
            stage, key = mapping(item), f"stages[{i}]"
            name = stage.get("name", f"stage{i}")
            device = stage.get("device", name)
            for field in stage:
                if field not in ("name", "device", "memory_bytes"):
                    self.fault(
                        f"{key}.{field}",
                        f'unknown key "{field}"',
                        hint=nearest(field, ("name", "device", "memory_bytes")),
                    )
            if not is_mapping(item) or not isinstance(name, str) or not isinstance(device, str):
                self.fault(key, "a stage must be an object with a name and a device", got=_shown(item))
                continue
            if name in (place.name for place in places):
                self.fault(f"{key}.name", f'two stages are called "{name}"', hint="give each stage a name of its own")
            memory = stage.get("memory_bytes")
            size = None if memory is None else self.number(memory, f"{key}.memory_bytes")
            places.append(Place(name=name, device=device, memory_bytes=size))
        return tuple(places)

    def layer_seconds(self, value: object, places: tuple[Place, ...]) -> dict[str, tuple[float, ...]]:
        """Read the layer times of each device that a stage has, all of one length."""
        if not is_mapping(value):
            self.fault("layer_seconds", "layer_seconds must give a list of seconds for each device", got=_kind(value))
            return {}
        seconds: dict[str, tuple[float, ...]] = {}
        used = tuple(dict.fromkeys(place.device for place in places))
        for device in used:
            if device not in value:
                self.fault("layer_seconds", f'layer_seconds has no device "{device}"', hint=nearest(device, value))
                continue
            seconds[device] = self.numbers(value[device], f"layer_seconds.{device}")
        unused = {
            device: self.numbers(value[device], f"layer_seconds.{device}") for device in value if device not in used
        }
        for device in unused if used else ():
            self.idle(f"layer_seconds.{device}", "note", f'no stage has the device "{device}"', nearest(device, used))
        lengths = {len(times) for times in (*seconds.values(), *unused.values())}
        if len(lengths) > 1 or lengths == {0}:
            shown = ", ".join(f"{device} {len(times)}" for device, times in (seconds | unused).items())
            self.fault("layer_seconds", "the lists of layer_seconds must be of one length, and not empty", got=shown)
            return {}
        return seconds

    def layer_bytes(self, value: object, places: tuple[Place, ...], num_layers: int) -> tuple[float, ...] | None:
        """Read the bytes of each layer; without them no memory can bind, which a stage that gives one is told."""
        if value is None:
            for i, place in enumerate(places):
                if place.memory_bytes is not None:
                    message = f"the memory of {place.name} limits nothing, since the problem has no layer_bytes"
                    self.idle(f"stages[{i}].memory_bytes", "warning", message, "give layer_bytes, one number a layer")
            return None
        sizes = self.numbers(value, "layer_bytes")
        if len(sizes) != num_layers:
            self.fault(
                "layer_bytes",
                "layer_bytes has another length than layer_seconds",
                got=str(len(sizes)),
                expected=str(num_layers),
            )
        return sizes

    def tails(self, value: object, seconds: dict[str, tuple[float, ...]], known: dict[str, Any]) -> dict[str, float]:
        """Read what the last stage costs per micro-batch: one number, or one by device that layer_seconds knows."""
        key = "last_stage_seconds_per_microbatch"
        if is_mapping(value):
            for device in value:
                if device not in known:
                    self.fault(
                        f"{key}.{device}", f'layer_seconds has no device "{device}"', hint=nearest(device, known)
                    )
            tails = {device: self.number(item, f"{key}.{device}") for device, item in value.items()}
            return {device: tails.get(device, 0.0) for device in seconds}
        number = self.number(value, key)
        return dict.fromkeys(seconds, number)

    def cuts(self, value: object, places: tuple[Place, ...], num_layers: int, free: bool) -> Cuts:
        """Read the boundary seconds in one of their three shapes."""
        if value is None:
            return Cuts()
        if is_mapping(value):
            return self.pair_cuts(value, places, free)
        rows = sequence(value)
        if not is_sequence(value) or (
            rows and not all(is_sequence(row) for row in rows) and any(is_sequence(row) for row in rows)
        ):
            self.fault(
                "boundary_seconds",
                "boundary_seconds must be a list, a list of lists or an object",
                got=_kind(value),
            )
            return Cuts()
        width = len(places) - 1
        if rows and is_sequence(rows[0]):
            matrix = tuple(self.numbers(row, f"boundary_seconds[{i}]") for i, row in enumerate(rows))
            if len(matrix) not in (num_layers - 1, num_layers):
                self.fault(
                    "boundary_seconds",
                    "one row for each layer a cut can follow",
                    got=f"{len(matrix)} rows",
                    expected=f"{num_layers - 1} rows",
                )
            wrong = [i for i, row in enumerate(matrix) if len(row) != width]
            if wrong:
                self.fault(
                    f"boundary_seconds[{wrong[0]}]",
                    "one number for each cut",
                    got=str(len(matrix[wrong[0]])),
                    expected=str(width),
                )
            return Cuts(by_layer=matrix)
        line = self.numbers(value, "boundary_seconds")
        if len(line) != width:
            self.fault(
                "boundary_seconds",
                "one number for each cut between neighbouring stages",
                got=str(len(line)),
                expected=str(width),
            )
        return Cuts(by_position=line)

    def pair_cuts(self, value: dict[str, Any], places: tuple[Place, ...], free: bool) -> Cuts:
        """Read `A->B` seconds; a pair given one way holds both ways, an absent pair has no link."""
        names = [place.name for place in places]
        pairs: dict[tuple[str, str], float] = {}
        for key, item in value.items():
            first, arrow, second = (part.strip() for part in key.partition("->"))
            unknown = [name for name in (first, second) if name not in names]
            if not arrow or unknown:
                what = f'unknown stage "{unknown[0]}"' if arrow else "the key must read A->B"
                self.fault(f"boundary_seconds.{key}", what, hint=nearest(unknown[0], names) if unknown else "")
                continue
            pairs[first, second] = self.number(item, f"boundary_seconds.{key}")
        for (first, second), seconds in list(pairs.items()):
            pairs.setdefault((second, first), seconds)
        wanted = [(a, b) for i, a in enumerate(names) for b in (names[i + 1 :] if free else names[i + 1 : i + 2])]
        absent = [f"{a}->{b}" for a, b in wanted if (a, b) not in pairs]
        if absent and free:
            message = (
                f"stages without a boundary in boundary_seconds are never made neighbours: {', '.join(absent[:8])}"
            )
            more = f" and {len(absent) - 8} more" if len(absent) > 8 else ""
            self.findings.append(
                Finding(code="HF201", severity="note", message=message + more, where=f"{self.where}: boundary_seconds")
            )
        elif absent:
            self.fault(
                "boundary_seconds",
                f"neighbouring stages have no boundary: {', '.join(absent)}",
                hint="give each A->B in seconds",
            )
        return Cuts(by_pair=pairs)
