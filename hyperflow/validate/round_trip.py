"""Text back to trees: every field that was lowered must stand in the text, with the same value."""

from typing import Any

import yaml

from hyperflow.errors import Finding
from hyperflow.ir.bundle import Bundle
from hyperflow.ir.manifests import Manifests
from hyperflow.json_tree import is_mapping, is_sequence
from hyperflow.k8s.parse import parse_object

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def parse_bundle(bundle: Bundle) -> tuple[list[tuple[str, Any]], list[Finding]]:
    """Give (path, document) of every document in the files, and findings (HF416) for text that is no YAML."""
    documents: list[tuple[str, Any]] = []
    findings: list[Finding] = []
    for file in bundle.files:
        try:
            documents += [(file.path, value) for value in yaml.load_all(file.text, Loader=_Loader) if value is not None]
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            findings.append(_lost(file.path, "", f"the text is no YAML: {' '.join(str(error).split())}"))
    return documents, findings


def compare_bundle(manifests: Manifests, bundle: Bundle) -> list[Finding]:
    """Compare each file with the object it was rendered from.

    Findings: an error (HF416) for a lowered field that is lost or changed, a note (HF417) for what a template added.
    """
    parsed, findings = parse_bundle(bundle)
    broken = {finding.where for finding in findings}
    for file, item in zip(bundle.files, manifests.objects, strict=True):
        if file.path in broken:
            continue
        here = [document for path, document in parsed if path == file.path]
        if not here:
            findings.append(_lost(file.path, "", "the file is empty"))
            continue
        lost, added = compare(item.document(), here[0])
        findings += [_lost(file.path, path, reason) for path, reason in lost]
        if not lost and not added and parse_object(here[0]) != item:
            findings.append(_lost(file.path, "", "the text does not read back as the same object"))
        added += [f"a document of kind {extra.get('kind')}" for extra in here[1:] if is_mapping(extra)]
        findings += [_added(file.path, path) for path in added]
    return findings


def compare(lowered: object, parsed: object, path: str = "") -> tuple[list[tuple[str, str]], list[str]]:
    """Give what of the lowered tree is lost or changed in the parsed one, as (path, reason), and paths of additions.

    >>> compare({"a": 1, "b": [2]}, {"a": 1, "b": [3], "c": 4})
    ([('b[0]', 'is 3, not 2')], ['c'])
    """
    if is_mapping(lowered) and is_mapping(parsed):
        lost: list[tuple[str, str]] = []
        added = [f"{path}.{key}".lstrip(".") for key in parsed if key not in lowered]
        for key, value in lowered.items():
            inner = f"{path}.{key}".lstrip(".")
            if key not in parsed:
                lost.append((inner, "is lost"))
                continue
            more_lost, more_added = compare(value, parsed[key], inner)
            lost += more_lost
            added += more_added
        return lost, added
    if is_sequence(lowered) and is_sequence(parsed) and len(lowered) == len(parsed):
        pairs = [compare(a, b, f"{path}[{i}]") for i, (a, b) in enumerate(zip(lowered, parsed, strict=True))]
        return [item for lost, _ in pairs for item in lost], [item for _, added in pairs for item in added]
    same = lowered == parsed and type(lowered) is type(parsed)
    return ([] if same else [(path, f"is {_short(parsed)}, not {_short(lowered)}")]), []


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _lost(file: str, path: str, reason: str) -> Finding:
    return Finding(
        code="HF416",
        message=f"{path} {reason}".strip(),
        where=file,
        expected="every lowered field, unchanged",
        hint="a template may add fields, not drop or change them; compare it with templates/",
    )


def _added(file: str, path: str) -> Finding:
    return Finding(code="HF417", severity="note", message=f"the template adds {path}", where=file)
