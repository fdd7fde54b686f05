"""Cases to simulate, read from parsed JSON or YAML; every wrong field of a case is a finding of its own."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any, Literal

from hyperflow.errors import Finding, InfeasibleError, InputError, raise_errors
from hyperflow.ir.timeline import StageTimes, Timeline
from hyperflow.json_tree import is_mapping, is_sequence, mapping, sequence
from hyperflow.simulate.hiding import choose_warmup, explain_warmup
from hyperflow.simulate.orders import SCHEDULES, canonical_name, order_for
from hyperflow.simulate.timeline import simulate
from hyperflow.simulate.transfers import simulate_transfers

# The generator that a row of recorded schedules names in `order_from`; the second is Megatron's zero-bubble fork.
_GENERATORS = {"torch": "torch", "sail": "megatron"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One pipeline to time. `occupancy[e]` is the part of link e's delay in which a transfer has the link to itself."""

    id: str | int
    schedule: str
    chunks: int
    microbatches: int
    times: StageTimes
    links: tuple[float, ...]
    warmup: tuple[int, ...] | Literal["auto"] | None = None
    limits: tuple[int, ...] | None = None
    occupancy: tuple[float, ...] | None = None
    blocking_sends: bool = False
    clusters: tuple[str, ...] = ()
    framework: str | None = None


def rows_of(document: object, file: str) -> list[Any]:
    """Give the rows of a list, or of an object with `rows`; raises InputError (HF651) for anything else."""
    rows = document if is_sequence(document) else mapping(document).get("rows")
    if is_sequence(rows) and rows:
        return rows
    raise InputError(
        Finding(
            code="HF651",
            message="no cases found",
            where=file,
            got="an empty list" if is_sequence(rows) else type(document).__name__,
            expected="a list of cases, or an object with the list under `rows`",
        )
    )


def case_id(row: object, index: int) -> str | int:
    """Give the row's `id`, or its index when it has none that can be printed."""
    name = mapping(row).get("id", index)
    return name if isinstance(name, str | int) else index


def read_case(row: object, index: int) -> Case:
    """Read one row; raises InputError with every fault (HF650, HF651, HF652)."""
    return _Reader(row, index).case()


def settle_warmup(case: Case) -> tuple[Case, tuple[str, ...]]:
    """Give the case with depths for `warmup: auto`, and what was chosen and why in sentences.

    The depths of the shortest period within `mem_limit` are taken if they are faster for this number of micro-batches
    than the standard ones.
    """
    standard_depths = tuple(range(case.times.num_ranks, 0, -1))
    if case.warmup != "auto" or case.schedule != "1F1B":
        return (replace(case, warmup=standard_depths) if case.warmup == "auto" else case), ()
    limits = case.limits or (case.microbatches,) * case.times.num_ranks
    choice = choose_warmup(case.times.totals, case.links, [min(limit, case.microbatches) for limit in limits])
    standard, chosen = (replace(case, warmup=depths) for depths in (None, choice.depths))
    if choice.depths == choice.standard:
        return standard, explain_warmup(choice)
    try:
        if run_case(standard).makespan <= run_case(chosen).makespan:
            return standard, (
                "The standard 1F1B warm-up is kept: other depths are no faster for so few micro-batches.",
            )
    except InfeasibleError:
        pass  # the standard depths do not fit the memory
    return chosen, explain_warmup(choice)


def run_case(case: Case) -> Timeline:
    """Make the order of a case and time it; raises HyperFlowError when it is refused."""
    case, _ = settle_warmup(case)
    assert case.warmup != "auto"
    order = order_for(
        case.schedule,
        case.times.num_ranks,
        case.microbatches,
        case.chunks,
        warmup=case.warmup,
        durations=case.times,
        links=case.links,
        limits=case.limits,
        framework=case.framework,
    )
    if case.blocking_sends or case.occupancy:
        return simulate_transfers(
            order, case.times, case.links, occupancy=case.occupancy, blocking_sends=case.blocking_sends
        )
    return simulate(order, case.times, case.links)


class _Reader:
    """Reads the fields of one row and collects findings."""

    def __init__(self, row: object, index: int) -> None:
        self._row = mapping(row)
        self._findings: list[Finding] = []
        self._id = case_id(row, index)
        if not is_mapping(row):
            self._refuse("HF651", "", "a case must be an object", row, "fields schedule, p, m, F, B, W, comm")
            raise_errors(self._findings)

    def case(self) -> Case:
        name = self._schedule()
        facts = SCHEDULES.get(name)
        forward, backward, weight = (self._numbers(key, above_zero=True) for key in "FBW")
        ranks = self._ranks()
        links = self._numbers("comm", above_zero=False) if "comm" in self._row or ranks > 1 else ()
        if ranks:
            for key, values in (("F", forward), ("B", backward), ("W", weight)):
                self._length(key, values, ranks)
            self._length("comm", links, ranks - 1)
        case = Case(
            id=self._id,
            schedule=name,
            chunks=self._whole("v", facts.min_chunks if facts else 1),
            microbatches=self._whole("m", None),
            times=StageTimes(forward=forward, backward_input=backward, backward_weight=weight),
            links=links,
            warmup="auto" if self._row.get("warmup") == "auto" else self._counts("warmup", ranks),
            limits=self._counts("mem_limit", ranks),
            occupancy=self._occupancy(links),
            blocking_sends=self._flag("blocking_sends"),
            clusters=self._names("clusters", ranks),
            framework=self._framework(),
        )
        raise_errors(self._findings)
        return case

    def _ranks(self) -> int:
        """Give `p`, or how many times F has; 0 when neither tells, which is a fault already found."""
        if "p" not in self._row and not is_sequence(self._row.get("F")):
            return 0
        faults = len(self._findings)
        ranks = self._whole("p", len(sequence(self._row.get("F"))))
        return ranks if len(self._findings) == faults else 0

    def _schedule(self) -> str:
        name = self._row.get("schedule")
        if not isinstance(name, str):
            self._refuse("HF651", "schedule", "must be the name of a schedule", name, ", ".join(SCHEDULES))
            return ""
        try:
            return canonical_name(name)
        except InputError as error:
            self._findings += error.findings
            return ""

    def _framework(self) -> str | None:
        """Give whose rules hold: `framework`, or the generator that `order_from` names."""
        value = self._row.get("framework")
        if value is not None and value not in _GENERATORS.values():
            self._refuse("HF651", "framework", "must be torch or megatron", value, "torch or megatron")
        source = str(self._row.get("order_from", ""))
        return value or next((name for start, name in _GENERATORS.items() if source.startswith(start)), None)

    def _numbers(self, key: str, above_zero: bool) -> tuple[float, ...]:
        values = self._row.get(key)
        if not is_sequence(values):
            self._refuse("HF651", key, "must be a list of numbers", values, "one number per rank or link")
            return ()
        for position, value in enumerate(values):
            number = isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
            if not number or value < 0 or (above_zero and value == 0):
                need = "above 0" if above_zero else "0 or more"
                self._refuse("HF652", f"{key}[{position}]", f"must be a finite number, {need}", value, need)
                return ()
        return tuple(values)

    def _length(self, key: str, values: Sequence[object], need: int) -> None:
        if len(values) != need and is_sequence(self._row.get(key)) and not self._has_fault(key):
            self._refuse("HF651", key, f"has {len(values)} entries", values, f"{need} entries")

    def _has_fault(self, key: str) -> bool:
        return any(finding.where.split("[")[0] == key for finding in self._findings)

    def _whole(self, key: str, default: int | None) -> int:
        value = self._row.get(key, default)
        if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
            return value
        self._refuse("HF651", key, "must be a whole number of at least 1", value, "1 or more")
        return default or 1

    def _counts(self, key: str, ranks: int) -> tuple[int, ...] | None:
        value = self._row.get(key)
        if value is None:
            return None
        values = value if is_sequence(value) else [value] * ranks
        wrong = any(not isinstance(v, int) or isinstance(v, bool) or v < 1 for v in values)
        if wrong or (ranks and len(values) != ranks):
            self._refuse("HF651", key, "must be whole numbers of at least 1", value, f"{ranks} of them, one per rank")
            return None
        return tuple(values)

    def _occupancy(self, links: Sequence[float]) -> tuple[float, ...] | None:
        if self._row.get("occupancy") is None:
            return None
        values = self._numbers("occupancy", above_zero=False)
        self._length("occupancy", values, len(links))
        if len(values) == len(links) and any(own > delay for own, delay in zip(values, links, strict=True)):
            self._refuse("HF652", "occupancy", "is longer than the whole delay", list(values), "at most comm, per link")
        return values

    def _flag(self, key: str) -> bool:
        value = self._row.get(key, False)
        if not isinstance(value, bool):
            self._refuse("HF651", key, "must be true or false", value, "true or false")
        return value is True

    def _names(self, key: str, ranks: int) -> tuple[str, ...]:
        values = self._row.get(key, [])
        if not is_sequence(values) or (values and ranks and len(values) != ranks):
            self._refuse("HF651", key, "must name the cluster of each rank", values, f"{ranks} names")
            return ()
        return tuple(map(str, values))

    def _refuse(self, code: str, field: str, message: str, got: object, expected: str) -> None:
        shown = repr(got)
        self._findings.append(
            Finding(
                code=code,
                message=f"{field} {message}".strip(),
                where=field,
                got=shown if len(shown) <= 60 else shown[:57] + "...",
                expected=expected,
            )
        )
