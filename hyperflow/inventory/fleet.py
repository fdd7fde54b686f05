"""Any supported sources, combined into one fleet."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from hyperflow.errors import Finding, nearest, raise_errors
from hyperflow.inventory.combine import build_cluster
from hyperflow.inventory.draft import ClusterDraft
from hyperflow.inventory.fleet_writer import write_fleet
from hyperflow.inventory.sources import read_sources
from hyperflow.spec.fleet import Cluster, Fleet, Link

__all__ = ["load_fleet", "read_fleet", "write_fleet"]


def load_fleet(sources: Sequence[str | Path], tolerate: Sequence[str] = ()) -> tuple[Fleet, tuple[Finding, ...]]:
    """Read and combine sources (paths, or `CLUSTER=PATH`); gives the fleet with its warnings and notes.

    `tolerate` names node taints (`key` or `key=value`) that the jobs carry a toleration for. Raises InputError with
    all errors found.
    """
    fleet, findings = read_fleet(sources, tolerate)
    raise_errors(findings)
    return fleet, findings


def read_fleet(
    sources: Sequence[str | Path],
    tolerate: Sequence[str] = (),
    live: Sequence[tuple[str, Sequence[object]]] = (),
) -> tuple[Fleet, tuple[Finding, ...]]:
    """Read as `load_fleet` does, but leave errors of topology and combination among the findings.

    `live` are objects that were fetched already: pairs of a cluster name ("" where the objects tell it) and objects.
    Raises InputError only where a source cannot be read at all.
    """
    source_set = read_sources(sources, tolerate)
    for name, values in live:
        source_set.add_values(values, name or "the plane", name or None)
    drafts = source_set.assign()
    findings = condense(source_set.findings)
    clusters: list[Cluster] = []
    for draft in drafts:
        cluster, more = build_cluster(draft)
        clusters.append(cluster)
        findings += more
    findings += check_links(source_set.links, clusters)
    findings += _free_unknown(drafts, clusters)
    fleet = Fleet(clusters=tuple(clusters), links=tuple(source_set.links), versions=source_set.versions)
    return fleet, tuple(findings)


def condense(findings: Sequence[Finding]) -> list[Finding]:
    """Tell one fault of many objects once: the first place, and how many more there are."""
    alike: dict[tuple[str, str, str | None], list[Finding]] = {}
    for finding in findings:
        alike.setdefault((finding.code, finding.message, finding.got), []).append(finding)
    return [
        replace(group[0], where=f"{group[0].where} and {len(group) - 1} more") if len(group) > 1 else group[0]
        for group in alike.values()
    ]


def _free_unknown(drafts: Sequence[ClusterDraft], clusters: Sequence[Cluster]) -> list[Finding]:
    names = [
        cluster.name
        for draft, cluster in zip(drafts, clusters, strict=True)
        if draft.nodes and any(group.free_devices is None for group in cluster.groups)
    ]
    if not names:
        return []
    return [
        Finding(
            code="HF347",
            severity="note",
            message="how many devices are free is unknown; plans take all of them",
            where=f"{'clusters' if len(names) > 1 else 'cluster'} {', '.join(names)}",
            hint="give the output of `kubectl get pods -A -o json` too",
        )
    ]


def check_links(links: Sequence[Link], clusters: Sequence[Cluster]) -> list[Finding]:
    """Find links to unknown clusters, to themselves, or given twice (HF305)."""
    known = {cluster.name for cluster in clusters}
    findings: list[Finding] = []
    seen: set[frozenset[str]] = set()
    for link in links:
        where = f"link {link.a} - {link.b}"
        pair = frozenset((link.a, link.b))
        findings += [_unknown_end(end, where, known) for end in (link.a, link.b) if end not in known]
        if link.a == link.b or pair in seen:
            fault = "joins a cluster with itself" if link.a == link.b else "is given twice"
            findings.append(Finding(code="HF305", message=f"a link {fault}", where=where, hint="remove it"))
        seen.add(pair)
    return findings


def _unknown_end(end: str, where: str, known: set[str]) -> Finding:
    return Finding(
        code="HF305",
        message=f"a link names {end!r}, which is no cluster of this fleet",
        where=where,
        got=end,
        expected="one of " + (", ".join(sorted(known)) or "(no clusters)"),
        hint=nearest(end, known),
    )
