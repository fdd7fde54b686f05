"""The files of a bundle that are not manifests: plan.json, report.html and the index bundle.json."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Any

from hyperflow.errors import Finding
from hyperflow.ir.bundle import Bundle, BundleFile
from hyperflow.ir.plan import Plan
from hyperflow.ir.resolved import ResolvedJob
from hyperflow.report.html import report_page
from hyperflow.report.model_shape import shape_columns
from hyperflow.report.plan_json import plan_document
from hyperflow.report.plan_timeline import draw_plan

BUNDLE_SCHEMA = "hyperflow.bundle/v1"


def add_pages(bundle: Bundle, resolved: ResolvedJob, plan: Plan, findings: Sequence[Finding]) -> Bundle:
    """Give the bundle with plan.json, report.html and, last, bundle.json with the digests of all the others."""
    document = plan_document(plan)
    document["model"] |= shape_columns(resolved.model, resolved.job.model.precision)  # for `hyperflow report --row`
    # the solver's time differs from run to run; a bundle is the same bytes for the same input
    document["optimal"]["solve_seconds"] = None
    document["findings"] = [finding.as_json() for finding in findings]
    pages = (
        BundleFile(path="plan.json", text=_json(document)),
        BundleFile(path="report.html", text=report_page(resolved, plan, findings, draw_plan(plan))),
    )
    files = (*bundle.files, *pages)
    return replace(bundle, files=(*files, BundleFile(path="bundle.json", text=_json(_index(bundle, resolved, files)))))


def _index(bundle: Bundle, resolved: ResolvedJob, files: Sequence[BundleFile]) -> dict[str, Any]:
    return {
        "schema": BUNDLE_SCHEMA,
        "job": bundle.job,
        "name": bundle.name,
        "namespace": bundle.namespace,
        "mode": bundle.mode,
        "mode_reason": bundle.mode_reason,
        "hyperflow": version("hyperflow"),
        "targets": resolved.fleet.versions.model_dump(),
        "guard": {"on_partial_failure": resolved.job.guard.on_partial_failure},
        "files": [{"path": file.path, "sha256": hashlib.sha256(file.text.encode()).hexdigest()} for file in files],
    }


def _json(document: object) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
