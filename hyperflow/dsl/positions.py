"""Where the user wrote each keyword: the decorator's call, found by its bytecode position and read with `ast`.

Works for files and for notebook cells, whose lines `linecache` holds.
"""

import ast
import functools
import inspect
import linecache
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from hyperflow.errors import SourceSpan
from hyperflow.user_code import shown_path


def user_frame() -> FrameType | None:
    """Give the innermost running frame that is not of this package: the user's call."""
    frame = inspect.currentframe()
    while frame is not None and Path(frame.f_code.co_filename).parent == Path(__file__).parent:
        frame = frame.f_back
    return frame


def keyword_spans(frame: FrameType | None) -> dict[str, SourceSpan]:
    """Give keyword -> place of its value for the call that `frame` is executing; "" is the call itself.

    Empty when the source cannot be read (an interactive prompt, a frozen program).
    """
    if frame is None:
        return {}
    position = _call_position(frame)
    lines = linecache.getlines(frame.f_code.co_filename, frame.f_globals)
    if position is None or not lines:
        return {}
    call = _find_call("".join(lines), *position)
    if call is None:
        return {}
    file = _display_name(frame.f_code.co_filename)
    nodes: dict[str, ast.expr] = {"": call}
    if isinstance(call, ast.Call):
        nodes |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    spans = {name: _span(file, lines, node) for name, node in nodes.items()}
    for name, node in nodes.items():
        if name and isinstance(node, ast.Dict):
            spans |= _entry_spans(name, node, file, lines)
    return spans


def _entry_spans(name: str, node: ast.Dict, file: str, lines: list[str]) -> dict[str, SourceSpan]:
    entries = zip(node.keys, node.values, strict=True)
    return {
        f"{name}.{key.value}": _span(file, lines, value)
        for key, value in entries
        if isinstance(key, ast.Constant) and isinstance(key.value, str)
    }


def _call_position(frame: FrameType) -> tuple[int, int] | None:
    """Line (1-based) and column (0-based, in UTF-8 bytes) at which the running call starts."""
    positions = list(frame.f_code.co_positions())
    line, _, column, _ = positions[frame.f_lasti // 2]
    return None if line is None or column is None else (line, column)


@functools.lru_cache(maxsize=8)
def _parse(source: str) -> ast.Module | None:
    try:
        return ast.parse(source)
    except SyntaxError:
        return None


def _find_call(source: str, line: int, column: int) -> ast.expr | None:
    """Give the call, or the decorator without parentheses, that starts there."""
    tree = _parse(source)
    if tree is None:
        return None
    nodes = list(ast.walk(tree))
    calls: list[ast.expr] = [node for node in nodes if isinstance(node, ast.Call)]
    bare = [mark for node in nodes if isinstance(node, ast.FunctionDef) for mark in node.decorator_list]
    here = [call for call in (*calls, *bare) if (call.lineno, call.col_offset) == (line, column)]
    return max(here, key=lambda call: (call.end_lineno or 0, call.end_col_offset or 0), default=None)


def _span(file: str, lines: list[str], node: ast.expr) -> SourceSpan:
    line = lines[node.lineno - 1].rstrip("\n")
    start = len(line.encode()[: node.col_offset].decode(errors="replace"))
    one_line = node.end_lineno == node.lineno and node.end_col_offset is not None
    end = len(line.encode()[: node.end_col_offset].decode(errors="replace")) if one_line else len(line)
    return SourceSpan(file=file, line=node.lineno, column=start + 1, width=max(1, end - start), text=line)


def _display_name(filename: str) -> str:
    """`Cell [3]` for a notebook cell, else the file as given."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    # IPython keeps file name -> cell for its own tracebacks and gives it as ("Cell", "In[3]")
    named = shell.compile.format_code_name(filename) if shell is not None else None
    return f"Cell {named[1].removeprefix('In')}" if named else shown_path(filename)


def definition_place(function: Callable[..., object]) -> str:
    """Give `file:line` of a function's definition."""
    code = getattr(function, "__code__", None)
    if code is None:  # a class, or another callable object
        return getattr(function, "__name__", "@hf.job")
    return f"{_display_name(code.co_filename)}:{code.co_firstlineno}"
