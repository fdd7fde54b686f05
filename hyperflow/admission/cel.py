"""A small evaluator for the CEL rules that CRDs of this field carry: has(), size(), logic, comparison, sums.

Source of the language: github.com/google/cel-spec. A rule that uses more raises `UnknownExpression`; the judge then
says that the rule was not evaluated.
"""

import operator
import re
from collections.abc import Callable
from typing import Any

from hyperflow.json_tree import is_mapping

_TOKEN = re.compile(r"\s*(\d+|[A-Za-z_]\w*|'[^']*'|\"[^\"]*\"|&&|\|\||[=!<>]=|[()!?:<>+\-.])")
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class UnknownExpression(ValueError):
    """The rule uses a part of CEL that is not evaluated here."""


def holds(rule: str, value: object) -> bool:
    """Say whether the rule holds with `self` as the value.

    >>> holds("has(self.a) || has(self.b)", {"b": 1})
    True
    """
    parser = _Parser(_tokens(rule), value)
    result = parser.ternary()
    if parser.position != len(parser.tokens):
        raise UnknownExpression(rule)
    return bool(result)


def _tokens(rule: str) -> list[str]:
    tokens: list[str] = []
    position = 0
    content = rule.strip()
    while position < len(content):
        match = _TOKEN.match(content, position)
        if match is None:
            raise UnknownExpression(rule)
        tokens.append(match[1])
        position = match.end()
    return tokens


class _Parser:
    def __init__(self, tokens: list[str], this: object) -> None:
        self.tokens = tokens
        self.position = 0
        self._this = this

    def ternary(self) -> Any:
        condition = self._either()
        if not self._take("?"):
            return condition
        first = self.ternary()
        self._need(":")
        second = self.ternary()
        return first if condition else second

    def _either(self) -> Any:
        value = self._both()
        while self._take("||"):
            other = self._both()
            value = bool(value) or bool(other)
        return value

    def _both(self) -> Any:
        value = self._compared()
        while self._take("&&"):
            other = self._compared()
            value = bool(value) and bool(other)
        return value

    def _compared(self) -> Any:
        left = self._sum()
        for sign, compare in _COMPARISONS.items():
            if self._take(sign):
                right = self._sum()
                try:
                    return compare(left, right)
                except TypeError as error:
                    raise UnknownExpression(str(error)) from error
        return left

    def _sum(self) -> Any:
        value = self._unary()
        while self._peek() in ("+", "-"):
            sign = self.tokens[self.position]
            self.position += 1
            other = self._unary()
            try:
                value = value + other if sign == "+" else value - other
            except TypeError as error:
                raise UnknownExpression(str(error)) from error
        return value

    def _unary(self) -> Any:
        if self._take("!"):
            return not self._unary()
        if self._take("("):
            value = self.ternary()
            self._need(")")
            return value
        token = self._next()
        if token.isdigit():
            return int(token)
        if token[0] in "'\"":
            return token[1:-1]
        if token in ("true", "false"):
            return token == "true"
        if token in ("has", "size"):
            return self._call(token)
        if token == "self":
            return self._select()[0]
        raise UnknownExpression(token)

    def _call(self, function: str) -> Any:
        self._need("(")
        self._need("self")
        value, present = self._select()
        self._need(")")
        if function == "has":
            return present
        try:
            return len(value)
        except TypeError as error:
            raise UnknownExpression(str(error)) from error

    def _select(self) -> tuple[Any, bool]:
        value, present = self._this, True
        while self._take("."):
            name = self._next()
            present = is_mapping(value) and name in value
            value = value[name] if is_mapping(value) and present else None
        return value, present

    def _peek(self) -> str:
        return self.tokens[self.position] if self.position < len(self.tokens) else ""

    def _next(self) -> str:
        token = self._peek()
        if not token:
            raise UnknownExpression("the rule ends early")
        self.position += 1
        return token

    def _take(self, token: str) -> bool:
        if self._peek() != token:
            return False
        self.position += 1
        return True

    def _need(self, token: str) -> None:
        if not self._take(token):
            raise UnknownExpression(f"{token} expected")
