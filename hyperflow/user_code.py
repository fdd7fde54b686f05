"""Running code of the user's, a job file or a policy: exceptions are told with the user's own frames."""

import contextlib
import traceback
from collections.abc import Generator
from pathlib import Path

from hyperflow.errors import Finding, HyperFlowError, InputError

_PACKAGE = Path(__file__).parent


@contextlib.contextmanager
def user_code(code: str, subject: str, place: str, expected: str) -> Generator[None]:
    """Run the user's code: whatever it raises becomes InputError with `code`; our own findings pass."""
    try:
        yield
    except HyperFlowError:
        raise
    except (Exception, SystemExit, GeneratorExit) as error:  # noqa: BLE001 - the user's code may raise anything
        raise InputError(_user_error(code, subject, place, error, expected)) from None


def _user_error(code: str, subject: str, place: str, error: BaseException, expected: str) -> Finding:
    """Say what `subject` raised, with the last three of the user's frames; `place` holds where there are none."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not _is_machinery(f.filename)]
    own = [f for f in frames if "site-packages" not in Path(f.filename).parts] or frames
    where = f"{shown_path(own[-1].filename)}:{own[-1].lineno}" if own else place
    if isinstance(error, SyntaxError) and error.filename:
        where = f"{shown_path(error.filename)}:{error.lineno}:{error.offset}"
    story = "".join(f"\n    {shown_path(f.filename)}:{f.lineno} in {f.name}: {f.line}" for f in frames[-3:])
    kind = type(error).__name__
    return Finding(
        code=code,
        message=f"{subject} raised {kind}: {_words(error)}{story}",
        where=where,
        got=kind,
        expected=expected,
        hint="mend the file; run it with python to see the whole traceback",
    )


def shown_path(filename: str) -> str:
    """Give a path as the user would type it: relative where it lies below the current folder."""
    path = Path(filename)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else filename


def _words(error: BaseException) -> str:
    """The exception's text; a text that cannot be made is the user's mistake too."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - the user's exception may raise anything in its __str__
        return "(its text cannot be shown)"


def _is_machinery(filename: str) -> bool:
    return filename.startswith("<frozen") or "importlib" in filename or Path(filename).is_relative_to(_PACKAGE)
