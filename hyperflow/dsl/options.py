"""Compile options that people give as words and file names, read into the record that the compiler takes."""

from pathlib import Path

from hyperflow.catalog.calibration import default_calibration
from hyperflow.compiler import CompileOptions
from hyperflow.errors import Finding, InputError
from hyperflow.inventory.calibration_file import read_calibration
from hyperflow.inventory.profile import read_profile

MODES = ("auto", "hyperjob", "direct")


def read_options(
    *,
    mode: str = "auto",
    templates: str | Path | None = None,
    calibration: str | Path | None = None,
    profile: str | Path | None = None,
    stop_after: str | None = None,
    expand: bool = False,
) -> CompileOptions:
    """Read what the file names stand for; raises InputError (HF101) for templates that are no folder.

    Calibration and profile raise as their readers do.
    """
    if templates and not Path(templates).is_dir():
        message = f"cannot read {templates}: not a folder"
        hint = "give the folder that holds your templates"
        raise InputError(Finding(code="HF101", message=message, where="--templates", hint=hint))
    return CompileOptions(
        mode=mode,
        stop_after=stop_after,
        templates=Path(templates) if templates else None,
        calibration=read_calibration(calibration) if calibration else default_calibration(),
        profile=read_profile(profile) if profile else None,
        expand=expand,
    )
