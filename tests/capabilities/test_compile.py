"""The whole way from a job file to a bundle, by the command that users type."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hyperflow.compiler import CompileOptions
from hyperflow.dsl.discover import load_job
from hyperflow.report.plan_timeline import plan_timeline

EXAMPLES = Path(__file__).parents[2] / "examples"
JOBS = sorted(EXAMPLES.glob("*/job.py"))


@pytest.mark.parametrize("job", JOBS, ids=lambda path: path.parent.name)
def test_i1_each_example_compiles_by_the_module_command(job, tmp_path):
    for name in ("first", "second"):
        shown = subprocess.run(
            [sys.executable, "-m", "hyperflow.compile", job, "-o", tmp_path / name, "--format", "json"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert shown.returncode == 0, shown.stderr
        document = json.loads(shown.stdout)
        assert {Path(file).name for file in document["files"]} >= {
            "plan.json",
            "comm.json",
            "bundle.json",
            "report.html",
        }
    first = {path.name: path.read_bytes() for path in (tmp_path / "first").iterdir()}
    assert first == {path.name: path.read_bytes() for path in (tmp_path / "second").iterdir()}


def test_b3_the_talks_case_gives_six_and_two_with_the_even_split_beside_it():
    plan = load_job(str(EXAMPLES / "01_two_cities" / "job.py")).plan()
    assert [(stage.cluster, stage.layers) for stage in plan.stages] == [("beijing", 6), ("shanghai", 2)]
    even = next(other for other in plan.alternatives if other.name == "even split")
    assert even.layers == (4, 4)
    assert even.step_seconds is not None and even.step_seconds > plan.step_seconds
    assert dict(even.idle_by_cluster)["beijing"] > plan.stages[0].idle_fraction


def test_b4_the_drawn_timeline_takes_the_predicted_step():
    done = load_job(str(EXAMPLES / "01_two_cities" / "job.py")).compilation(CompileOptions())
    plan = done.needed_plan
    drawn = plan_timeline(plan, plan.stages, plan.warmup, plan.microbatches)
    once_a_step = plan.step_seconds - drawn.makespan
    # the optimizer runs once after the pipeline; nothing else is missing from the drawing
    assert 0 <= once_a_step < 0.05 * plan.step_seconds
    page = next(file.text for file in done.needed_bundle.files if file.path == "report.html")
    assert f"{drawn.makespan * 1e3:g}"[:6] in page


def test_f5_the_same_program_with_one_cluster_gives_a_plain_job_and_no_policy(tmp_path):
    source = (EXAMPLES / "01_two_cities" / "job.py").read_text()
    alone = (
        source.replace("beijing, shanghai, links=", "beijing, links=")
        .replace('links=[hf.link("beijing", "shanghai", gbps=100, rtt_ms=25)], ', "")
        .replace("beijing, links=", "beijing, ")
    )
    (tmp_path / "job.py").write_text(alone)
    bundle = load_job(str(tmp_path / "job.py")).compilation(CompileOptions()).needed_bundle
    kinds = {line for file in bundle.files for line in file.text.splitlines() if line.startswith("kind: ")}
    assert bundle.mode == "single"
    assert kinds == {"kind: ConfigMap", "kind: Job"}
