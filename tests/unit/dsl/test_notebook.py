"""In a notebook the job shows its plan, and mistakes point at cell and line."""

import pytest

from hyperflow.errors import InputError

IPython = pytest.importorskip("IPython", reason="not tested: notebooks, since IPython is absent")

CELL = """import hyperflow as hf
beijing = hf.Cluster("beijing", nodes=1, gpu="B200:8")
shanghai = hf.Cluster("shanghai", nodes=1, gpu="H100:8")

@hf.job(name="toy", image="registry.example.com/train:1")
@hf.model(layers=8, hidden=8192, ffn=28672, heads=64, kv_heads=8, vocab=128256, seq=8192)
@hf.parallel(tp=8, pp="auto", dp=1, global_batch_size=32{more})
@hf.on(beijing, shanghai, links=[hf.link("beijing", "shanghai", gbps=100, rtt_ms=25)])
def train():
    return hf.torchrun("train.py")
"""


@pytest.fixture
def shell(tmp_path):
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    settings = Config()
    settings.HistoryManager.enabled = False
    settings.InteractiveShell.ipython_dir = str(tmp_path)
    InteractiveShell.clear_instance()
    yield InteractiveShell.instance(config=settings)
    InteractiveShell.clear_instance()


def test_i2_the_plan_renders_as_a_table_in_a_notebook(shell):
    result = shell.run_cell(CELL.format(more="") + "train", store_history=True)
    page = result.result._repr_html_()
    assert "<table>" in page
    assert "toy: 6/2 layers" in page
    assert "even split" in page


def test_i2_a_mistake_points_at_cell_and_line(shell):
    shell.run_cell("1 + 1", store_history=True)
    result = shell.run_cell(CELL.format(more=", shedule=1") + "train", store_history=True)
    with pytest.raises(InputError) as caught:
        result.result.plan()
    assert caught.value.findings[0].place == "Cell [2], line 7:67"
    page = result.result._repr_html_()
    assert "Cell [2], line 7:67" in page
    assert "did you mean &quot;schedule&quot;?" in page
