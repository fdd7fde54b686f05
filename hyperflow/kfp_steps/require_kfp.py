"""The one place that imports kfp: it is an extra, and who needs it without having it is told so."""

import importlib
from importlib.metadata import version
from typing import Any

from hyperflow.errors import Finding, UsageError


def load_kfp() -> Any:
    """Import kfp; raises UsageError (HF550) where it is not installed."""
    try:
        kfp: Any = importlib.import_module("kfp")
        importlib.import_module("kfp.dsl")
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] != "kfp":
            raise
        raise UsageError(
            Finding(
                code="HF550",
                message="pipelines need kfp, which is not installed",
                where="hyperflow.kfp_steps",
                expected="kfp 2.17 or later",
                hint="pip install 'hyperflow[kfp]'",
            )
        ) from None
    return kfp


def package_requirement() -> str:
    """Give what a step's pod installs: this version with kfp."""
    return f"hyperflow[kfp]=={version('hyperflow')}"
