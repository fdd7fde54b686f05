"""Printing: results on stdout, findings on stderr, one JSON document when asked for one."""

import contextlib
import io
import json
import os
import sys
from collections.abc import Generator, Mapping, Sequence
from typing import TextIO

from hyperflow.errors import Finding


def print_json(document: Mapping[str, object], findings: Sequence[Finding] = ()) -> None:
    """Write one JSON document with its findings to stdout."""
    whole = {**document, "findings": [finding.as_json() for finding in findings]}
    sys.stdout.write(json.dumps(whole, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def print_findings(findings: Sequence[Finding]) -> None:
    """Write findings to stderr as text, errors first."""
    order = {"error": 0, "warning": 1, "note": 2}
    for finding in sorted(findings, key=lambda f: order[f.severity]):
        sys.stderr.write(finding.as_text() + "\n")


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> None:
    """Write an aligned plain-text table to stdout; columns in `right` are flushed right."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    for row in [header, *rows]:
        cells = [
            cell.rjust(w) if i in right else cell.ljust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        ]
        sys.stdout.write("  ".join(cells).rstrip() + "\n")


@contextlib.contextmanager
def stdout_as_stderr() -> Generator[None]:
    """Send to stderr whatever is printed to stdout, by Python or by the process itself: a job file may print."""
    sys.stdout.flush()
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):  # stdout or stderr is closed: nothing to redirect
            kept = os.dup(1)
            stack.callback(os.close, kept)
            os.dup2(2, 1)
            stack.callback(os.dup2, kept, 1)
        # writes of Python go through its own object, which a test or an embedding program may have replaced
        ours = sys.stdout
        lent = _Lent(sys.stderr)
        with contextlib.redirect_stdout(lent), contextlib.redirect_stderr(lent):
            yield
    if ours.closed:  # by sys.__stdout__.close(): open what it wrote to again
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - it lives as long as the process


class _Lent(io.TextIOBase):
    """A stream for code that is not ours, which may close it: the stream behind it stays open."""

    def __init__(self, behind: TextIO) -> None:
        self._behind = behind

    def write(self, text: str, /) -> int:
        """Pass on what is written, also after the borrower closed this."""
        return self._behind.write(text)

    def flush(self) -> None:
        """Flush the stream behind."""
        self._behind.flush()

    def fileno(self) -> int:
        """Give the file of the stream behind, for programs that are started with it."""
        return self._behind.fileno()

    def isatty(self) -> bool:
        """Say whether people look at it."""
        return self._behind.isatty()
