"""Field ownership of server-side apply: what a manager set, conflicts, and the merge.

A field set is a set of paths; a step is `f:name` or `k:{"name":"x"}` for an item of a map-list. Other lists are atomic.
"""

import copy
import json
from typing import Any

from hyperflow.admission.shapes import Shape

Json = dict[str, Any]
Path = tuple[str, ...]
_NOT_OWNED = {"apiVersion", "kind", "metadata", "status"}
_OWNED_METADATA = ("labels", "annotations", "finalizers", "ownerReferences")


def field_set(obj: Json, shape: Shape | None, *, status: bool = False) -> set[Path]:
    """The leaves that an object sets: spec and the like, or only status."""
    paths: set[Path] = set()
    for name, value in obj.items():
        if (name == "status") == status and (name == "status" or name not in _NOT_OWNED):
            _collect(value, _child(shape, name), (f"f:{name}",), paths)
    if not status:
        for name in _OWNED_METADATA:
            value = obj.get("metadata", {}).get(name)
            if value:
                _collect(value, None, ("f:metadata", f"f:{name}"), paths)
    return paths


def _child(shape: Shape | None, name: str) -> Shape | None:
    return (shape.fields.get(name) or shape.values) if shape else None


def item_key(shape: Shape, item: Json) -> str:
    """The key of an item of a map-list."""
    return "k:" + json.dumps({name: item.get(name) for name in shape.list_keys}, separators=(",", ":"))


def _collect(value: Any, shape: Shape | None, path: Path, paths: set[Path]) -> None:
    if isinstance(value, dict) and value:
        for name, child in value.items():
            _collect(child, _child(shape, name), (*path, f"f:{name}"), paths)
    elif isinstance(value, list) and shape is not None and shape.list_keys and value:
        for item in value:
            inner = (*path, item_key(shape, item))
            paths.add(inner)
            _collect(item, shape.items, inner, paths)
    else:
        paths.add(path)


def lookup(obj: Any, path: Path, shape: Shape | None) -> Any:
    """The value at a path, or None."""
    for step in path:
        if step.startswith("f:"):
            obj = obj.get(step[2:]) if isinstance(obj, dict) else None
            shape = _child(shape, step[2:])
        else:
            assert shape is not None
            keyed = shape
            obj = next((item for item in obj or [] if item_key(keyed, item) == step), None)
            shape = shape.items
    return obj


def remove(obj: Any, path: Path, shape: Shape | None) -> None:
    """Take the value at a path out, in place; empty parents stay."""
    *parents, last = path
    for step in parents:
        if step.startswith("f:"):
            obj = obj.get(step[2:]) if isinstance(obj, dict) else None
            shape = _child(shape, step[2:])
        else:
            assert shape is not None
            keyed = shape
            obj = next((item for item in obj or [] if item_key(keyed, item) == step), None)
            shape = shape.items
        if obj is None:
            return
    if last.startswith("f:"):
        if isinstance(obj, dict):
            obj.pop(last[2:], None)
    elif isinstance(obj, list):
        assert shape is not None
        obj[:] = [item for item in obj if item_key(shape, item) != last]


def merge(live: Any, applied: Any, shape: Shape | None) -> Any:
    """The applied values over the live ones; map-lists item by item."""
    if isinstance(applied, dict) and isinstance(live, dict):
        merged = dict(live)
        for name, value in applied.items():
            merged[name] = merge(live.get(name), value, _child(shape, name))
        return merged
    if isinstance(applied, list) and isinstance(live, list) and shape is not None and shape.list_keys:
        keyed = {item_key(shape, item): item for item in live}
        wanted = {item_key(shape, item): item for item in applied}
        kept = [item for key, item in keyed.items() if key not in wanted]
        return [merge(keyed.get(key), item, shape.items) for key, item in wanted.items()] + kept
    return copy.deepcopy(applied)


def path_text(path: Path) -> str:
    """A path as conflict messages write it."""
    text = ""
    for step in path:
        if step.startswith("f:"):
            text += f".{step[2:]}"
        else:
            pairs = ",".join(f"{name}={json.dumps(value)}" for name, value in json.loads(step[2:]).items())
            text += f"[{pairs}]"
    return text


def fields_v1(paths: set[Path], *, dots: bool) -> Json:
    """A field set as managedFields shows it; `dots` marks maps too, as updates do."""
    tree: Json = {}
    for path in sorted(paths):
        node = tree
        for depth, step in enumerate(path):
            fresh = step not in node
            node = node.setdefault(step, {})
            inner = depth < len(path) - 1
            if inner and fresh and dots and path[: depth + 1] != ("f:metadata",):
                node["."] = {}
        if path[-1].startswith("k:"):
            node["."] = {}
    return tree
