"""Shared by all tests: where the reference data lies, and a job file written on the spot."""

import builtins
import os
import textwrap
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# a law holds on a slow machine too: neither one example nor the making of them is timed
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

ROOT = Path(__file__).parents[1]
SHARED = ROOT.parent / "shared"

JOB = """
import hyperflow as hf

beijing = hf.Cluster("beijing", nodes=1, gpu="B200:8")
shanghai = hf.Cluster("shanghai", nodes=1, gpu="H100:8")

@hf.job(name="toy", image="registry.example.com/train:1", queue="llm")
@hf.model(layers=8, hidden=8192, ffn=28672, heads=64, kv_heads=8, vocab=128256, seq=8192)
@hf.parallel({parallel})
@hf.on(beijing, shanghai, links=[hf.link("beijing", "shanghai", gbps=100, rtt_ms=25)])
{more}
def train():
    return hf.megatron(args={{"lr": 3e-4}})
"""


@pytest.fixture
def write_job(tmp_path, monkeypatch):
    """Write job.py with the given @hf.parallel arguments and further decorators; give its path."""
    monkeypatch.chdir(tmp_path)

    def write(parallel: str = 'tp=8, pp="auto", dp=1, global_batch_size=32', more: str = "", text: str | None = None):
        source = textwrap.dedent(text) if text is not None else JOB.format(parallel=parallel, more=more)
        Path("job.py").write_text("\n".join(line for line in source.split("\n") if line.strip() or text) + "\n")
        return Path("job.py")

    return write


@pytest.fixture
def shared() -> Path:
    """The folder of reference data beside the checkout; skips where it is absent."""
    if not SHARED.is_dir():
        pytest.skip("not tested: the reference data beside the checkout is absent")
    return SHARED


def pytest_collection_modifyitems(items):
    """Tests that know their server by REST alone also run on a real one: they carry the marker."""
    for item in items:
        if "any_server" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.cluster)


@pytest.fixture(scope="session")
def session_server(tmp_path_factory):
    """The server of `any_server`, with the CRDs, for all tests of the run."""
    from tests.any_server import serve

    with serve(tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.fixture
def any_server(session_server, monkeypatch):
    """A server known by REST alone: ours, or the one of KUBECONFIG; left as it was found."""
    session_server.watch_client(monkeypatch)
    session_server.put(session_server.queue(), session_server.priority_class())
    yield session_server
    session_server.clean()


@pytest.fixture(autouse=True)
def print_stays_itself():
    """kfp's local runner swaps `builtins.print` from several threads at once and may leave its own behind."""
    before = builtins.print
    yield
    builtins.print = before


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch):
    """No colours and no wide terminal in any test."""
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delitem(os.environ, "COLUMNS", raising=False)
