"""Collects the denials of the pod template rules, which look at many small fields."""

from collections.abc import Collection

from hyperflow.admission.problem import Path, Problem, denial
from hyperflow.admission.rules.job_view import VALIDATE_JOB
from hyperflow.errors import nearest
from hyperflow.json_tree import text


class Collector:
    """A list of denials under one error code, made by the webhook that validates jobs."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def deny(
        self, code: str, rule: str, path: Path, message: str, *, got: object = ..., expected: str = "", hint: str = ""
    ) -> None:
        """Add a denial."""
        self.problems.append(denial(code, rule, path, message, VALIDATE_JOB, got=got, expected=expected, hint=hint))

    def need(self, code: str, rule: str, path: Path, value: object) -> bool:
        """Deny an absent or empty value; give whether it is there."""
        if value in (None, "", 0):
            self.deny(code, rule, path, "required value is missing", expected="a value", hint=f"write {path[-1]}")
            return False
        return True

    def name(self, code: str, rule: str, path: Path, value: object, wrong: str) -> None:
        """Deny a name that a check of `admission.names` found wrong."""
        if wrong:
            self.deny(code, rule, path, wrong, got=value, hint="rename it")

    def one_of(self, code: str, rule: str, path: Path, value: object, known: Collection[str]) -> None:
        """Deny a value outside a set; absent and empty are fine."""
        if value not in (None, "") and value not in known:
            options = sorted(option for option in known if option)
            self.deny(
                code, rule, path, "unsupported value", got=value, expected="one of " + ", ".join(options),
                hint=nearest(text(value), options),
            )  # fmt: skip

    def between(self, code: str, rule: str, path: Path, value: object, low: int, high: int) -> None:
        """Deny a number outside a range; absent is fine."""
        if isinstance(value, int) and not isinstance(value, bool) and not low <= value <= high:
            self.deny(
                code, rule, path, "out of range", got=value, expected=f"{low} to {high}", hint="correct the number"
            )
