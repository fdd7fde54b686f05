"""The `hyperflow` command: one module a verb, imported only when its verb is called.

A verb module has `add_arguments(parser)` and `run(args) -> exit code`. It decides nothing: it reads arguments, calls
one function of a package below, and prints.
"""

import argparse
import importlib
import os
import sys
from collections.abc import Sequence

from hyperflow.cli.output import print_findings, print_json
from hyperflow.errors import HyperFlowError

VERBS: dict[str, tuple[str, str]] = {
    "compile": ("compile_verb", "compile a declared job to manifests"),
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
        from hyperflow.errors import nearest

        sys.stderr.write(f"hyperflow: unknown verb {verb!r}; {nearest(verb, VERBS) or 'see hyperflow --help'}\n")
        return 2
    module_name, summary = VERBS[verb]
    return run_verb(f"hyperflow.cli.{module_name}", f"hyperflow {verb}", summary, rest)


def run_verb(module_name: str, program: str, summary: str, argv: Sequence[str]) -> int:
    """Parse the verb's arguments and run it, turning HyperFlowError into printed findings."""
    module = importlib.import_module(module_name)
    parser = argparse.ArgumentParser(prog=program, description=summary, allow_abbrev=False)
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


def help_text() -> str:
    """Give the overview of all verbs."""
    width = max(map(len, VERBS))
    lines = [f"  {verb:<{width}}  {summary}" for verb, (_, summary) in VERBS.items()]
    return "usage: hyperflow VERB [options]      (hyperflow VERB --help for its options)\n\n" + "\n".join(lines) + "\n"


def version_text() -> str:
    """Give the installed version."""
    from importlib.metadata import version

    return f"hyperflow {version('hyperflow')}\n"


def entry() -> None:
    """Console script: quiet on a closed pipe, 130 on Ctrl-C."""
    try:
        code = main(sys.argv[1:])
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)
