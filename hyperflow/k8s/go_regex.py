"""Matching of Go (RE2) regular expressions in linear time, whatever the pattern."""

import functools
from collections.abc import Collection, Iterable

from hyperflow.k8s.go_regex_parser import (
    Assertion,
    CharSet,
    Choice,
    GoRegexError,
    Node,
    Repeat,
    Sequence,
    parse_go_regex,
)

MAX_STATES = 20_000
_MAX_CACHED_STEPS = 100_000
_MATCH = 0
_UNDECIDED = 1 << 60
_State = tuple[frozenset[int], str | None]


class GoRegex:
    """A compiled pattern: states with free moves between them, followed in parallel, each step remembered.

    State 0 is the match. A free move may carry an assertion.
    """

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self._moves: list[tuple[CharSet, int] | None] = [None]
        self._free: list[tuple[tuple[str, int], ...]] = [()]
        tree = parse_go_regex(pattern)
        self._start = self._add(tree, _MATCH)
        self.prefix = _literal_prefix(tree)
        self._anchored = isinstance(tree, Sequence) and tree.parts[:1] == (Assertion("start"),)
        self._steps: dict[tuple[_State, str | None], tuple[bool, _State]] = {}

    def search(self, text: str) -> bool:
        """Say whether the pattern matches anywhere in the text, as Go's MatchString does."""
        return bool(self.search_sorted([text], [0]))

    def search_sorted(self, texts: Collection[str], shared: Collection[int]) -> list[str]:
        """Give the texts that match; they come sorted, `shared` says how many characters each has of the one before.

        What is known of the shared characters is used again, so a pattern costs what its matches cost.
        """
        states: list[_State] = [(frozenset((self._start,)), None)]
        decided, verdict = _UNDECIDED, False
        matching: list[str] = []
        for text, length in zip(texts, shared, strict=True):
            if length < decided:
                del states[length + 1 :]
                decided, verdict = self._follow(text, states)
            if verdict:
                matching.append(text)
        return matching

    def _follow(self, text: str, states: list[_State]) -> tuple[int, bool]:
        """Go on from the last state; give after how many characters the answer is certain, and the answer."""
        for depth in range(len(states) - 1, len(text)):
            matched, state = self._remembered(states[-1], text[depth])
            if matched or not state[0]:
                return depth + 1, matched
            states.append(state)
        return _UNDECIDED, self._remembered(states[-1], None)[0]

    def _remembered(self, state: _State, character: str | None) -> tuple[bool, _State]:
        found = self._steps.get((state, character))
        if found is None:
            if len(self._steps) > _MAX_CACHED_STEPS:
                self._steps.clear()
            found = self._steps[state, character] = self._step(state, character)
        return found

    def _step(self, state: _State, character: str | None) -> tuple[bool, _State]:
        open_states, previous = state
        reached = set(open_states)
        waiting = list(open_states)
        while waiting:
            for assertion, target in self._free[waiting.pop()]:
                if target not in reached and _holds(assertion, previous, character):
                    reached.add(target)
                    waiting.append(target)
        if _MATCH in reached:
            return True, state
        moves = (self._moves[number] for number in reached)
        following = {move[1] for move in moves if move and character is not None and move[0].matches(character)}
        if not self._anchored:
            following.add(self._start)
        return False, (frozenset(following), character)

    def _new(self, move: tuple[CharSet, int] | None, free: Iterable[tuple[str, int]] = ()) -> int:
        if len(self._moves) >= MAX_STATES:
            raise GoRegexError("expression too large")
        self._moves.append(move)
        self._free.append(tuple(free))
        return len(self._moves) - 1

    def _add(self, node: Node, target: int) -> int:
        """Add the states that lead through a node to `target`; give the first."""
        if isinstance(node, CharSet):
            return self._new((node, target))
        if isinstance(node, Assertion):
            return self._new(None, [(node.kind, target)])
        if isinstance(node, Sequence):
            for part in reversed(node.parts):
                target = self._add(part, target)
            return target
        if isinstance(node, Choice):
            return self._new(None, [("", self._add(part, target)) for part in node.parts])
        return self._add_repeat(node, target)

    def _add_repeat(self, node: Repeat, target: int) -> int:
        if node.high is None:
            loop = self._new(None)
            first = self._add(node.part, loop)
            self._free[loop] = (("", first), ("", target))
            start = loop
        else:
            start = target
            for _ in range(node.high - node.low):
                start = self._new(None, [("", self._add(node.part, start)), ("", target)])
        for _ in range(node.low):
            start = self._add(node.part, start)
        return start


@functools.lru_cache(maxsize=4096)
def compile_go_regex(pattern: str) -> GoRegex:
    """Compile a pattern once; raises GoRegexError (a ValueError) for what Go refuses.

    >>> compile_go_regex(r"^node-(0[0-9]|1[0-5])$").search("node-12")
    True
    """
    return GoRegex(pattern)


def _holds(assertion: str, previous: str | None, following: str | None) -> bool:
    match assertion:
        case "start":
            return previous is None
        case "end":
            return following is None
        case "line-start":
            return previous in (None, "\n")
        case "line-end":
            return following in (None, "\n")
        case "word" | "no-word":
            return (_is_word(previous) != _is_word(following)) == (assertion == "word")
        case _:
            return True


def _is_word(character: str | None) -> bool:
    return character is not None and character.isascii() and (character.isalnum() or character == "_")


def _literal_prefix(tree: Node) -> str:
    """Give the text that every match at the start of a `^` pattern begins with."""
    parts = tree.parts if isinstance(tree, Sequence) else ()
    if not parts or parts[0] != Assertion("start"):
        return ""
    prefix = ""
    for part in parts[1:]:
        if not isinstance(part, CharSet) or part.fold or part.negated or part.parts or part.categories:
            break
        if len(part.ranges) != 1 or part.ranges[0][0] != part.ranges[0][1]:
            break
        prefix += part.ranges[0][0]
    return prefix
