"""Run a compile as a module: `python -m hyperflow.compile FILE`."""
