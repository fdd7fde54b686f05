"""The fields of a pod template, checked by name and type before a server sees them.

The table pod_fields.json holds the union of the official Kubernetes client's models and the vcjob CRD of Volcano
ed72c7c; a test compares it with the installed client.
"""

import functools
import json
from importlib.resources import files

from hyperflow.errors import nearest
from hyperflow.json_tree import is_mapping, is_sequence

_PLAIN: dict[str, tuple[type, ...]] = {"str": (str,), "int": (int,), "bool": (bool,), "float": (int, float)}


@functools.cache
def pod_field_table() -> dict[str, dict[str, str]]:
    """Give type name -> field -> type; `[T]` is a list of T, `{T}` a mapping to T, `object` anything."""
    return json.loads(files("hyperflow.k8s").joinpath("pod_fields.json").read_text(encoding="utf-8"))


def check_pod_template(template: object) -> list[str]:
    """Give what is wrong with a pod template's fields, each as `path: reason`; nothing when all are known.

    >>> check_pod_template({"spec": {"containers": [], "nodeSelektor": {}}})
    ['spec.nodeSelektor: unknown field; did you mean "nodeSelector"?']
    """
    return _check(template, "PodTemplateSpec", "")


def _check(value: object, type_name: str, path: str) -> list[str]:
    if value is None or type_name == "object":
        return []
    if type_name.startswith("["):
        if not is_sequence(value):
            return [f"{path}: must be a list"]
        return [text for i, item in enumerate(value) for text in _check(item, type_name[1:-1], f"{path}[{i}]")]
    if type_name.startswith("{"):
        if not is_mapping(value):
            return [f"{path}: must be a mapping"]
        return [text for key, item in value.items() for text in _check_entry(item, type_name[1:-1], f"{path}.{key}")]
    if type_name in _PLAIN:
        return [] if _is_plain(value, type_name) else [f"{path}: must be {_WORDS[type_name]}, got {value!r}"]
    return _check_record(value, type_name, path)


_WORDS = {"str": "text", "int": "a whole number", "bool": "true or false", "float": "a number"}


def _check_entry(value: object, type_name: str, path: str) -> list[str]:
    """Quantities may be numbers as well as text, so only labels and selectors are held to text."""
    if type_name == "str" and isinstance(value, int | float) and not isinstance(value, bool):
        quantity = ".limits." in path or ".requests." in path or ".overhead." in path
        return [] if quantity else [f"{path}: must be text, got {value!r}"]
    return _check(value, type_name, path)


def _is_plain(value: object, type_name: str) -> bool:
    if isinstance(value, bool) and type_name != "bool":
        return False
    return isinstance(value, _PLAIN[type_name])


def _check_record(value: object, type_name: str, path: str) -> list[str]:
    if not is_mapping(value):
        return [f"{path or 'template'}: must be a mapping"]
    fields = pod_field_table()[type_name]
    texts: list[str] = []
    for key, item in value.items():
        inner = f"{path}.{key}" if path else str(key)
        if key not in fields:
            hint = nearest(str(key), fields)
            texts.append(f"{inner}: unknown field" + (f"; {hint}" if hint else ""))
        else:
            texts += _check(item, fields[key], inner)
    return texts
