"""Plan two layouts side by side, train with the one whose predicted step is shorter."""

import sys
from pathlib import Path
from typing import NamedTuple

from kfp import compiler, dsl, local

import hyperflow.kfp_steps as hfk

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from job import train  # noqa: E402 - the job lies beside this file, wherever it is started from

LAYOUTS = [{"tp": 1, "dp": 2}, {"tp": 2, "dp": 1}]


@dsl.component(base_image="python:3.12")
def pick(layouts: list, seconds: list[float], feasible: list[bool]) -> NamedTuple(
    "Picked", [("tp", int), ("dp", int), ("step_seconds", float)]
):
    """Give the feasible layout with the shortest step."""
    found = [(time, i) for i, (time, fits) in enumerate(zip(seconds, feasible, strict=True)) if fits]
    if not found:
        raise SystemExit("no layout has a plan")
    time, best = min(found)
    return (int(layouts[best]["tp"]), int(layouts[best]["dp"]), time)


LAYOUT = {"tp": hfk.value("parallel.tp"), "dp": hfk.value("parallel.dp")}
FILES = {"tokens": hfk.value("env.TOKENS"), "checkpoints": hfk.value("checkpoint.to")}
hyperflow_plan = hfk.plan_step(train, inputs=LAYOUT)
hyperflow_train = hfk.step(train, inputs={**LAYOUT, **FILES})


@dsl.pipeline(name="sweep-layouts")
def pipeline(
    tokens: str = "s3://corpus/line.csv",
    checkpoints: str = "s3://checkpoints/line",
    backend: str = "plane",
    work_dir: str = "",
    poll_seconds: float = 15.0,
):
    """Plan each layout, pick, train."""
    with dsl.ParallelFor(LAYOUTS) as layout:
        planned = hyperflow_plan(tp=layout.tp, dp=layout.dp)
    picked = pick(
        layouts=LAYOUTS,
        seconds=dsl.Collected(planned.outputs["predicted_step_seconds"]),
        feasible=dsl.Collected(planned.outputs["feasible"]),
    )
    hyperflow_train(
        tp=picked.outputs["tp"],
        dp=picked.outputs["dp"],
        tokens=tokens,
        checkpoints=checkpoints,
        backend=backend,
        work_dir=work_dir,
        poll_seconds=poll_seconds,
    )


def run_here(folder: Path) -> object:
    """Run the pipeline on this machine; everything it writes is below `folder`."""
    (folder / "checkpoints").mkdir(parents=True, exist_ok=True)
    (folder / "line.csv").write_text("".join(f"{i / 50},{3 * i / 50 + 1}\n" for i in range(50)))
    local.init(
        runner=local.SubprocessRunner(use_venv=False), pipeline_root=str(folder / "pipeline"), raise_on_error=True
    )
    return pipeline(
        tokens=f"file://localhost{folder}/line.csv",
        checkpoints=f"{folder}/checkpoints",
        backend=f"local:{folder}/jobs",
        work_dir=str(HERE),
        poll_seconds=0.2,
    )


if __name__ == "__main__":
    if sys.argv[1:] == ["--local"]:
        run_here(Path("out/kfp-sweep").absolute())
    else:
        compiler.Compiler().compile(pipeline, sys.argv[1] if len(sys.argv) > 1 else "sweep.yaml")
