"""A typed view of one Hugging Face config: every look-up states what an absent key and what a null means.

Faults are collected as findings and a harmless value is returned in their place, so that one run names all of them.
"""

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

from hyperflow.errors import Finding, InputError
from hyperflow.json_tree import is_mapping, is_sequence, mapping

MAX_LAYERS = 10_000
MAX_SHAPE = 2**40
MAX_RATIO = 1e6


class ConfigView:
    """Look-ups in the mapping `values` of the config named `file`; `inside` is the key path of nested configs."""

    def __init__(
        self, values: Mapping[str, Any], *, file: str, inside: str = "", outer: Mapping[str, Any] | None = None
    ) -> None:
        self.values = values
        self.file = file
        self.inside = inside
        self.outer = outer or {}
        self.findings: list[Finding] = []
        self.used: set[str] = set()
        self.family = ""

    def present(self, *names: str) -> str | None:
        """The first of the names that has a value, else the first that the config has at all (a null)."""
        self.used.update(names)
        there = [name for name in names if name in self.values]
        return next((name for name in there if self.values[name] is not None), there[0] if there else None)

    def given(self, *names: str) -> bool:
        """Whether one of the names has a value that is not null."""
        self.used.update(names)
        return any(self.values.get(name) is not None for name in names)

    def count(
        self,
        *names: str,
        absent: int | None = None,
        null: int | None = None,
        class_default: int | None = None,
        least: int = 1,
        most: int = MAX_SHAPE,
    ) -> int:
        """A whole number under the first of the names that is present.

        Without `absent` the key must be there, without `null` it must not be null. `class_default` is the constant
        of the family's class for an absent key; its use is reported.
        """
        name = self.present(*names)
        if name is None:
            if class_default is not None:
                self.note_default(names[0], class_default)
                return class_default
            if absent is None:
                self.missing(names)
                return max(least, 1)
            return absent
        value = self.values[name]
        if value is None and null is not None:
            return null
        return self._whole(name, value, least, most)

    def optional(self, *names: str, least: int = 1) -> int | None:
        """A whole number, or None where the key is absent or null."""
        return self.count(*names, least=least) if self.given(*names) else None

    def layers(self, *names: str) -> int:
        """The number of layers, in a range that a model can have."""
        return self.count(*(names or ("num_hidden_layers",)), most=MAX_LAYERS)

    def flag(self, *names: str, absent: bool, null: bool = False) -> bool:
        """A truth value."""
        name = self.present(*names)
        if name is None:
            return absent
        value = self.values[name]
        if value is None:
            return null
        if isinstance(value, bool):
            return value
        self.wrong(name, value, "true or false")
        return absent

    def tied(self, absent: bool) -> bool:
        """tie_word_embeddings; the outer config of a nested one decides where it has the key."""
        if self.outer.get("tie_word_embeddings") is None:
            return self.flag("tie_word_embeddings", absent=absent)
        outer = ConfigView(self.outer, file=self.file)
        outer.findings = self.findings
        return outer.flag("tie_word_embeddings", absent=absent)

    def text(self, name: str, absent: str) -> str:
        """A text; null is the same as absent."""
        self.used.add(name)
        value = self.values.get(name)
        if value is None:
            return absent
        if not isinstance(value, str):
            self.wrong(name, value, "a text")
            return absent
        return value

    def numbers(self, name: str, length: int | None = None, least: int = 0) -> list[int]:
        """A list of whole numbers, of the given length where one is demanded."""
        return [
            self._whole(f"{name}[{i}]", value, least, MAX_SHAPE) for i, value in enumerate(self.items(name, length))
        ]

    def texts(self, name: str, length: int | None, one_of: Sequence[str]) -> list[str]:
        """A list of texts out of `one_of`."""
        found: list[str] = []
        for index, value in enumerate(self.items(name, length)):
            if isinstance(value, str) and value in one_of:
                found.append(value)
            else:
                self.add(
                    "HF155",
                    f"{name}[{index}] has a value that is not known",
                    got=repr(value),
                    expected=" or ".join(one_of),
                    key=name,
                )
                found.append(one_of[0])
        return found

    def items(self, name: str, length: int | None = None) -> list[Any]:
        """A list, of the demanded length; raises InputError at once when there is none, for nothing could follow."""
        self.used.add(name)
        value = self.values.get(name)
        if name not in self.values:
            self.missing((name,))
        elif not is_sequence(value):
            self.wrong(name, value, "a list")
        elif length is None or len(value) == length:
            return value
        else:
            self.add(
                "HF153",
                f"{name} has {len(value)} entries for {length} layers",
                got=f"{len(value)} entries",
                expected=f"{length} entries",
                key=name,
            )
        raise InputError(self.findings)

    def letters(self, name: str, length: int | None, known: Mapping[str, str]) -> str:
        """A text of known letters, one per layer; raises InputError at once when it cannot be followed."""
        self.used.add(name)
        value = self.values.get(name)
        if value is None:
            self.missing((name,))
        elif not isinstance(value, str):
            self.wrong(name, value, "a text")
        elif strange := sorted(set(value) - set(known)):
            self.add(
                "HF155",
                f"{name} has letters that are not known",
                got=repr("".join(strange)),
                expected="only " + ", ".join(f"{letter} ({kind})" for letter, kind in known.items()),
                key=name,
            )
        elif not value or length not in (None, len(value)):
            self.add(
                "HF153",
                f"{name} has {len(value)} entries for {length} layers",
                got=f"{len(value)} entries",
                expected=f"{length} entries",
                key=name,
            )
        else:
            return value
        raise InputError(self.findings)

    def ratio(self, name: str) -> float:
        """A positive number that need not be whole."""
        self.used.add(name)
        value = self.values.get(name)
        if name not in self.values:
            self.missing((name,))
        elif isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < MAX_RATIO:
            self.wrong(name, value, "a positive number")
        else:
            return float(value)
        return 1.0

    def part(self, name: str, index: int | None = None) -> "ConfigView":
        """The view of a nested mapping (an empty one where it is absent or null); findings go to the same list."""
        self.used.add(name)
        value = self.values.get(name)
        path = name
        if index is not None:
            value, path = value[index] if is_sequence(value) else None, f"{name}[{index}]"
        if value is not None and not is_mapping(value):
            self.wrong(path, value, "an object")
        inside = f"{self.inside}.{path}" if self.inside else path
        view = ConfigView(mapping(value), file=self.file, inside=inside)
        view.findings, view.family = self.findings, self.family
        return view

    @property
    def clean(self) -> bool:
        """Whether no error was found so far."""
        return not any(finding.severity == "error" for finding in self.findings)

    def require(self, holds: bool, key: str, message: str, hint: str = "") -> None:
        """Add a finding (HF156) when values that are right alone do not fit together."""
        if not holds and self.clean:
            self.add("HF156", message, key=key, got=repr(self.values.get(key)), hint=hint)

    def refuse(self, key: str, reason: str) -> None:
        """Add the finding (HF158) that the family is known but this value of `key` is not countable."""
        told = any(finding.code == "HF158" for finding in self.findings)
        self.add(
            "HF158",
            f"{self.family} with {key} is not supported: {reason}" if self.family else f"not supported: {reason}",
            key=key,
            got=_shown(self.values.get(key)),
            hint="" if told else WAY_OUT,
        )

    def missing(self, names: Sequence[str]) -> None:
        """Add the finding (HF150) of an absent key."""
        spelled = names[0] if len(names) == 1 else f"{names[0]} (also spelled {', '.join(names[1:])})"
        known = sorted(map(str, self.values))
        close = [match for name in names for match in difflib.get_close_matches(name, known, n=1, cutoff=0.85)]
        self.add(
            "HF150",
            f"{spelled} is missing",
            key=names[0],
            expected="a value",
            hint=f'did you mean "{close[0]}"?' if close else "take the whole config.json of the model",
        )

    def wrong(self, name: str, value: object, expected: str) -> None:
        """Add the finding (HF151) of a value of the wrong type."""
        self.add("HF151", f"{name} must be {expected}", got=_shown(value), expected=expected, key=name)

    def note_default(self, name: str, value: object) -> None:
        """Add the note (HF154) that a class default stands for an absent key."""
        self.add(
            "HF154",
            f"{name} is absent, the default of its class is used: {value}",
            key=name,
            severity="note",
            expected=str(value),
        )

    def note_mtp(self, key: str) -> None:
        """Add the note (HF165) that layers for multi-token prediction exist whose shape is not known."""
        self.add(
            "HF165",
            f"{key}: the layers for multi-token prediction are not counted, for their shape is not known",
            key=key,
            severity="note",
            got=_shown(self.values.get(key)),
        )

    def add(
        self,
        code: str,
        message: str,
        *,
        key: str,
        severity: Any = "error",
        got: str | None = None,
        expected: str | None = None,
        hint: str = "",
    ) -> None:
        """Add one finding at a key of this config."""
        path = f"{self.inside}.{key}" if self.inside else key
        where = f"{self.file}: {path}"
        finding = Finding(
            code=code, severity=severity, message=message, where=where, got=got, expected=expected, hint=hint
        )
        if finding not in self.findings:
            self.findings.append(finding)

    def finish(self) -> tuple[Finding, ...]:
        """Raise InputError when an error was found, else give the notes and warnings."""
        if not self.clean:
            raise InputError(self.findings)
        return tuple(self.findings)

    def _whole(self, name: str, value: object, least: int, most: int) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            self.wrong(name, value, "a whole number")
        elif not least <= value <= most:
            self.add(
                "HF152",
                f"{name} is out of range",
                got=_shown(value),
                key=name,
                expected=f"at least {least}" if value < least else f"at most {most}",
            )
        else:
            return value
        return max(least, 1)


WAY_OUT = (
    "give the layers by hand: hf.model(layers=[...], hidden=..., vocab=..., seq=...) with layer records of "
    "hyperflow.spec.model; see docs/how-to/add-a-model.md"
)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
