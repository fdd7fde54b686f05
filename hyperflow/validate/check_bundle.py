"""The last look at a bundle before it is written."""

from collections.abc import Sequence
from typing import Any

from hyperflow.admission.bundle_laws import check_laws
from hyperflow.errors import Finding
from hyperflow.ir.bundle import Bundle
from hyperflow.ir.manifests import Manifests
from hyperflow.validate.judged import judge_documents
from hyperflow.validate.round_trip import compare_bundle, parse_bundle
from hyperflow.validate.sizes import check_sizes


def check(manifests: Manifests, bundle: Bundle, crds: Sequence[dict[str, Any]] = ()) -> tuple[Finding, ...]:
    """Check that the text says what was lowered, obeys the laws of bundles, and is taken by servers and store.

    `crds` are CRD documents to judge by (given files, or a live server's), in place of the catalogue's.
    """
    documents, _ = parse_bundle(bundle)
    return (
        *compare_bundle(manifests, bundle),
        *check_laws(manifests.mode, documents, manifests.hyperjob_crd),
        *judge_documents(manifests, documents, crds),
        *check_sizes(bundle),
    )
