"""A bundle on disk: written whole or not at all."""

import os
import shutil
import tempfile
from pathlib import Path

from hyperflow.errors import Finding, InputError
from hyperflow.ir.bundle import Bundle

MARKER = "bundle.json"


def write_bundle(bundle: Bundle, directory: Path) -> None:
    """Write all files into a fresh folder beside `directory`, then put it in its place.

    An aborted write leaves the old folder whole. Raises InputError (HF106) when `directory` holds something that is
    not a bundle, or cannot be written.
    """
    directory = Path(os.path.abspath(directory))  # noqa: PTH100 - resolve() would follow a link that the user placed
    if "\0" in str(directory):
        raise _unwritable(directory, "a null byte in the path")
    try:
        if directory.exists() and not _is_replaceable(directory):
            raise InputError(
                Finding(
                    code="HF106",
                    message=f"{directory} holds files that are not a bundle; nothing was written",
                    where=str(directory),
                    expected=f"an empty folder, or one with {MARKER}",
                    hint="choose another folder with -o",
                )
            )
        directory.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix=f".{directory.name}.", dir=directory.parent))
        try:
            for file in bundle.files:
                path = fresh / file.path
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(file.text, encoding="utf-8", newline="\n")
            fresh.chmod(0o755)
            _put_in_place(fresh, directory)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
    except OSError as error:
        raise _unwritable(directory, error.strerror or str(error)) from None


def _unwritable(directory: Path, reason: str) -> InputError:
    return InputError(
        Finding(
            code="HF106",
            message=f"cannot write {directory}: {reason}",
            where=str(directory),
            hint="give a folder that can be written with -o",
        )
    )


def _is_replaceable(directory: Path) -> bool:
    return directory.is_dir() and ((directory / MARKER).is_file() or not any(directory.iterdir()))


def _put_in_place(fresh: Path, directory: Path) -> None:
    if not directory.exists():
        fresh.rename(directory)
        return
    old = directory.with_name(f".{directory.name}.old-{os.getpid()}")
    directory.rename(old)
    try:
        fresh.rename(directory)
    except OSError:
        old.rename(directory)
        raise
    shutil.rmtree(old)
