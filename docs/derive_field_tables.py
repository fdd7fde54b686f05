"""Derive hyperflow/catalog/field_tables.json from CRD files: types, bounds and defaults of every field, no prose.

    python docs/derive_field_tables.py CRD.yaml... --swagger CLUSTER.json --versions "volcano ed72c7c81, ..."

Equal field shapes are written once and referred to by number, so that the pod template is shared by all kinds that
carry one. ClusterOverridePolicy takes the shape of OverridePolicy: both hold Karmada's OverrideSpec.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import yaml

from hyperflow.admission.shapes import Interner, Shape, shape_of
from hyperflow.admission.tables import SERVERS, Kind, kinds_of_crd

OUTPUT = Path(__file__).parents[1] / "hyperflow" / "catalog" / "field_tables.json"


def swagger_kinds(path: Path) -> list[Kind]:
    """Read the kinds of a Swagger file whose definitions name their group, version and kind."""
    definitions = json.loads(path.read_text(encoding="utf-8"))["definitions"]
    kinds: list[Kind] = []
    for schema in definitions.values():
        for name in schema.get("x-kubernetes-group-version-kind", []):
            shape = shape_of({**schema, "properties": {**schema["properties"], "metadata": {}}}, definitions)
            kinds.append(
                Kind(
                    group=name["group"],
                    version=name["version"],
                    kind=name["kind"],
                    namespaced=False,
                    has_status="status" in shape.fields,
                    shape=shape,
                )
            )
    return kinds


def body(shape: Shape) -> Shape:
    """Drop what every object has: apiVersion, kind, metadata."""
    fields = {name: child for name, child in shape.fields.items() if name not in ("apiVersion", "kind", "metadata")}
    required = tuple(name for name in shape.required if name in fields)
    return Shape(type="object", fields=fields, required=required, open=shape.open, checks=shape.checks)


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("crds", nargs="+", type=Path)
    parser.add_argument("--swagger", type=Path)
    parser.add_argument("--versions", required=True, help="the commits that the files were taken from")
    parser.add_argument("-o", "--output", type=Path, default=OUTPUT)
    args = parser.parse_args()
    found: list[Kind] = swagger_kinds(args.swagger) if args.swagger else []
    for path in args.crds:
        for document in yaml.load_all(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader):
            if document and document.get("kind") == "CustomResourceDefinition":
                found += kinds_of_crd(document)
    interner = Interner()
    kinds: dict[str, Any] = {}
    for kind in sorted(found, key=lambda k: k.full_name):
        row = interner.number(body(kind.shape))
        entry = {"namespaced": kind.namespaced, "status": kind.has_status, "row": row}
        if kind.group_kind in SERVERS:
            kinds[kind.full_name] = entry
        if kind.kind == "OverridePolicy":
            twin = kind.full_name.replace("/OverridePolicy", "/ClusterOverridePolicy")
            kinds[twin] = {**entry, "namespaced": False}
    rows = ",\n".join(json.dumps(row, separators=(",", ":")) for row in interner.rows)
    names = json.dumps(dict(sorted(kinds.items())), indent=1)
    about = json.dumps(f"derived by docs/derive_field_tables.py from the CRDs of {args.versions}")
    args.output.write_text(f'{{"about": {about},\n"kinds": {names},\n"rows": [\n{rows}\n]}}\n', encoding="utf-8")
    print(f"{args.output}: {len(kinds)} kinds, {len(interner.rows)} rows, {args.output.stat().st_size} bytes")


if __name__ == "__main__":
    main()
