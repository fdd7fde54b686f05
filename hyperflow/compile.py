"""Run a compile as a module: `python -m hyperflow.compile FILE` is `hyperflow compile FILE`."""

import sys

from hyperflow.cli import entry

if __name__ == "__main__":
    sys.argv[1:1] = ["compile"]
    entry()
