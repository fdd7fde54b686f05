"""Any supported sources, combined into one fleet."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from hyperflow.errors import Finding, InputError, nearest, raise_errors
from hyperflow.inventory.documents import read_documents
from hyperflow.inventory.fleet_file import read_fleet_file
from hyperflow.inventory.fleet_writer import write_fleet
from hyperflow.json_tree import mapping
from hyperflow.spec.fleet import Cluster, Fleet, Link, TargetVersions

__all__ = ["load_fleet", "write_fleet"]


def load_fleet(sources: Sequence[str | Path]) -> tuple[Fleet, tuple[Finding, ...]]:
    """Read and combine sources; gives the fleet and its warnings and notes.

    Raises InputError with all errors found.
    """
    fleets: list[Fleet] = []
    errors: list[Finding] = []
    for source in sources:
        try:
            fleets += [_read_document(document.value, str(source)) for document in read_documents(source)]
        except InputError as error:
            errors += error.findings
    raise_errors(errors)
    clusters = tuple(cluster for fleet in fleets for cluster in fleet.clusters)
    links = tuple(link for fleet in fleets for link in fleet.links)
    versions = next((fleet.versions for fleet in fleets if fleet.versions != TargetVersions()), TargetVersions())
    findings = check_names(clusters) + check_links(links, clusters)
    raise_errors(findings)
    return Fleet(clusters=clusters, links=links, versions=versions), tuple(findings)


def _read_document(value: object, file: str) -> Fleet:
    if "schema_version" in mapping(value) or "clusters" in mapping(value):
        return read_fleet_file(mapping(value), file)
    raise InputError(
        Finding(
            code="HF300",
            message="nothing here that describes a fleet",
            where=file,
            expected="a fleet.yaml with schema_version and clusters",
        )
    )


def check_names(clusters: Sequence[Cluster]) -> list[Finding]:
    """Find clusters that share a name (HF304)."""
    repeated = [name for name, times in Counter(cluster.name for cluster in clusters).items() if times > 1]
    return [
        Finding(
            code="HF304",
            message=f"two clusters are named {name!r}",
            where=f"cluster {name}",
            hint="rename one of them",
        )
        for name in repeated
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
