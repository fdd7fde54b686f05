"""Cells of a run table: numbers with findings by row and column, and the text behind a blank."""

from collections.abc import Mapping

from hyperflow.errors import Finding

LARGEST = 1e12


class Cells:
    """One row of a run table; collects a finding for each cell that cannot be read."""

    def __init__(self, file: str, row: int, values: Mapping[str, str]) -> None:
        self.row = row
        self.findings: list[Finding] = []
        self._file = file
        self._values = values

    def place(self, column: str) -> str:
        """Where a cell is, as findings say it."""
        return f"{self._file}: row {self.row}, column {column}"

    def text(self, column: str) -> str:
        """The cell without blanks around it; empty where the column is absent."""
        return (self._values.get(column) or "").strip()

    def number(self, column: str, *, least: float = 0.0) -> float | None:
        """A number from `least` to LARGEST; None for a blank cell, and for a bad one, which leaves a finding."""
        if not (shown := self.text(column)):
            return None
        try:
            value = float(shown)
        except ValueError:
            self.refuse(column, shown, "a number")
            return None
        if not least <= value <= LARGEST:
            self.refuse(column, shown, f"a number from {least:g} to {LARGEST:g}")
            return None
        return value

    def quantity(self, column: str) -> float | None:
        """A number above zero; None for a blank or bad cell."""
        value = self.number(column)
        if value == 0:
            self.refuse(column, self.text(column), "a number above 0")
            return None
        return value

    def whole(self, column: str, *, least: int = 1, most: float = LARGEST) -> int | None:
        """A whole number from `least` to `most`; None for a blank or bad cell."""
        value = self.number(column, least=least)
        if value is None:
            return None
        if value > most:
            self.refuse(column, self.text(column), f"at most {most:g}")
            return None
        if value != int(value):
            self.refuse(column, self.text(column), "a whole number")
            return None
        return int(value)

    def flag(self, column: str) -> bool | None:
        """0 or 1; None for a blank or bad cell."""
        shown = self.text(column)
        if shown not in ("", "0", "1"):
            self.refuse(column, shown, "0 or 1")
            return None
        return shown == "1" if shown else None

    def choice(self, column: str, known: tuple[str, ...]) -> str | None:
        """One of the known words; None for a blank or bad cell."""
        shown = self.text(column).lower()
        if shown and shown not in known:
            self.refuse(column, shown, " or ".join(known))
            return None
        return shown or None

    def refuse(self, column: str, shown: str, expected: str) -> None:
        """Leave a finding on a cell."""
        self.findings.append(
            Finding(
                code="HF601",
                message=f"column {column} holds {shown!r}, expected {expected}",
                where=self.place(column),
                got=shown,
                expected=expected,
                hint="correct the cell or leave it blank; the other rows are evaluated",
            )
        )
