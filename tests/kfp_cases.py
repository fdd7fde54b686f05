"""The small job of the tests on pipelines, and what a step writes into."""

import dataclasses
import os
import textwrap
from pathlib import Path

from hyperflow.dsl.discover import load_job
from hyperflow.kfp_steps.train_step import StepOutputs

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "04_kfp_pipeline"
WITHOUT_TORCH = EXAMPLE / "without_torch"

SCRIPT_JOB = """
import hyperflow as hf

north = hf.Cluster("north", nodes=1, gpu="H100:1")
south = hf.Cluster("south", nodes=1, gpu="A100:1")


@hf.job(name="tiny", image="registry.example.com/tiny:1", retries=1)
@hf.model(layers=8, hidden=48, ffn=192, heads=4, vocab=96, seq=24, gated=False)
@hf.parallel(tp=1, pp=2, dp=1, global_batch_size=16)
@hf.on(north, south, links=[hf.link("north", "south", gbps=10, rtt_ms=5)])
@hf.checkpoint(to="s3://checkpoints/tiny", every="20m")
@hf.env(MODE="declared")
def train():
    return hf.torchrun("script.py")
"""


@dataclasses.dataclass
class FileArtifact:
    """As a kfp artifact: a path, a URI, metadata; metrics go to metadata, as in kfp."""

    path: str
    uri: str = ""
    metadata: dict = dataclasses.field(default_factory=dict)

    def log_metric(self, metric, value):
        self.metadata[metric] = value

    @property
    def text(self):
        return Path(self.path).read_text(encoding="utf-8")


def outputs_in(folder):
    """Artifacts below the folder."""
    names = ("checkpoint", "plan", "timeline", "status", "metrics")
    return StepOutputs(**{name: FileArtifact(str(folder / "outputs" / name)) for name in names})


def write_tiny(folder, script="", job=SCRIPT_JOB):
    """Write job.py and script.py; give the declared job."""
    (folder / "job.py").write_text(textwrap.dedent(job))
    (folder / "script.py").write_text(textwrap.dedent(script))
    return load_job(str(folder / "job.py"))


def alone_here(monkeypatch):
    """Let pods find the stand-in for torchrun and this checkout, and pip nothing to look for: all of it is installed.

    kfp's local runner starts pip for every task; without a look at what the packages need it takes a third of the time.
    """
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_NO_DEPS", "1")
    paths = [str(WITHOUT_TORCH), str(ROOT), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
