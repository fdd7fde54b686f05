"""Reader and writer of calibration files."""

from pathlib import Path

import yaml

from hyperflow.catalog.calibration import calibration_document, parse_calibration
from hyperflow.errors import Finding, InputError
from hyperflow.inventory.documents import read_documents
from hyperflow.ir.calibration import Calibration
from hyperflow.json_tree import mapping


def read_calibration(path: str | Path) -> Calibration:
    """Read a calibration; raises InputError (HF101, HF102, HF604)."""
    documents = read_documents(path)
    try:
        if len(documents) != 1:
            raise ValueError(f"{len(documents)} documents, expected one")
        return parse_calibration(mapping(documents[0].value))
    except KeyError as error:
        trouble = f"{error.args[0]} is missing"
    except (TypeError, ValueError, AttributeError) as error:
        trouble = str(error)
    raise InputError(
        Finding(
            code="HF604",
            message=f"not a calibration file: {trouble}",
            where=str(path),
            expected="a file that hyperflow calibrate wrote",
            hint="hyperflow calibrate RUNS.csv -o FILE writes one",
        )
    )


def calibration_text(calibration: Calibration) -> str:
    """The calibration as the text of its file."""
    head = "# Written by hyperflow calibrate. Meaning of each constant: hyperflow/ir/calibration.py.\n"
    return head + yaml.safe_dump(calibration_document(calibration), sort_keys=False, width=110)
