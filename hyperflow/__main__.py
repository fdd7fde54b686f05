"""`python -m hyperflow VERB` is the console script `hyperflow VERB`."""

from hyperflow.cli import entry

if __name__ == "__main__":
    entry()
