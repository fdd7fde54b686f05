"""Which version runs where: what the fleet states, else the newest safe floor."""

from hyperflow.catalog.targets import assumed_versions, has_feature
from hyperflow.lower.draft import Draft


def volcano_version(draft: Draft, cluster: str | None) -> str:
    """The Volcano version of a cluster, or of the Job CRD on the plane; the safe floor where none is stated."""
    found = draft.job.fleet.cluster(cluster) if cluster else None
    versions = found.versions if found else draft.job.fleet.versions
    return assumed_versions(versions)[0].volcano or ""


def everywhere(draft: Draft, feature: str, cluster: str) -> bool:
    """Say whether a feature of Volcano is there on the cluster and, where the plane carries the Job, in its CRD."""
    places = [cluster] if draft.mode == "single" else [cluster, None]
    return all(has_feature("volcano", feature, volcano_version(draft, place)) for place in places)
