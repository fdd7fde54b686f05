"""Reading of files: text, and the YAML or JSON documents in it."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hyperflow.errors import Finding, InputError, SourceSpan
from hyperflow.inventory.json_source import duplicate_keys, item_starts, position_in_json
from hyperflow.inventory.yaml_source import Chunk, UnreadableText, chunks_of, load_chunk, position_in_yaml
from hyperflow.json_tree import mapping, sequence, text

FieldPath = tuple[str | int, ...]
_LONGEST_ROW = 500

MAX_FLOW_YAML = 5_000_000
"""Larger texts in braces are taken to be JSON: YAML takes minutes to say that a truncated node list is broken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentSource:
    """Where a document stands in its file: the text it was read from, and the path to it inside a List."""

    chunk: Chunk
    prefix: FieldPath = ()
    json_begin: int | None = None

    def span(self, file: str, path: FieldPath = ()) -> SourceSpan:
        """Give the position of a field, or of the nearest parent that is there; the text is parsed again for it."""
        content = self.chunk.text
        if self.json_begin is not None:
            line, column, width = position_in_json(content, path, self.json_begin)
        else:
            line, column, width = position_in_yaml(content, (*self.prefix, *path))
        return SourceSpan(
            file=file,
            line=line + self.chunk.first_line - 1,
            column=column,
            width=width,
            text=self.chunk.row(line)[:_LONGEST_ROW],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One document of a file; `index` counts from 0 in file order, items of Lists included."""

    file: str
    index: int
    value: Any
    source: DocumentSource | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadDocument:
    """A stretch of a file that is no document: a template, or text with an error."""

    file: str
    index: int
    finding: Finding
    is_template: bool = False


def read_text(path: str | Path) -> str:
    """Read a UTF-8 file, or standard input for `-`; raises InputError (HF101) when it is absent or not text."""
    try:
        if str(path) == "-":
            with open(0, encoding="utf-8-sig", closefd=False) as stream:
                return stream.read()
        return Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        reason = error.strerror or str(error)
    except UnicodeDecodeError as error:
        reason = f"byte {error.start} is not UTF-8"
    except ValueError as error:  # a path with a null byte
        reason = str(error)
    raise InputError(
        Finding(
            code="HF101", message=f"cannot read {path}: {reason}", where=str(path), hint="give a readable text file"
        )
    )


def read_documents(path: str | Path) -> list[Document]:
    """Read all YAML or JSON documents of a file, with the items of Kubernetes Lists as documents of their own.

    Raises InputError: HF101 for an unreadable file, HF102 for text that does not parse, HF801 for a key that stands
    twice, HF802 for aliases that unfold without end. JSON is taken as Python's reader takes it, the last key wins.
    """
    return parse_documents(read_text(path), str(path))


def parse_documents(content: str, file: str) -> list[Document]:
    """Parse text as `read_documents` does; `file` names it in findings."""
    if _looks_like_json(content):
        try:
            values = _flattened(json.loads(content))
            return [Document(file=file, index=i, value=value) for i, (_, value) in enumerate(values)]
        except json.JSONDecodeError as error:
            if len(content) > MAX_FLOW_YAML:
                place = f"{file}:{error.lineno}:{error.colno}"
                raise InputError(_not_parsed(error.msg, place, "the file must be YAML or JSON")) from None
        except (ValueError, RecursionError):
            pass  # flow-style YAML also starts so; the YAML reader tells what is wrong
    documents: list[Document] = []
    for found in _scan_yaml(content, file, refuse_templates=False):
        if isinstance(found, UnreadDocument):
            raise InputError(_template_refused(found.finding) if found.is_template else found.finding)
        documents.append(found)
    return documents


def scan_documents(path: str | Path) -> Iterator[Document | UnreadDocument]:
    """Read the documents of a file one by one, with their positions; what cannot be read does not stop the rest.

    Keys that stand twice are found in JSON too. Raises InputError (HF101) for an unreadable file.
    """
    content = read_text(path)
    if not _looks_like_json(content):
        yield from _scan_yaml(content, str(path))
        return
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        yield from _scan_yaml(content, str(path))
        return
    twice = duplicate_keys(content)
    chunk = Chunk(text=content, first_line=1)
    if twice:
        first, second, key = twice[0]
        yield UnreadDocument(file=str(path), index=0, finding=_twice(str(path), key, first, second, chunk))
        return
    items = _flattened(value)
    begins = item_starts(content, "items") if items and items[0][0] else [0]
    for index, (prefix, item) in enumerate(items):
        source = DocumentSource(chunk=chunk, prefix=prefix, json_begin=begins[index])
        yield Document(file=str(path), index=index, value=item, source=source)


def _looks_like_json(content: str) -> bool:
    return content[:100].lstrip().startswith(("{", "[")) and not content.lstrip().startswith("{{")


def _flattened(value: Any) -> list[tuple[FieldPath, Any]]:
    if text(mapping(value).get("kind")).endswith("List") and "items" in mapping(value):
        return [(("items", number), item) for number, item in enumerate(sequence(value["items"]))]
    return [((), value)]


def _scan_yaml(content: str, file: str, *, refuse_templates: bool = True) -> Iterator[Document | UnreadDocument]:
    index = 0
    for chunk in chunks_of(content):
        try:
            values = load_chunk(chunk, refuse_templates=refuse_templates)
        except UnreadableText as problem:
            yield UnreadDocument(
                file=file,
                index=index,
                finding=_unreadable(file, problem, chunk),
                is_template=problem.kind == "template",
            )
            index += 1
            continue
        for value in values:
            for prefix, item in _flattened(value):
                source = DocumentSource(chunk=chunk, prefix=prefix) if len(values) == 1 else None
                yield Document(file=file, index=index, value=item, source=source)
                index += 1


def _unreadable(file: str, problem: UnreadableText, chunk: Chunk) -> Finding:
    if problem.kind == "twice":
        return _twice(file, problem.message, problem.first_line, problem.line, chunk)
    where = f"{file}:{problem.line + chunk.first_line - 1}:{problem.column}"
    if problem.kind == "template":
        return Finding(
            code="HF803",
            severity="note",
            message="this is a template, not a document: not judged",
            where=where,
            got=problem.message,
            hint="judge what it renders to: helm template CHART | hyperflow lint /dev/stdin",
        )
    if problem.kind == "aliases":
        return Finding(
            code="HF802",
            message=f"aliases unfold to more than {problem.message} values",
            where=where,
            hint="write the values out, or fewer of them",
        )
    hint = "the file must be YAML or JSON"
    if problem.kind == "tab":
        hint = "YAML is indented with blanks: replace the tabs"
    return _not_parsed(problem.message, where, hint)


def _not_parsed(problem: str, where: str, hint: str) -> Finding:
    return Finding(code="HF102", message=f"cannot parse: {problem}", where=where, hint=hint)


def _template_refused(finding: Finding) -> Finding:
    """A template where data is needed is an error; only lint passes templates over."""
    return Finding(
        code="HF102",
        message="cannot parse: this is no document, or a template of one",
        where=finding.where,
        got=finding.got,
        expected="YAML or JSON",
        hint="close what is opened; of a template, give what it renders to",
    )


def _twice(file: str, key: str, first: int, second: int, chunk: Chunk) -> Finding:
    lines = (first + chunk.first_line - 1, second + chunk.first_line - 1)
    return Finding(
        code="HF801",
        message=f"the key {key} stands twice, in lines {lines[0]} and {lines[1]}: servers deny it, or take the last",
        where=f"{file}:{lines[1]}:1",
        got=key,
        expected="each key once",
        hint=f"remove one of the two, or join what they hold in line {lines[0]}",
    )
