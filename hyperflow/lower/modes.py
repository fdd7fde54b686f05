"""Which objects carry the job: a plain Job, Jobs with our own policies, or a HyperJob; chosen with its reason."""

from hyperflow.catalog.targets import assumed_versions, describe_feature, first_version, has_feature
from hyperflow.errors import Finding, InfeasibleError, UsageError, nearest, raise_errors
from hyperflow.ir.manifests import FeatureNeed
from hyperflow.lower.draft import Draft
from hyperflow.lower.target_versions import volcano_version
from hyperflow.lower.topology import wants_partitions

MODES = ("auto", "hyperjob", "direct")
PARTITION_FEATURES = ("partition-policy", "safe-partitions")


def choose_mode(draft: Draft, wanted: str) -> tuple[str, str]:
    """Give the mode and the reason for it.

    Raises UsageError (HF403) for an unknown mode, InfeasibleError (HF401) where the target's HyperJob CRD would drop
    what the job needs.
    """
    if wanted not in MODES:
        hint = nearest(wanted, MODES)
        expected = ", ".join(MODES)
        raise UsageError(
            Finding(code="HF403", message=f"unknown mode {wanted!r}", where="--mode", expected=expected, hint=hint)
        )
    partitions = wants_partitions(draft)
    crd = assumed_versions(draft.job.fleet.versions)[0].hyperjob_crd or "shipped"
    dropped = bool(partitions) and not has_feature("hyperjob_crd", "partition-policy", crd)
    if wanted == "auto":
        return _choose(draft, partitions, dropped=dropped, crd=crd)
    if wanted == "hyperjob" and dropped:
        raise InfeasibleError(
            Finding(
                code="HF401",
                message=f"the {crd} HyperJob CRD drops {describe_feature('hyperjob_crd', 'partition-policy')}",
                where="--mode",
                got="hyperjob",
                expected="direct, or a plane with the CRD that `hyperflow crd` prints",
                hint=f"the job needs it because {partitions}",
            )
        )
    return wanted, f"mode {wanted} was asked for"


def _choose(draft: Draft, partitions: str, *, dropped: bool, crd: str) -> tuple[str, str]:
    if len(draft.all_clusters) == 1 and len(draft.groups) == 1:
        return "single", f"all stages run on {draft.all_clusters[0]}: a plain Volcano Job, applied there"
    if dropped:
        return "direct", f"{partitions}, and the {crd} HyperJob CRD drops partitionPolicy"
    if len(draft.groups) == 1:
        return "direct", "one child with fallback clusters needs a policy of its own and no HyperJob"
    return "hyperjob", f"{len(draft.groups)} children on {len(draft.all_clusters)} clusters under one HyperJob"


def feature_needs(draft: Draft, uses_topology: bool, uses_partitions: bool) -> tuple[FeatureNeed, ...]:
    """List what the bundle needs of its targets.

    Raises InfeasibleError (HF402) for each cluster or plane whose version lacks it.
    """
    needs: list[FeatureNeed] = []
    findings: list[Finding] = []
    places: list[str | None] = [*draft.all_clusters, *([None] if draft.mode != "single" else [])]
    for place in places:
        for source, features in (("topology", ("network-topology",)), ("topology.stage", PARTITION_FEATURES)):
            if not (uses_topology if source == "topology" else uses_partitions):
                continue
            wanted = features if place else features[:1]  # the plane keeps the field; scheduling is the member's
            needs += [FeatureNeed(product="volcano", feature=f, cluster=place, needed_by=source) for f in wanted]
            version = volcano_version(draft, place)
            lacking = [feature for feature in wanted if not has_feature("volcano", feature, version)]
            if lacking:
                findings.append(_lacks(draft, place, lacking[0], wanted[-1], version, source))
    if draft.mode == "hyperjob":
        needs.append(FeatureNeed(product="volcano_global", feature="hyperjob", cluster=None, needed_by="mode"))
        if uses_partitions:
            needs.append(
                FeatureNeed(
                    product="hyperjob_crd", feature="partition-policy", cluster=None, needed_by="topology.stage"
                )
            )
    raise_errors(findings, InfeasibleError)
    return tuple(needs)


def assumption_note(draft: Draft) -> tuple[Finding, ...]:
    """Say (HF422) which versions were assumed because the fleet states none."""
    clusters = [
        name for name in draft.all_clusters if (found := draft.job.fleet.cluster(name)) and not found.versions.volcano
    ]
    plane = () if draft.mode == "single" else assumed_versions(draft.job.fleet.versions)[1]
    if not clusters and not plane:
        return ()
    floor = volcano_version(draft, clusters[0]) if clusters else ""
    parts = [f"Volcano {floor} on {', '.join(clusters)}"] if clusters else []
    parts += [f"on the plane {', '.join(plane)}"] if plane else []
    return (
        Finding(
            code="HF422",
            severity="note",
            message="assumed " + "; ".join(parts),
            where="fleet.versions",
            hint="state the versions in the fleet, or check them with hyperflow doctor",
        ),
    )


def _lacks(draft: Draft, place: str | None, feature: str, last: str, version: str, source: str) -> Finding:
    """`last` is the latest of the features needed together; its first version is the one to upgrade to."""
    return Finding(
        code="HF402",
        message=f"{place or 'the plane'} runs Volcano {version}, which lacks {describe_feature('volcano', feature)}",
        where=source,
        got=version,
        expected=f"{first_version('volcano', last)} or later",
        hint="upgrade it, or leave the topology constraint out",
        span=draft.job.job.sources.get(source),
    )
