"""Train with the wanted layout; if the job does not complete, train once more with a smaller one.

The first step does not fail the pipeline: it outputs how its job ended, and the pipeline branches on that. The job of
a step that did not complete is deleted by the step (on_failure), so two never hold devices at once.
"""

import sys
from pathlib import Path

from kfp import compiler, dsl, local

import hyperflow.kfp_steps as hfk

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from job import train  # noqa: E402 - the job lies beside this file, wherever it is started from

INPUTS = {
    "dp": hfk.value("parallel.dp"),
    "tokens": hfk.value("env.TOKENS"),
    "checkpoints": hfk.value("checkpoint.to"),
    "fail_at_step": hfk.value("env.FAIL_AT_STEP", int, default=0),
}
hyperflow_try = hfk.step(train, inputs=INPUTS, must_complete=False)
hyperflow_train = hfk.step(train, inputs=INPUTS)


@dsl.component(base_image="python:3.12")
def is_needed(state: str) -> bool:
    """Say whether the fallback is needed; kfp's local runner branches on the one output of a task only."""
    return state != "COMPLETED"


@dsl.pipeline(name="conditional-fallback")
def pipeline(
    tokens: str = "s3://corpus/line.csv",
    checkpoints: str = "s3://checkpoints/line",
    fail_at_step: int = 0,
    backend: str = "plane",
    work_dir: str = "",
    poll_seconds: float = 15.0,
):
    """Try with two replicas, fall back to one."""
    where = {"backend": backend, "work_dir": work_dir, "poll_seconds": poll_seconds}
    files = {"tokens": tokens, "checkpoints": checkpoints}
    first = hyperflow_try(dp=2, fail_at_step=fail_at_step, **files, **where)
    with dsl.If(is_needed(state=first.outputs["state"]).output == True):  # noqa: E712 - kfp records the comparison
        hyperflow_train(dp=1, **files, **where)


def run_here(folder: Path, **inputs: object) -> object:
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
        **inputs,
    )


if __name__ == "__main__":
    if sys.argv[1:] == ["--local"]:
        run_here(Path("out/kfp-fallback").absolute(), fail_at_step=3)
    else:
        compiler.Compiler().compile(pipeline, sys.argv[1] if len(sys.argv) > 1 else "fallback.yaml")
