from dataclasses import replace

import pytest

from hyperflow.catalog.calibration import default_calibration, device_family
from hyperflow.catalog.devices import find_device
from hyperflow.cost.evaluation import evaluate_run, summarise
from hyperflow.cost.fitting import PRIOR, SCRATCH, fit_calibration, group_of, source_group
from hyperflow.cost.predict import predict_run
from hyperflow.cost.shapes import dense_decoder
from hyperflow.ir.costs import CostSettings
from hyperflow.ir.plan import Degrees
from hyperflow.ir.runs import Run, SkippedRun

TRUTH = replace(PRIOR, gemm=0.55, memory=0.65, kernel_seconds=2e-5)


def run(number, device="H100-80GB-SXM", layers=32, hidden=4096, source="site A", **changes):
    found = find_device(device)
    assert found is not None
    model = dense_decoder(
        layers, name=f"h{hidden}", hidden=hidden, ffn=4 * hidden, heads=hidden // 128, kv_heads=8, head_dim=128,
        vocab=32000, sequence_length=4096,
    )  # fmt: skip
    settings = CostSettings(
        degrees=Degrees(**changes), micro_batch_size=1, microbatches=8, schedule="1f1b", recompute="none", zero=1,
        precision="bf16",
    )  # fmt: skip
    stages = settings.degrees.pp
    return Run(
        identifier=str(number), row=number, source=source, model=model, stage_devices=(found,) * stages,
        settings=settings, split=(layers // stages,) * stages, num_devices=settings.degrees.world_size,
        global_batch_size=8 * settings.degrees.dp, measured_seconds=1.0, measured_bytes=None, kind="dense 16-bit",
        fit=True,
    )  # fmt: skip


def measured(runs, constants=TRUTH):
    """The runs with the times that a device of these constants would show."""
    true = replace(SCRATCH, fallback=replace(SCRATCH.fallback, constants=constants))
    return [replace(r, measured_seconds=predict_run(r, true).seconds) for r in runs]


RUNS = measured(
    [
        run(1), run(2, tp=2), run(3, tp=8), run(4, pp=4), run(5, hidden=8192, tp=4), run(6, hidden=2048),
        run(7, hidden=8192, tp=8, dp=4, source="site B"), run(8, hidden=2048, dp=2, source="site B"),
        run(9, tp=4, source="site B"),
    ]
)  # fmt: skip


def test_a_fit_finds_the_constants_behind_made_up_measurements():
    fit = fit_calibration(RUNS, "made up")
    fitted = fit.calibration.devices["H100-80GB-SXM"].constants
    assert fitted.gemm == pytest.approx(TRUTH.gemm, rel=0.03)
    errors = [abs(evaluate_run(r, fit.calibration).time_error or 0) for r in RUNS]
    assert max(errors) < 0.02


def test_runs_are_left_out_by_source_and_by_model_where_a_device_has_one_source():
    assert {group_of(RUNS)(r) for r in RUNS} == {"site A", "site B"}
    assert {group_of(RUNS[:6])(r) for r in RUNS[:6]} == {"site A, h2048", "site A, h4096", "site A, h8192"}
    fit = fit_calibration(RUNS, "made up")
    assert sorted(item.run.identifier for item in fit.left_out) == sorted(r.identifier for r in RUNS)


def test_one_wild_run_does_not_pull_the_others_away():
    wild = [*RUNS[:-1], replace(RUNS[-1], measured_seconds=3 * (RUNS[-1].measured_seconds or 0))]
    fit = fit_calibration(wild, "made up")
    others = [abs(evaluate_run(r, fit.calibration).time_error or 0) for r in wild[:-1]]
    assert sum(others) / len(others) < 0.06


def test_a_device_without_runs_takes_its_family_with_a_wider_interval():
    fit = fit_calibration(RUNS, "made up").calibration
    h200, a100 = find_device("H200"), find_device("A100")
    assert h200 is not None and a100 is not None
    sibling = fit.of(h200.name, device_family(h200))
    own = fit.devices["H100-80GB-SXM"]
    assert (own.calibrated, sibling.calibrated) == (True, False)
    assert sibling.relative_error_80 == pytest.approx(2 * own.relative_error_80)
    assert fit.of(a100.name, device_family(a100)) == fit.fallback
    assert fit.fallback.calibrated is False


def test_a_given_start_keeps_its_other_devices():
    fit = fit_calibration(RUNS[:6], "own cluster", default_calibration()).calibration
    assert fit.devices["A100-80GB-SXM"] == default_calibration().devices["A100-80GB-SXM"]
    assert fit.devices["H100-80GB-SXM"] != default_calibration().devices["H100-80GB-SXM"]


def test_groups_are_publications_or_repositories():
    assert source_group("Narayanan et al. SC21 (arXiv 2104.04473) Table 1; x") == "arXiv 2104.04473"
    assert source_group("MooreThreads/SimuMax docs/a.md case b") == "MooreThreads/SimuMax"
    assert source_group("our own cluster") == "our own cluster"


def test_summaries_average_what_was_measured_and_count_what_was_not():
    evaluated = [evaluate_run(r) for r in RUNS]
    skipped = [SkippedRun(identifier="x", row=9, source="site A", reason="why") for _ in range(2)]
    first, second, third = summarise(evaluated, skipped)
    errors = [item.time_error or 0 for item in evaluated[:6]]
    assert (first.rows, second.rows, third.skipped) == (6, 3, 2)
    assert first.time_mape == pytest.approx(sum(map(abs, errors)) / 6)
    assert first.time_bias == pytest.approx(sum(errors) / 6)
    assert (first.memory_mape, third.skipped_why) == (None, (("why", 2),))
