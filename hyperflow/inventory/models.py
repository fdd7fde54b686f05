"""The one way to a model: by config file, by preset, or by hand."""

from collections.abc import Sequence
from pathlib import Path

from hyperflow.errors import Finding
from hyperflow.inventory.by_hand import check_exactly_one_source, model_by_hand
from hyperflow.inventory.config_file import read_config
from hyperflow.inventory.presets import model_of_preset
from hyperflow.spec.model import Model
from hyperflow.spec.training_job import ModelRequest

NO_SEQUENCE_LENGTH = "HF168"


def load_model(request: ModelRequest, base: Path) -> tuple[Model, tuple[Finding, ...]]:
    """Give the model of the request and what is worth telling about it.

    A relative `config=` starts at `base`; `seq=` replaces the sequence length of the config. Raises InputError.
    """
    check_exactly_one_source(request)
    if request.layers is not None:
        return model_by_hand(request), ()
    if request.preset is not None:
        model, findings = model_of_preset(request.preset)
    else:
        assert request.config is not None
        model, findings = read_config(base / request.config)
    if request.seq is not None:
        model = model.model_copy(update={"sequence_length": request.seq})
        findings = tuple(finding for finding in findings if finding.code != NO_SEQUENCE_LENGTH)
    return model, findings


def longest_sequence(request: ModelRequest, model: Model, findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Say (HF169) that a plan is for the model's longest sequence, where neither `seq=` nor a finding speaks of it."""
    told = any(finding.code == NO_SEQUENCE_LENGTH for finding in findings)
    if request.seq is not None or request.layers is not None or told:
        return ()
    return (_longest_sequence(request, model),)


def _longest_sequence(request: ModelRequest, model: Model) -> Finding:
    source = f"config={request.config!r}" if request.preset is None else f"preset={request.preset!r}"
    return Finding(
        code="HF169",
        severity="note",
        message=f"no seq= is given: the plan is for the model's longest sequence, {model.sequence_length:,} tokens",
        where=f"@hf.model({source})",
        got="no seq=",
        expected=f"seq= of at most {model.sequence_length}",
        hint="give the length you train with, such as seq=8192; memory and step time depend on it",
    )
