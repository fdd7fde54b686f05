"""Reader of profiles (`--profile`): measured layer times by device, TP and micro-batch size, as JSON, YAML or CSV."""

import csv
import io
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from hyperflow.catalog.devices import find_device
from hyperflow.errors import Finding, InputError
from hyperflow.inventory.documents import read_documents, read_text
from hyperflow.ir.device import Device
from hyperflow.ir.profile import MeasuredLayer, MeasuredLink, Profile
from hyperflow.json_tree import mapping, sequence

T = TypeVar("T")
NUMBERS = {"forward_seconds": True, "backward_seconds": True, "activation_bytes": False, "state_bytes": False}
"""Column -> whether a row must state it."""


def read_profile(path: str | Path) -> Profile:
    """Read a profile; raises InputError (HF101, HF102, HF608) naming every entry that cannot be read.

    JSON: `{"layers": [{"device", "tp", "micro_batch_size", "layer", "forward_seconds", "backward_seconds",
    "activation_bytes", "state_bytes"}], "links": [{"a", "b", "bytes_per_second", "round_trip_seconds", "curve"}],
    "devices": [{"name", "like", "scaleup_bytes_per_second", "network_bytes_per_second", "scaleup_domain"}]}`.
    CSV: the columns of `layers`. A blank `layer` stands for all layers.
    """
    file = str(path)
    if file.endswith(".csv"):
        document: dict[str, Any] = {"layers": list(csv.DictReader(io.StringIO(read_text(path), newline="")))}
    else:
        documents = read_documents(path)
        document = mapping(documents[0].value) if documents else {}
    findings: list[Finding] = []
    devices = _gather(document, "devices", _device, file, findings)
    layers = _gather(document, "layers", _layer, file, findings)
    links = _gather(document, "links", _link, file, findings)
    if not layers and not links and not findings:
        findings.append(_wrong(file, "layers", "no layer and no link was measured"))
    if findings:
        raise InputError(findings)
    return Profile(layers=tuple(layers), links=tuple(links), devices=tuple(devices))


def _gather(
    document: Mapping[str, Any], key: str, read: Callable[[Mapping[str, Any]], T], file: str, findings: list[Finding]
) -> list[T]:
    records: list[T] = []
    for index, item in enumerate(sequence(document.get(key))):
        try:
            records.append(read(mapping(item)))
        except KeyError as error:
            findings.append(_wrong(file, f"{key}[{index}]", f"{error.args[0]} is missing"))
        except (TypeError, ValueError) as error:
            findings.append(_wrong(file, f"{key}[{index}]", str(error)))
    return records


def _wrong(file: str, place: str, trouble: str) -> Finding:
    return Finding(
        code="HF608",
        message=f"the profile cannot be used: {place}: {trouble}",
        where=f"{file}: {place}",
        hint="see docs/cost.md, Profiles, for the form",
    )


def _positive(row: Mapping[str, Any], key: str) -> float:
    try:
        value = float(row[key])
    except (TypeError, ValueError):
        raise ValueError(f"{key} is {row[key]!r}, expected a number") from None
    if not 0 < value < float("inf"):
        raise ValueError(f"{key} is {row[key]!r}, expected a number above 0")
    return value


def _layer(row: Mapping[str, Any]) -> MeasuredLayer:
    shown = row.get("layer")
    layer: int | str | None = None
    if shown in ("embedding", "head"):
        layer = str(shown)
    elif shown not in (None, "", "all"):
        layer = int(shown)
    given = {key: _positive(row, key) for key, needed in NUMBERS.items() if needed or row.get(key) not in (None, "")}
    return MeasuredLayer(
        device=_device_name(str(row["device"])),
        tp=int(row.get("tp") or 1),
        micro_batch_size=int(row.get("micro_batch_size") or 1),
        layer=layer,
        **given,
    )


def _device_name(shown: str) -> str:
    known = find_device(shown)
    return known.name if known else shown


def _link(row: Mapping[str, Any]) -> MeasuredLink:
    curve = tuple((float(size), float(seconds)) for size, seconds in sequence(row.get("curve")))
    return MeasuredLink(
        a=str(row["a"]),
        b=str(row["b"]),
        bytes_per_second=_positive(row, "bytes_per_second"),
        round_trip_seconds=float(row.get("round_trip_seconds") or 0.0),
        curve=curve,
    )


def _device(row: Mapping[str, Any]) -> Device:
    like = find_device(str(row["like"]))
    if like is None:
        raise ValueError(f"like is {row['like']!r}, which is not in the catalogue")
    changed: dict[str, Any] = {
        key: _positive(row, key) for key in ("scaleup_bytes_per_second", "network_bytes_per_second") if key in row
    }
    if "scaleup_domain" in row:
        changed["scaleup_domain"] = int(row["scaleup_domain"])
    return replace(like, name=str(row["name"]), aliases=(), **changed)
