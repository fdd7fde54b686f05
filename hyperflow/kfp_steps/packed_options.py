"""The compile options that travel with a packed job: mode, calibration, profile and templates."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from hyperflow.catalog.calibration import default_calibration
from hyperflow.compiler import CompileOptions
from hyperflow.inventory.documents import read_text
from hyperflow.ir.calibration import Calibration
from hyperflow.ir.profile import Profile
from hyperflow.json_tree import mapping, text

_CALIBRATION, _PROFILE = TypeAdapter(Calibration), TypeAdapter(Profile)


def pack_options(options: CompileOptions) -> dict[str, Any]:
    """Give the options as JSON, what is usual left out; raises InputError (HF101) for a template that is no text."""
    found: dict[str, Any] = {}
    if options.mode != "auto":
        found["mode"] = options.mode
    if options.calibration != default_calibration():
        found["calibration"] = _CALIBRATION.dump_python(options.calibration, mode="json")
    if options.profile is not None:
        found["profile"] = _PROFILE.dump_python(options.profile, mode="json")
    if options.templates is not None:
        files = sorted(path for path in options.templates.rglob("*") if path.is_file())
        found["templates"] = {path.relative_to(options.templates).as_posix(): read_text(path) for path in files}
    return found


def unpack_options(packed: Mapping[str, Any], folder: Path) -> CompileOptions:
    """Give the options again; templates are written below `folder`. pydantic's errors are left to the caller."""
    found: dict[str, Any] = {"mode": text(packed.get("mode"), "auto")}
    if "calibration" in packed:
        found["calibration"] = _CALIBRATION.validate_python(packed["calibration"])
    if "profile" in packed:
        found["profile"] = _PROFILE.validate_python(packed["profile"])
    if "templates" in packed:
        found["templates"] = folder / "templates"
        for name, content in mapping(packed["templates"]).items():
            path = folder / "templates" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text(content), encoding="utf-8")
    return CompileOptions(**found)
