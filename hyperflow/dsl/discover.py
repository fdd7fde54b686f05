"""Running a job file and finding the jobs it declares."""

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

from hyperflow.dsl.declared_job import DeclaredJob
from hyperflow.errors import Finding, InputError, nearest
from hyperflow.inventory.documents import read_text
from hyperflow.user_code import user_code


def load_job(target: str) -> DeclaredJob:
    """Run `FILE[:NAME]` and give the job it declares; NAME is the function's or the job's name.

    Raises InputError: HF101 unreadable file, HF103 the file raised, HF104 no such job, HF105 several and no NAME.
    """
    path_text, _, name = target.partition(":") if not Path(target).exists() else (target, "", "")
    path = Path(path_text)
    read_text(path)
    jobs = {key: value for key, value in vars(_run(path)).items() if isinstance(value, DeclaredJob)}
    if not name and len(jobs) == 1:
        return next(iter(jobs.values()))
    chosen = [job for key, job in jobs.items() if name in (key, job.name)]
    if name and chosen:
        return chosen[0]
    raise InputError(_not_found(path, name, jobs))


def _not_found(path: Path, name: str, jobs: dict[str, DeclaredJob]) -> Finding:
    known = ", ".join(jobs) or "none"
    if name or not jobs:
        message = f"{path} declares no job {name!r}" if name else f"{path} declares no job"
        hint = nearest(name, jobs) or ("put @hf.job(...) on a function" if not jobs else f"jobs here: {known}")
        expected = f"one of {known}" if jobs else "at least one"
        return Finding(code="HF104", message=message, where=str(path), got=name or None, expected=expected, hint=hint)
    return Finding(
        code="HF105",
        message=f"{path} declares {len(jobs)} jobs",
        where=str(path),
        got=known,
        expected="one job, or FILE:NAME",
        hint=f"say which: {path}:{next(iter(jobs))}",
    )


def _run(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"hyperflow_job_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise InputError(
            Finding(
                code="HF101", message=f"cannot read {path}: not a Python file", where=str(path), hint="give a .py file"
            )
        )
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    folder, search_path, streams = Path.cwd(), [*sys.path], (sys.stdout, sys.stderr)
    sys.path.insert(0, str(path.resolve().parent))
    try:
        with user_code("HF103", str(path), str(path), "a file that runs to its end when imported"):
            spec.loader.exec_module(module)
    finally:
        sys.path[:] = search_path
        sys.stdout, sys.stderr = streams
        os.chdir(folder)  # the file may have gone elsewhere; the other arguments are relative to where we began
    return module
