"""The `hyperflow` command: one module a verb, imported only when its verb is called.

A verb module has `add_arguments(parser)` and `run(args) -> exit code`. It decides nothing: it reads arguments, calls
one function of a package below, and prints.
"""

import argparse
import errno
import importlib
import os
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn

from hyperflow.cli.output import print_findings, print_json
from hyperflow.errors import Finding, HyperFlowError, nearest

_UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)

VERBS: dict[str, tuple[str, str]] = {
    "compile": ("compile_verb", "compile a declared job to manifests"),
    "explain": ("explain", "say in words why a job's plan is as it is"),
    "model": ("model", "count the parameters of Hugging Face configs, layer by layer"),
    "fleet": ("fleet", "read clusters, nodes and fabric files into one fleet"),
    "split": ("split", "split layers over stages, proven optimal"),
    "simulate": ("simulate", "time pipeline schedules exactly"),
    "evaluate": ("evaluate", "predict published or measured runs and show the errors"),
    "calibrate": ("calibrate", "fit the efficiency constants to measured runs"),
    "place": ("place", "say whether jobs fit on nodes now, later or never, and why"),
    "lint": ("lint", "judge manifests as the real servers would"),
    "crd": ("crd", "print or check the HyperJob CRD that keeps every vcjob field"),
    "demo": ("demo", "write demonstration inputs"),
    "doctor": ("doctor", "check a live plane and its members for a bundle"),
    "submit": ("submit", "submit a bundle and watch it"),
    "status": ("status", "show what a submitted job does and why it waits"),
    "logs": ("logs", "show the logs of one pod of a job"),
    "delete": ("delete", "delete a job with its children and companions"),
    "diff": ("diff", "compare two bundles, or a bundle with the live objects; exit code 0 whether or not they differ"),
    "run-local": ("run_local", "run a compiled bundle as processes on this machine"),
    "report": ("report", "compare a training log with the prediction"),
}


def main(argv: Sequence[str]) -> int:
    """Run one verb; give the exit code. A user's mistake prints findings, never a traceback."""
    if not argv or argv[0] in ("-h", "--help", "help"):
        sys.stdout.write(help_text())
        return 0 if argv else 2
    if argv[0] == "--version":
        sys.stdout.write(version_text())
        return 0
    verb, *rest = argv
    if verb not in VERBS:
        problem = f"unknown verb {verb!r}; {nearest(verb, VERBS) or 'see hyperflow --help'}"
        sys.stderr.write(f"hyperflow: {problem}\n")
        _print_usage_error("hyperflow", problem, rest)
        return 2
    module_name, summary = VERBS[verb]
    return run_verb(f"hyperflow.cli.{module_name}", f"hyperflow {verb}", summary, rest)


def run_verb(module_name: str, program: str, summary: str, argv: Sequence[str]) -> int:
    """Parse the verb's arguments and run it, turning HyperFlowError into printed findings."""
    module = importlib.import_module(module_name)
    parser = _Parser(argv, prog=program, description=summary, allow_abbrev=False)
    parser.add_argument(
        "--format", choices=module.FORMATS if hasattr(module, "FORMATS") else ("table", "json"), default="table"
    )
    module.add_arguments(parser)
    args = parser.parse_args(argv)
    try:
        return module.run(args)
    except HyperFlowError as error:
        if args.format == "json":
            print_json({}, error.findings)
        print_findings(error.findings)
        return error.exit_code


class _Parser(argparse.ArgumentParser):
    """A parser whose usage errors are also the one JSON document, where that is asked for."""

    def __init__(self, words: Sequence[str], **settings: Any) -> None:
        super().__init__(**settings)
        self._words = words

    def error(self, message: str) -> NoReturn:
        """Tell the mistake and leave with exit code 2."""
        _print_usage_error(self.prog, message, self._words)
        super().error(message)


def _print_usage_error(program: str, message: str, words: Sequence[str]) -> None:
    asked = [*words, ""]
    if "--format=json" in words or ("--format", "json") in pairwise(asked):
        hint = f"see {program} --help"
        print_json(
            {}, [Finding(code="HF100", message=message, where=f"{program} {' '.join(words)}".strip(), hint=hint)]
        )


def help_text() -> str:
    """Give the overview of all verbs."""
    width = max(map(len, VERBS))
    lines = [f"  {verb:<{width}}  {summary}" for verb, (_, summary) in VERBS.items()]
    return "usage: hyperflow VERB [options]      (hyperflow VERB --help for its options)\n\n" + "\n".join(lines) + "\n"


def version_text() -> str:
    """Give the installed version."""
    from importlib.metadata import version

    return f"hyperflow {version('hyperflow')}\n"


def _drop_stdout() -> None:
    """Let what is still unwritten go nowhere: Python would fail on it once more while it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _unwritten(error: OSError) -> Finding:
    return Finding(
        code="HF107",
        message=f"the output cannot be written: {error.strerror}",
        where="stdout",
        hint="what the verb did is done; send its output where there is room",
    )


def entry() -> None:
    """Console script: quiet on a closed pipe, a finding (HF107) on a full disk behind stdout, 130 on Ctrl-C."""
    if not sys.stdout:  # it was closed before we began: nothing is wanted
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - it lives as long as the process
    try:
        code = main(sys.argv[1:])
        sys.stdout.flush()
    except BrokenPipeError:
        _drop_stdout()
        code = 1
    except OSError as error:
        # an error of a file names the file; of stdout it names none
        if error.filename is not None or error.errno not in _UNWRITABLE:
            raise
        _drop_stdout()
        print_findings([_unwritten(error)])
        code = 1
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)
