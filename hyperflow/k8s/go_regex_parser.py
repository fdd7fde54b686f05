"""Parsing of Go (RE2) regular expressions, which HyperNode selectors use, into a small syntax tree.

Python's `re` accepts much that Go refuses (lookaround, backreferences) and reads some texts differently (`$`, `{,3}`,
`\\d`), so neither checking nor matching can be left to it. The syntax is that of https://pkg.go.dev/regexp/syntax.
"""

import unicodedata
from dataclasses import dataclass, replace

MAX_REPEAT = 1000
_FLAGS = "imsU"
_POSIX = {
    "alnum": "09AZaz", "alpha": "AZaz", "ascii": "\x00\x7f", "blank": "\t\t  ", "cntrl": "\x00\x1f\x7f\x7f",
    "digit": "09", "graph": "!~", "lower": "az", "print": " ~", "punct": "!/:@[`{~", "space": "\t\r  ",
    "upper": "AZ", "word": "09AZaz__", "xdigit": "09AFaf",
}  # fmt: skip
_PERL = {"d": "09", "w": "09AZaz__", "s": "\t\n\f\r  "}
_CONTROL = {"a": "\a", "f": "\f", "t": "\t", "n": "\n", "r": "\r", "v": "\v"}
_ASSERTIONS = {"b": "word", "B": "no-word", "A": "start", "z": "end"}


class GoRegexError(ValueError):
    """The text is not a regular expression that Go accepts."""


@dataclass(frozen=True, slots=True)
class CharSet:
    """Characters: inclusive ranges, Unicode categories, and nested sets; `negated` turns the whole round."""

    ranges: tuple[tuple[str, str], ...] = ()
    categories: tuple[str, ...] = ()
    parts: tuple["CharSet", ...] = ()
    negated: bool = False
    fold: bool = False

    def matches(self, character: str) -> bool:
        """Say whether the set holds the character."""
        forms = {character, character.lower(), character.upper()} if self.fold else {character}
        return any(self._holds(form) for form in forms if len(form) == 1) != self.negated

    def _holds(self, character: str) -> bool:
        return (
            any(low <= character <= high for low, high in self.ranges)
            or any(part.matches(character) for part in self.parts)
            or (bool(self.categories) and unicodedata.category(character).startswith(self.categories))
        )


@dataclass(frozen=True, slots=True)
class Sequence:
    """Parts one after the other; none of them is the empty text."""

    parts: tuple["Node", ...] = ()


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several."""

    parts: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """A part `low` to `high` times (None: without end)."""

    part: "Node"
    low: int
    high: int | None


@dataclass(frozen=True, slots=True)
class Assertion:
    """A place: start, end, line-start, line-end, word or no-word."""

    kind: str


Node = CharSet | Sequence | Choice | Repeat | Assertion


@dataclass(frozen=True, slots=True)
class _Flags:
    i: bool = False
    m: bool = False
    s: bool = False
    U: bool = False


def parse_go_regex(pattern: str) -> Node:
    """Parse a pattern; raises GoRegexError with the reason as Go words it."""
    parser = _Parser(pattern)
    node = parser.alternatives()
    if parser.rest:
        raise GoRegexError(f"unexpected ) in {pattern!r}")
    return node


class _Parser:
    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0
        self.flags = _Flags()
        self.depth = 0

    @property
    def rest(self) -> str:
        return self.pattern[self.at : self.at + 1]

    def take(self, text: str) -> bool:
        if self.pattern.startswith(text, self.at):
            self.at += len(text)
            return True
        return False

    def next(self, missing: str) -> str:
        if not self.rest:
            raise GoRegexError(missing)
        self.at += 1
        return self.pattern[self.at - 1]

    def alternatives(self) -> Node:
        choices = [self.sequence()]
        while self.take("|"):
            choices.append(self.sequence())
        return choices[0] if len(choices) == 1 else Choice(tuple(choices))

    def sequence(self) -> Node:
        parts: list[Node] = []
        repeated = False
        while self.rest and self.rest not in "|)":
            bounds = self.repetition()
            if bounds is None:
                before = self.at
                parts += self.atom()
                repeated = False
                if self.at == before:
                    break
            elif repeated:
                raise GoRegexError(f"invalid nested repetition operator in {self.pattern!r}")
            elif not parts:
                raise GoRegexError(f"missing argument to repetition operator in {self.pattern!r}")
            else:
                parts[-1] = Repeat(parts[-1], *bounds)
                repeated = True
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def repetition(self) -> tuple[int, int | None] | None:
        start = self.at
        bounds: tuple[int, int | None] | None = None
        for sign, pair in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self.take(sign):
                bounds = pair
                break
        if bounds is None and self.take("{"):
            low = self.digits()
            high: int | None = low
            if low is not None and self.take(","):
                high = self.digits()
            if low is None or not self.take("}"):
                self.at = start
                return None
            if low > MAX_REPEAT or (high or 0) > MAX_REPEAT or (high is not None and high < low):
                raise GoRegexError(f"invalid repeat count {self.pattern[start : self.at]!r}")
            bounds = (low, high)
        if bounds is not None:
            self.take("?")
        return bounds

    def digits(self) -> int | None:
        start = self.at
        while self.rest and self.rest in "0123456789" and self.at - start < 6:
            self.at += 1
        return int(self.pattern[start : self.at]) if self.at > start else None

    def atom(self) -> list[Node]:
        character = self.next("empty")
        if character == "(":
            return self.group()
        if character == "[":
            return [self.bracket()]
        if character == "\\":
            return self.escape()
        if character == ".":
            return [CharSet(negated=True) if self.flags.s else CharSet((("\n", "\n"),), negated=True)]
        if character == "^":
            return [Assertion("line-start" if self.flags.m else "start")]
        if character == "$":
            return [Assertion("line-end" if self.flags.m else "end")]
        return [self.literal(character)]

    def literal(self, character: str) -> CharSet:
        return CharSet(((character, character),), fold=self.flags.i)

    def group(self) -> list[Node]:
        self.depth += 1
        if self.depth > 200:
            raise GoRegexError("expression nests too deeply")
        outer = self.flags
        if self.take("?"):
            if self.take("P<") or self.take("<"):
                self.group_name()
            elif self.set_flags():
                self.depth -= 1
                return []
        node = self.alternatives()
        if not self.take(")"):
            raise GoRegexError(f"missing closing ) in {self.pattern!r}")
        self.flags = outer
        self.depth -= 1
        return [node]

    def group_name(self) -> None:
        end = self.pattern.find(">", self.at)
        name = self.pattern[self.at : end] if end >= 0 else ""
        if not name or not all(c.isalnum() or c == "_" for c in name):
            raise GoRegexError(f"invalid or unsupported Perl syntax in {self.pattern!r}: Go has no lookaround")
        self.at = end + 1

    def set_flags(self) -> bool:
        """Read `(?flags)` or `(?flags:`; say whether the group is already closed."""
        value, seen = True, False
        while True:
            character = self.next(f"missing closing ) in {self.pattern!r}")
            if character in _FLAGS:
                self.flags = replace(self.flags, **{character: value})
                seen = True
            elif character == "-" and value:
                value, seen = False, False
            elif character in ":)" and (value or seen):
                return character == ")"
            else:
                raise GoRegexError(f"invalid or unsupported Perl syntax in {self.pattern!r}: Go has no lookaround")

    def escape(self) -> list[Node]:
        if self.take("Q"):
            end = self.pattern.find("\\E", self.at)
            end = len(self.pattern) if end < 0 else end
            text, self.at = self.pattern[self.at : end], min(end + 2, len(self.pattern))
            return [self.literal(character) for character in text]
        character = self.next("trailing backslash at end of expression")
        if character in _ASSERTIONS:
            return [Assertion(_ASSERTIONS[character])]
        named = self.named_set(character)
        if named is not None:
            return [named]
        return [self.literal(self.escaped_character(character))]

    def named_set(self, character: str) -> CharSet | None:
        """Give the set of `\\d`, `\\W`, `\\pL`, `\\P{Greek}` and the like, None for another escape."""
        if character.lower() in _PERL:
            return CharSet(_pairs(_PERL[character.lower()]), negated=character.isupper())
        if character not in "pP":
            return None
        name = self.next("invalid character class range")
        if name == "{":
            end = self.pattern.find("}", self.at)
            name, self.at = self.pattern[self.at : end], end + 1
            if end < 0:
                raise GoRegexError("invalid character class range: missing }")
        negated = (character == "P") != name.startswith("^")
        name = name.removeprefix("^")
        if name == "Any":
            return CharSet(negated=not negated)
        if name == "Latin":
            return CharSet(_pairs("AZaz"), negated=negated)
        if not name.isalpha() or not name[0].isupper():
            raise GoRegexError(f"invalid character class range: \\p{{{name}}}")
        # Scripts other than Latin hold no character that a Kubernetes name may have.
        return CharSet(categories=(name,) if len(name) <= 2 else (), negated=negated)

    def escaped_character(self, character: str) -> str:
        if character in _CONTROL:
            return _CONTROL[character]
        if character == "x":
            return self.hexadecimal()
        if character in "01234567":
            digits = character
            while len(digits) < 3 and self.rest and self.rest in "01234567":
                digits += self.next("")
            if character != "0" and len(digits) == 1:
                raise GoRegexError(f"invalid escape sequence \\{character}: Go has no backreferences")
            return chr(int(digits, 8))
        if ord(character) < 128 and not character.isalnum():
            return character
        raise GoRegexError(f"invalid escape sequence \\{character}")

    def hexadecimal(self) -> str:
        if self.take("{"):
            end = self.pattern.find("}", self.at)
            digits, self.at = self.pattern[self.at : end], end + 1
        else:
            digits, self.at = self.pattern[self.at : self.at + 2], self.at + 2
            if len(digits) < 2:
                digits = ""
        if not digits or len(digits) > 6 or set(digits) - set("0123456789abcdefABCDEF") or int(digits, 16) > 0x10FFFF:
            raise GoRegexError("invalid escape sequence \\x")
        return chr(int(digits, 16))

    def bracket(self) -> CharSet:
        missing = f"missing closing ] in {self.pattern!r}"
        negated = self.take("^")
        ranges: list[tuple[str, str]] = []
        parts: list[CharSet] = []
        first = True
        while first or not self.take("]"):
            first = False
            if self.take("[:"):
                parts.append(self.posix())
                continue
            low = self.next(missing)
            if low == "\\":
                escaped = self.next(missing)
                named = self.named_set(escaped)
                if named is not None:
                    parts.append(named)
                    continue
                low = self.escaped_character(escaped)
            high = low
            if self.rest == "-" and self.pattern[self.at + 1 : self.at + 2] not in ("]", ""):
                self.at += 1
                high = self.next(missing)
                if high == "\\":
                    high = self.escaped_character(self.next(missing))
            if high < low:
                raise GoRegexError(f"invalid character class range {low}-{high}")
            ranges.append((low, high))
        return CharSet(tuple(ranges), parts=tuple(parts), negated=negated, fold=self.flags.i)

    def posix(self) -> CharSet:
        end = self.pattern.find(":]", self.at)
        name = self.pattern[self.at : max(end, self.at)]
        negated = name.startswith("^")
        if name.removeprefix("^") not in _POSIX:
            raise GoRegexError(f"invalid character class range [:{name}:]")
        self.at = end + 2
        return CharSet(_pairs(_POSIX[name.removeprefix("^")]), negated=negated)


def _pairs(text: str) -> tuple[tuple[str, str], ...]:
    return tuple((text[i], text[i + 1]) for i in range(0, len(text), 2))
