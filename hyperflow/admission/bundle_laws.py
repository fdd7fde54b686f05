"""The laws that every bundle of ours obeys, whatever the templates and patches of the user did to it."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from hyperflow.admission.bundle_breach import Breach
from hyperflow.admission.bundle_job_laws import JOB_LAWS
from hyperflow.admission.bundle_name_laws import NAME_LAWS
from hyperflow.admission.bundle_policy_laws import POLICY_LAWS
from hyperflow.admission.bundle_rank_laws import RANK_LAWS, pods_have_no_privilege
from hyperflow.admission.bundle_topology_laws import TOPOLOGY_LAWS
from hyperflow.admission.bundle_view import BundleView, view_bundle
from hyperflow.errors import Finding

Law = Callable[[BundleView], Iterator[Breach]]

LAWS: tuple[Law, ...] = (*NAME_LAWS, *JOB_LAWS, *TOPOLOGY_LAWS, *POLICY_LAWS, *RANK_LAWS)
WARNINGS: tuple[Law, ...] = (pods_have_no_privilege,)


def check_laws(mode: str, documents: Sequence[tuple[str, Any]], hyperjob_crd: str = "shipped") -> list[Finding]:
    """Judge parsed documents, given as (file, document) in apply order, by every law.

    A breach is a finding HF420 that names the law, says what is wrong and what would happen.
    """
    view = view_bundle(mode, documents, hyperjob_crd)
    return [
        Finding(
            code="HF420",
            severity="warning" if law in WARNINGS else "error",
            message=f"{breach.message}: {breach.effect}",
            where=breach.where,
            expected=law.__name__.replace("_", " "),
        )
        for law in LAWS
        for breach in law(view)
    ]
