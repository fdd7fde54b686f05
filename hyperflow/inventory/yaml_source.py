"""YAML text as Kubernetes clients read it: split at document marks, keys once, aliases bounded, positions on demand.

Scalars follow go-yaml through sigs.k8s.io/yaml: dates stay text, 1e3 is a number, 22:22 is not, keys are text.
"""

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import yaml

from hyperflow.json_tree import is_mapping, is_sequence

MAX_VALUES = 2_000_000
_MARK = re.compile(r"^---(?=\s|$)|^\.\.\.(?=\s|$)", re.MULTILINE)
_TEMPLATE = re.compile(
    r"\{\{-?\s*(?:\.(?:Values|Release|Chart|Capabilities|Files|Template)\b|(?:include|toYaml|tpl)\s)"
)
_ANY_BRACES = re.compile(r"\{\{|\{%")
_FLOAT = re.compile(
    r"""^(?:[-+]?(?:\.[0-9]+|[0-9]+\.[0-9]*)(?:[eE][-+]?[0-9]+)?|[-+]?[0-9]+[eE][-+]?[0-9]+
    |[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$""",
    re.VERBOSE,
)
_INTEGER = re.compile(r"^[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0o?[0-7_]+|0|[1-9][0-9_]*)$")

Kind = Literal["syntax", "tab", "twice", "aliases", "template"]


@dataclass(frozen=True, kw_only=True)
class Chunk:
    """The text of one document and the line of the file at which it begins."""

    text: str
    first_line: int

    def row(self, line: int) -> str:
        """Give one line of the text, counted from 1."""
        return self.rows[line - 1] if line <= len(self.rows) else ""

    @functools.cached_property
    def rows(self) -> list[str]:
        """The lines of the text."""
        return self.text.splitlines()


class UnreadableText(Exception):
    """A chunk that gives no document; `line` and `column` count from 1 inside the chunk."""

    def __init__(self, kind: Kind, message: str, line: int = 1, column: int = 1, first_line: int = 1) -> None:
        super().__init__(message)
        self.kind: Kind = kind
        self.message = message
        self.line = line
        self.column = column
        self.first_line = first_line


_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_Base):
    """Builds values from nodes, with the scalars of go-yaml."""

    yaml_implicit_resolvers = {
        first: [
            (tag, pattern)
            for tag, pattern in resolvers
            if tag not in ("tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:float", "tag:yaml.org,2002:int")
        ]
        for first, resolvers in _Base.yaml_implicit_resolvers.items()
    }


_Loader.add_implicit_resolver("tag:yaml.org,2002:int", _INTEGER, list("-+0123456789"))
_Loader.add_implicit_resolver("tag:yaml.org,2002:float", _FLOAT, list("-+0123456789."))


def _integer(loader: Any, node: yaml.ScalarNode) -> int:
    value = loader.construct_scalar(node).replace("_", "")
    sign = -1 if value.startswith("-") else 1
    digits = value.lstrip("+-").lower()
    if digits.startswith(("0x", "0b", "0o")):
        return sign * int(digits, 0)
    return sign * (int(digits, 8) if len(digits) > 1 and digits.startswith("0") else int(digits))


def _number(loader: Any, node: yaml.ScalarNode) -> float:
    value = loader.construct_scalar(node).lower()
    return float(value.replace(".inf", "inf").replace(".nan", "nan"))


_Loader.add_constructor("tag:yaml.org,2002:int", _integer)
_Loader.add_constructor("tag:yaml.org,2002:float", _number)


def chunks_of(content: str) -> Iterator[Chunk]:
    """Split text at its document marks; stretches of blanks and comments alone are left out."""
    begin, line = 0, 1
    for match in [*_MARK.finditer(content), None]:
        end = match.start() if match else len(content)
        piece = content[begin:end]
        if any(row.strip() and not row.lstrip().startswith(("#", "%")) for row in piece.splitlines()):
            yield Chunk(text=piece, first_line=line)
        line += piece.count("\n")
        if match:
            begin = match.end()


def load_chunk(chunk: Chunk, *, refuse_templates: bool = False) -> list[Any]:
    """Give the documents of a chunk; raises UnreadableText, for templates that happen to be YAML when told to."""
    template = _TEMPLATE.search(chunk.text)
    if template and refuse_templates:
        raise _at("template", template[0], chunk.text, template.start())
    loader = None
    try:
        loader = _Loader(chunk.text)
        values: list[Any] = []
        while loader.check_node():
            node = loader.get_node()
            _check_nodes(node)
            value = loader.construct_document(node)
            if value is not None:
                values.append(_with_text_keys(value))
    except yaml.MarkedYAMLError as error:
        raise _syntax(error, chunk) from error
    except (yaml.YAMLError, ValueError, RecursionError, TypeError) as error:
        raise UnreadableText("syntax", str(error).splitlines()[0]) from error
    finally:
        if loader is not None:
            loader.dispose()
    return values


def _syntax(error: yaml.MarkedYAMLError, chunk: Chunk) -> UnreadableText:
    braces = _ANY_BRACES.search(chunk.text)
    if braces:
        return _at(
            "template", chunk.text[braces.start() : braces.start() + 30].split("\n")[0], chunk.text, braces.start()
        )
    mark = error.problem_mark or error.context_mark
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    row = chunk.text.splitlines()[line - 1 : line]
    tab = bool(row) and "\t" in row[0][: len(row[0]) - len(row[0].lstrip())]
    return UnreadableText("tab" if tab else "syntax", error.problem or "not YAML", line, column)


def _at(kind: Kind, message: str, content: str, index: int) -> UnreadableText:
    line = content.count("\n", 0, index) + 1
    return UnreadableText(kind, message, line, index - content.rfind("\n", 0, index))


def _check_nodes(root: yaml.Node) -> None:
    """Refuse keys that stand twice, and aliases that unfold to too much or to themselves."""
    sizes: dict[int, int] = {}
    open_nodes: set[int] = set()

    def size(node: yaml.Node) -> int:
        known = sizes.get(id(node))
        if known is not None:
            return known
        if isinstance(node, yaml.ScalarNode):
            return 1
        if id(node) in open_nodes:
            raise _over(node)
        open_nodes.add(id(node))
        total = 1
        if isinstance(node, yaml.MappingNode):
            _check_keys(node)
            for _, value in node.value:
                total += 1 + size(value)
        elif isinstance(node, yaml.SequenceNode):
            for value in node.value:
                total += size(value)
        open_nodes.discard(id(node))
        if total > MAX_VALUES:
            raise _over(node)
        sizes[id(node)] = total
        return total

    size(root)


def _over(node: yaml.Node) -> UnreadableText:
    mark = node.start_mark
    return UnreadableText("aliases", f"{MAX_VALUES:,}", mark.line + 1, mark.column + 1)


def _check_keys(node: yaml.MappingNode) -> None:
    seen: dict[str, int] = {}
    for key, _ in node.value:
        if isinstance(key, yaml.ScalarNode) and key.tag != "tag:yaml.org,2002:merge":
            if key.value in seen:
                error = UnreadableText("twice", key.value, key.start_mark.line + 1, key.start_mark.column + 1)
                error.first_line = seen[key.value] + 1
                raise error
            seen[key.value] = key.start_mark.line


def _with_text_keys(value: Any) -> Any:
    """Make keys text, as JSON needs them; works in place, each shared part once."""
    done: set[int] = set()
    waiting: list[Any] = [value]
    while waiting:
        item = waiting.pop()
        if id(item) in done:
            continue
        if is_mapping(item):
            done.add(id(item))
            keys: list[Any] = list(item)
            for key in keys:
                if not isinstance(key, str):
                    item[_key_text(key)] = item.pop(key)
            waiting.extend(item.values())
        elif is_sequence(item):
            done.add(id(item))
            waiting.extend(item)
    return value


def _key_text(key: object) -> str:
    if key is None:
        return "null"
    return str(key).lower() if isinstance(key, bool) else str(key)


def position_in_yaml(content: str, path: Sequence[str | int]) -> tuple[int, int, int]:
    """Give line, column and width of a field, from 1: of its key in a mapping, of the item in a list.

    A field that is not there gives the nearest parent.
    """
    node = _tree(content)
    place = node
    for step in path:
        found = _child(node, step)
        if found is None:
            break
        place, node = found
    mark = place.start_mark
    same_line = place.end_mark.line == mark.line
    width = place.end_mark.column - mark.column if isinstance(place, yaml.ScalarNode) and same_line else 1
    return mark.line + 1, mark.column + 1, max(1, width)


@functools.lru_cache(maxsize=1)
def _tree(content: str) -> yaml.Node:
    """Parse the text into nodes; the last one is kept, because findings come in a row."""
    loader = _Loader(content)
    try:
        return loader.get_single_node()
    finally:
        loader.dispose()


def _child(node: yaml.Node, step: str | int) -> tuple[yaml.Node, yaml.Node] | None:
    """Give the node to point at and the node to walk on from; merged keys are followed."""
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int):
        return (node.value[step], node.value[step]) if step < len(node.value) else None
    if not isinstance(node, yaml.MappingNode):
        return None
    for key, value in node.value:
        if isinstance(key, yaml.ScalarNode) and key.value == step:
            return key, value
    for key, value in node.value:
        if isinstance(key, yaml.ScalarNode) and key.tag == "tag:yaml.org,2002:merge":
            parts = value.value if isinstance(value, yaml.SequenceNode) else [value]
            for part in parts:
                found = _child(part, step)
                if found:
                    return found
    return None
