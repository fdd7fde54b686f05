"""The last look at a bundle before it is written."""

from hyperflow.admission.bundle_laws import check_laws
from hyperflow.errors import Finding
from hyperflow.ir.bundle import Bundle
from hyperflow.ir.manifests import Manifests
from hyperflow.validate.round_trip import compare_bundle, parse_bundle
from hyperflow.validate.sizes import check_sizes


def check(manifests: Manifests, bundle: Bundle) -> tuple[Finding, ...]:
    """Check that the text says what was lowered, obeys the laws of bundles, and is small enough for the store."""
    documents, _ = parse_bundle(bundle)
    laws = check_laws(manifests.mode, documents, manifests.hyperjob_crd)
    return (*compare_bundle(manifests, bundle), *laws, *check_sizes(bundle))
