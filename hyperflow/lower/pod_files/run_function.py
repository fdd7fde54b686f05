"""Runs in each process of a packed job: loads the packed source and calls its function with the given arguments."""

import json
import os
import runpy
import sys
from pathlib import Path


def main(folder: Path) -> None:
    """Call the packed function; its own errors come through with their traceback."""
    call = json.loads((folder / "arguments.json").read_text(encoding="utf-8"))
    names = runpy.run_path(str(folder / "packed_function.py"), run_name="hyperflow_packed")
    if not callable(names.get(call["name"])):
        sys.exit("hyperflow: the packed source defines no function {}".format(call["name"]))
    names[call["name"]](**call["arguments"])


if __name__ == "__main__":
    main(Path(os.environ["HF_LAUNCH_DIR"]))
