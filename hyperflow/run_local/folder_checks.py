"""What must be there before pods start: the folder where commands start with the script in it, and a place for logs."""

from pathlib import Path

from hyperflow.errors import Finding, InputError
from hyperflow.run_local.pods import Container, LocalBundle


def check_folders(bundle: LocalBundle, work_dir: Path, root: Path) -> None:
    """Raise InputError (HF454) for a working folder or script that is absent, or a run folder that cannot be made."""
    findings = _run_folder(root)
    if not work_dir.is_dir():
        findings.append(_missing(f"{work_dir} is no folder", str(work_dir), "a folder that exists"))
    else:
        containers = [c for child in bundle.children for pod in child.pods for c in pod.containers]
        for script in sorted({s for c in containers if (s := _script(c)) and not (_start(c, work_dir) / s).is_file()}):
            findings.append(
                _missing(f"{script} is not in {work_dir}", str(work_dir), f"the folder that holds {script}")
            )
    if findings:
        raise InputError(findings)


def _script(container: Container) -> str | None:
    """The Python script that the command starts, where it is looked for from the working folder."""
    script = next((word for word in container.command if word == "-m" or word.endswith(".py")), "-m")
    return None if script.startswith(("/", "-")) or "$" in script else script


def _start(container: Container, work_dir: Path) -> Path:
    inside = work_dir / container.working_dir.lstrip("/")
    return inside if inside.is_dir() else work_dir


def _missing(message: str, got: str, expected: str) -> Finding:
    return Finding(
        code="HF454",
        message=message,
        where="--workdir",
        got=got,
        expected=expected,
        hint="commands start in --workdir DIR, which stands for the working folder of the image",
    )


def _run_folder(root: Path) -> list[Finding]:
    try:
        (root / "logs").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        return [
            Finding(
                code="HF454",
                message=f"logs cannot be written to {root}: {error.strerror}",
                where="--run-dir",
                got=str(root),
                expected="a folder that can be made or written to",
                hint="give another one with --run-dir",
            )
        ]
    return []
