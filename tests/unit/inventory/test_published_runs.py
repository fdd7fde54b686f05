"""The targets of the cost model on published runs, where the table is beside the checkout."""

import csv
import json
import statistics
from collections import defaultdict
from pathlib import Path

import pytest

from hyperflow.cost.evaluation import evaluate_run
from hyperflow.cost.fitting import source_group
from hyperflow.inventory.profile import read_profile
from hyperflow.inventory.run_table import read_run_table
from hyperflow.ir.runs import Run

TABLE = Path(__file__).parents[4] / "shared" / "data" / "published_runs.csv"
pytestmark = pytest.mark.skipif(not TABLE.exists(), reason="the published runs are not beside the checkout")
CORE = ("arXiv 2104.04473", "arXiv 2205.05198", "arXiv 2401.10241", "MooreThreads/SimuMax", "pytorch/torchtitan")


@pytest.fixture(scope="module")
def evaluated():
    return [evaluate_run(row) for row in read_run_table(TABLE).rows if isinstance(row, Run)]


def mean_error(items, attribute="time_error"):
    return statistics.mean(abs(value) for item in items if (value := getattr(item, attribute)) is not None)


def test_large_dense_models_are_within_5_percent_per_device_and_8_per_source(evaluated):
    devices, sources = defaultdict(list), defaultdict(list)
    for item in evaluated:
        group = source_group(item.run.source)
        if item.run.kind == "dense 16-bit" and group in CORE:
            devices[item.run.stage_devices[0].name].append(item)
            sources[group].append(item)
    assert {name: mean_error(items) for name, items in devices.items() if mean_error(items) > 0.055} == {}
    assert {name: mean_error(items) for name, items in sources.items() if mean_error(items) > 0.08} == {}


def test_small_fully_sharded_models_are_within_12_percent(evaluated):
    small = [item for item in evaluated if "llm-foundry" in item.run.source and item.run.kind == "dense 16-bit"]
    assert mean_error(small) < 0.12


def test_memory_of_dense_models_is_within_3_percent(evaluated):
    dense = [item for item in evaluated if item.run.kind == "dense 16-bit" and item.memory_error is not None]
    assert len(dense) > 30
    assert mean_error(dense, "memory_error") < 0.03
    assert min(item.memory_error for item in dense) > -0.07


def test_the_80_percent_intervals_hold_at_least_80_percent(evaluated):
    dense = [item.inside_interval for item in evaluated if item.run.is_dense_16_bit and item.run.fit]
    other = [item.inside_interval for item in evaluated if not item.run.is_dense_16_bit and item.run.fit]
    assert sum(dense) / len(dense) >= 0.8
    assert sum(other) / len(other) >= 0.8


def test_no_row_is_skipped_for_its_error():
    allowed = ("not stated", "precision not modelled", "micro-batch or global batch", "device not in the catalogue")
    reasons = {row.reason for row in read_run_table(TABLE).rows if not isinstance(row, Run)}
    assert [reason for reason in reasons if not reason.startswith(allowed)] == []


MIXED = (
    "mixed: 3 nodes x4 GPU fast intra (170 Gb/s) + 1 node x4 GPU (50 Gb/s): AWS P3.8xlarge V100-16 / G4dn.12xlarge T4"
)


def amp_profile():
    """AMP's layer times of one micro-batch: two pseudo-layers before the layers, four after; see its instances."""
    layers = []
    for name, tp in (("amp_pp8", 1), ("amp_pp4", 4)):
        instance = json.loads((TABLE.parent / "split_instances" / f"{name}.json").read_text())
        seconds = instance["layer_time_s"]
        parts = [("embedding", sum(seconds[:2])), *enumerate(seconds[2:26]), ("head", sum(seconds[26:]))]
        layers += [
            {"device": MIXED, "tp": tp, "micro_batch_size": 1, "layer": layer,
             "forward_seconds": part / 3, "backward_seconds": 2 * part / 3}
            for layer, part in parts
        ]  # fmt: skip
    slow_node = {"scaleup_bytes_per_second": 50e9 / 8, "network_bytes_per_second": 10e9 / 8 / 4, "scaleup_domain": 4}
    return {"layers": layers, "devices": [{"name": MIXED, "like": "T4", **slow_node}]}


def ranks(values):
    ordered = sorted(values)
    return [ordered.index(value) + (ordered.count(value) - 1) / 2 for value in values]


def test_measured_layers_rank_runs_on_unequal_nodes_better_than_the_peer_that_measured_them(tmp_path):
    """The aim is 0.9; the table contradicts itself (rows 690 and 699), see docs/cost.md."""
    path = tmp_path / "profile.json"
    path.write_text(json.dumps(amp_profile()))
    profile = read_profile(path)
    rows = [
        row
        for row in read_run_table(TABLE, profile).rows
        if isinstance(row, Run) and MIXED in row.stage_devices[0].name
    ]
    with TABLE.open() as file:
        notes = {row["id"]: row["notes"] for row in csv.DictReader(file)}
    measured = ranks([row.measured_seconds for row in rows])
    ours = ranks([evaluate_run(row, None, profile).prediction.seconds for row in rows])
    theirs = ranks([float(notes[row.identifier].split("AMP predicted cost ")[1].split(";")[0]) for row in rows])
    assert len(rows) > 10
    assert statistics.correlation(ours, measured) > max(0.7, statistics.correlation(theirs, measured))
