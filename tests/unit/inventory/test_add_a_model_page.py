"""The page docs/how-to/add-a-model.md: its code runs and gives a model."""

import re
from pathlib import Path

from hyperflow.inventory.models import load_model
from hyperflow.spec.training_job import ModelRequest

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "add-a-model.md"


def test_the_layers_of_the_page_make_a_model(tmp_path):
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    scope: dict[str, object] = {}
    exec(code, scope)
    request = ModelRequest(layers=tuple(scope["layers"]), hidden=4096, vocab=128256, seq=8192)
    model, _ = load_model(request, tmp_path)
    assert [(run.count, run.layer.kind) for run in model.runs] == [(2, "dense"), (30, "moe")]
    expert = 3 * 4096 * 1408
    assert model.total_parameters - model.active_parameters == 30 * 60 * expert
