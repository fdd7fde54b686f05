"""The last look at a bundle before it is written."""

from hyperflow.errors import Finding
from hyperflow.ir.bundle import Bundle
from hyperflow.ir.manifests import Manifests
from hyperflow.validate.round_trip import compare_bundle
from hyperflow.validate.sizes import check_sizes


def check(manifests: Manifests, bundle: Bundle) -> tuple[Finding, ...]:
    """Check that the text says what was lowered and that the store takes it."""
    return (*compare_bundle(manifests, bundle), *check_sizes(bundle))
