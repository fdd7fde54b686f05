"""What the servers would answer to each document of a bundle, children of a HyperJob included."""

from collections.abc import Sequence
from typing import Any

from hyperflow.admission.judge import judge, servers_of
from hyperflow.admission.state import ServerState
from hyperflow.admission.tables import KindTable, Server, catalogue_table, kinds_of_crd
from hyperflow.errors import Finding
from hyperflow.ir.manifests import Manifests
from hyperflow.json_tree import dig, mapping, sequence, text


def judge_documents(
    manifests: Manifests, documents: Sequence[tuple[str, Any]], crds: Sequence[dict[str, Any]] = ()
) -> list[Finding]:
    """Give what is denied or risky, as findings of the judge (HF8xx) with file and path.

    `crds` are CRD documents that replace those of the catalogue: the given CRDs, or a live server's.
    """
    tables = server_tables(manifests.hyperjob_crd, crds)
    findings: list[Finding] = []
    for file, value in documents:
        document = mapping(value)
        for server in _servers(manifests.mode, document):
            findings += _judge(file, document, server, tables[server], "")
        for path, child in children_of(document):
            for server in tables:
                findings += _judge(file, child, server, tables[server], path)
    return list(dict.fromkeys(findings))


def server_tables(hyperjob_crd: str, crds: Sequence[dict[str, Any]]) -> dict[Server, KindTable]:
    """The kinds of both servers, with the HyperJob CRD that the bundle is meant for."""
    table = catalogue_table().with_kinds([kind for crd in crds for kind in kinds_of_crd(crd)])
    return {"member": table, "plane": table.patched() if hyperjob_crd == "patched" else table}


def children_of(document: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The Jobs that the controller would make of a HyperJob, with the paths of their templates."""
    if text(document.get("kind")) != "HyperJob":
        return []
    name, namespace = text(dig(document, "metadata", "name")), text(dig(document, "metadata", "namespace"))
    return [
        (
            f"spec.replicatedJobs[{index}].templateSpec",
            {
                "apiVersion": "batch.volcano.sh/v1alpha1",
                "kind": "Job",
                "metadata": {"name": f"{name}-{text(dig(item, 'name'))}-0", "namespace": namespace},
                "spec": mapping(dig(item, "templateSpec")),
            },
        )
        for index, item in enumerate(sequence(dig(document, "spec", "replicatedJobs")))
    ]


def _servers(mode: str, document: dict[str, Any]) -> list[Server]:
    served = servers_of(document)
    return [server for server in served if server == "member"] if mode == "single" else list(served)


def _judge(file: str, document: dict[str, Any], server: Server, table: KindTable, prefix: str) -> list[Finding]:
    answer = judge(document, server, ServerState(), table)
    serious = [problem for problem in answer.problems if problem.severity != "note"]
    return [problem.finding(f"{file}: {prefix}".rstrip(": ")) for problem in serious]
