"""Prepare, train over two clusters, evaluate; whatever happens, no job is left behind.

python pipeline.py [OUT.yaml]    compile it
python pipeline.py --local       run it on this machine, the job as processes
"""

import sys
from pathlib import Path

from kfp import compiler, dsl, local

import hyperflow.kfp_steps as hfk

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from job import train  # noqa: E402 - the job lies beside this file, wherever it is started from

IMAGE = "python:3.12"


@dsl.component(base_image=IMAGE)
def prep(points: int, tokens: dsl.Output[dsl.Dataset]):
    """Write points of the line y = 3x + 1."""
    from pathlib import Path

    Path(tokens.path).write_text("".join(f"{i / points},{3 * i / points + 1}\n" for i in range(points)))


@dsl.component(base_image=IMAGE)
def evaluate(checkpoint: dsl.Input[dsl.Model], report: dsl.Output[dsl.Metrics]) -> float:
    """Read the checkpoint and report how far it is from the line."""
    import json
    from pathlib import Path
    from urllib.parse import urlsplit

    folder = urlsplit(checkpoint.metadata["checkpoint_uri"]).path
    state = json.loads(Path(folder, "line.json").read_text())
    report.log_metric("slope_error", abs(state["slope"] - 3))
    report.log_metric("layers_first_stage", state["layers"][0])
    return state["slope"]


hyperflow_train = hfk.step(
    train,
    inputs={
        "tokens": hfk.artifact("env.TOKENS", dsl.Dataset),
        "learning_rate": hfk.value("env.LEARNING_RATE", float),
        "steps": hfk.value("env.STEPS", int),
        "checkpoints": hfk.value("checkpoint.to"),
        "fail_at_step": hfk.value("env.FAIL_AT_STEP", int, default=0),
    },
    queue_timeout_seconds=3600,
)


@dsl.pipeline(name="prepare-train-evaluate")
def pipeline(
    checkpoints: str = "s3://checkpoints/line",
    learning_rate: float = 0.3,
    steps: int = 200,
    fail_at_step: int = 0,
    backend: str = "plane",
    work_dir: str = "",
    poll_seconds: float = 15.0,
):
    """Prepare, train, evaluate."""
    with dsl.ExitHandler(hfk.cleanup(backend=backend)):
        data = prep(points=50)
        trained = hyperflow_train(
            tokens=data.outputs["tokens"],
            learning_rate=learning_rate,
            steps=steps,
            checkpoints=checkpoints,
            fail_at_step=fail_at_step,
            backend=backend,
            work_dir=work_dir,
            poll_seconds=poll_seconds,
        )
        evaluate(checkpoint=trained.outputs["checkpoint"])


def run_here(folder: Path, **inputs: object) -> object:
    """Run the pipeline on this machine; everything it writes is below `folder`."""
    (folder / "checkpoints").mkdir(parents=True, exist_ok=True)
    local.init(
        runner=local.SubprocessRunner(use_venv=False), pipeline_root=str(folder / "pipeline"), raise_on_error=True
    )
    return pipeline(
        checkpoints=f"{folder}/checkpoints",
        backend=f"local:{folder}/jobs",
        work_dir=str(HERE),
        poll_seconds=0.2,
        **inputs,
    )


if __name__ == "__main__":
    if sys.argv[1:] == ["--local"]:
        run_here(Path("out/kfp").absolute())
    else:
        compiler.Compiler().compile(pipeline, sys.argv[1] if len(sys.argv) > 1 else "pipeline.yaml")
