"""Checks a live plane and its members for one bundle, before anything is created: a table of server x check."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from hyperflow.errors import Finding
from hyperflow.inventory.bundle_reader import StoredBundle
from hyperflow.json_tree import dig, sequence, text
from hyperflow.submit.doctor_dispatch import dispatch_findings
from hyperflow.submit.doctor_objects import named_object_findings, pull_secret_findings
from hyperflow.submit.doctor_topology import plugin_finding, tier_findings
from hyperflow.submit.live_schemas import check_live_schemas, check_member_schema
from hyperflow.submit.plane import Plane
from hyperflow.submit.refusals import RefusedError
from hyperflow.submit.server_kinds import (
    BINDING,
    CLUSTER,
    DEPLOYMENT,
    EVENT,
    HYPERJOB,
    JOB,
    NAMESPACE,
    POD,
    PRIORITY_CLASS,
    QUEUE,
    ServerKind,
    kind_of,
)  # fmt: skip

CellState = Literal["ok", "bad", "unknown"]
Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One check on one server; a bad cell says how to mend it."""

    server: str
    check: str
    state: CellState
    detail: str = ""
    fix: str = ""

    def as_json(self) -> dict[str, str]:
        """Give the cell as a JSON row."""
        return {
            "server": self.server, "check": self.check, "state": self.state, "detail": self.detail, "fix": self.fix,
        }  # fmt: skip

    def as_finding(self) -> Finding:
        """Give a bad cell as an error (HF523), an unknown one as a note (HF524)."""
        is_bad = self.state == "bad"
        return Finding(
            code="HF523" if is_bad else "HF524",
            severity="error" if is_bad else "note",
            message=f"{self.check}: {self.detail}",
            where=self.server,
            hint=self.fix,
        )


def examine(plane: Plane, bundle: StoredBundle) -> list[Cell]:
    """Run all checks; what may not be read is unknown, never taken for good."""
    cells = list(_on_plane(plane, bundle))
    if bundle.mode == "single":
        return [*cells, *_on_member(plane, plane, bundle, "", list(_specs(bundle)))]
    clusters = dict.fromkeys(name for _, names, _ in _children(bundle) for name in names)
    for cluster in clusters:
        specs = [(child, spec) for child, names, spec in _children(bundle) if cluster in names]
        cells += _on_cluster(plane, bundle, cluster, specs)
        cells += _on_member(plane, plane.member(cluster), bundle, cluster, specs)
    return cells


def _specs(bundle: StoredBundle) -> Iterator[tuple[str, Json]]:
    yield from ((child, spec) for child, _, spec in bundle.job_specs)


def _children(bundle: StoredBundle) -> Iterator[tuple[str, tuple[str, ...], Json]]:
    """Each child with all clusters it may go to; those of a Job stand in the policy that selects it."""
    for child, clusters, spec in bundle.job_specs:
        found = list(clusters)
        for document in bundle.documents:
            selected = [text(dig(s, "name")) for s in sequence(dig(document.value, "spec", "resourceSelectors"))]
            if document.kind == "PropagationPolicy" and child in selected:
                placement = dig(document.value, "spec", "placement")
                groups = sequence(dig(placement, "clusterAffinities")) or [dig(placement, "clusterAffinity")]
                found += [str(name) for group in groups for name in sequence(dig(group, "clusterNames"))]
        yield child, tuple(dict.fromkeys(found)), spec


def _cell(server: str, check: str, found: Callable[[], list[Finding]], *, is_first: bool = False) -> Cell:
    """Make a cell of a check: its findings are what is wrong; a refused read makes it unknown.

    Raises RefusedError (HF503) where the first check does not reach the server: the others would not either.
    """
    try:
        findings = found()
    except RefusedError as error:
        if is_first and error.refusal.meaning == "unreachable":
            raise
        first = error.findings[0]
        if error.refusal.meaning in ("schema", "no-kind", "no-namespace"):
            return Cell(server=server, check=check, state="bad", detail=first.message, fix=first.hint)
        return Cell(server=server, check=check, state="unknown", detail=first.message, fix=first.hint)
    worst = [finding for finding in findings if finding.severity != "note"]
    if worst:
        more = f" (and {len(worst) - 1} more)" if len(worst) > 1 else ""
        return Cell(server=server, check=check, state="bad", detail=worst[0].message + more, fix=worst[0].hint)
    if findings:
        return Cell(server=server, check=check, state="unknown", detail=findings[0].message, fix=findings[0].hint)
    return Cell(server=server, check=check, state="ok")


def _on_plane(plane: Plane, bundle: StoredBundle) -> Iterator[Cell]:
    server = "plane" if bundle.mode != "single" else "cluster"
    yield _cell(server, "namespace", lambda: _namespace(plane, bundle), is_first=True)
    yield _cell(server, "rights", lambda: _rights(plane, bundle))
    yield _cell(server, "CRD fields", lambda: check_live_schemas(plane, bundle))
    if bundle.mode != "single":
        yield _cell(server, "queue", lambda: _queues(plane, bundle, server))
        yield _cell(server, "PriorityClass", lambda: _priorities(plane, bundle))
        yield _cell(server, "member access", lambda: _member_access(plane))
    if bundle.mode == "hyperjob":
        yield _cell(server, "controllers", lambda: _controllers(plane))
    if any(document.kind == "MultiClusterService" for document in bundle.documents):
        yield _cell(server, "Karmada gates", lambda: _gates(plane))


def _on_cluster(plane: Plane, bundle: StoredBundle, cluster: str, specs: list[tuple[str, Json]]) -> Iterator[Cell]:
    yield _cell(cluster, "Karmada dispatch", lambda: dispatch_findings(plane, cluster, specs))


def _on_member(
    plane: Plane, member: Plane, bundle: StoredBundle, cluster: str, specs: list[tuple[str, Json]]
) -> list[Cell]:
    server = cluster or "cluster"
    checks: list[tuple[str, Callable[[], list[Finding]]]] = [
        ("vcjob fields", lambda: check_member_schema(member, server, specs)),
        ("queue", lambda: _queues(member, bundle, server)),
        ("PriorityClass", lambda: _priorities(member, bundle)),
        ("pull secrets", lambda: pull_secret_findings(plane, member, bundle, specs)),
        ("named objects", lambda: named_object_findings(plane, member, bundle, specs)),
        ("HyperNode tiers", lambda: tier_findings(member, server, specs)),
        ("scheduler plugin", lambda: plugin_finding(member, server, specs)),
    ]
    cells: list[Cell] = []
    for check, found in checks:
        cell = _cell(server, check, found)
        shipped = cluster and check == "PriorityClass" and cell.state == "bad"
        if shipped and _is_propagated(bundle, "PriorityClass"):
            cell = Cell(server=server, check=check, state="ok", detail="comes from the plane")
        elif cluster and check == "queue" and _is_to_come(cell) and _is_propagated(bundle, "Queue"):
            cell = Cell(server=server, check=check, state="unknown", detail=f"{cell.detail}; it comes from the plane")
        cells.append(cell)
    return cells


def _is_to_come(cell: Cell) -> bool:
    """Whether it is only absent yet: a closed queue or one with children is not mended by the plane's copy."""
    return cell.state == "bad" and cell.detail.endswith(" does not exist")


def _is_propagated(bundle: StoredBundle, kind: str) -> bool:
    return any(
        dig(selector, "kind") == kind
        for document in bundle.documents
        for selector in sequence(dig(document.value, "spec", "resourceSelectors"))
    )


def _namespace(plane: Plane, bundle: StoredBundle) -> list[Finding]:
    if plane.get(NAMESPACE, bundle.namespace) is not None:
        return []
    return [_bad(f"namespace {bundle.namespace} does not exist", f"kubectl create namespace {bundle.namespace}")]


def _bad(message: str, hint: str) -> Finding:
    return Finding(code="HF523", message=message, hint=hint)


def _rights(plane: Plane, bundle: StoredBundle) -> list[Finding]:
    needed: dict[tuple[str, ServerKind], None] = {}
    for document in bundle.documents:
        needed |= dict.fromkeys((verb, kind_of(document.value)) for verb in ("get", "patch", "create", "delete"))
    needed |= dict.fromkeys(("list", kind) for kind in (JOB, HYPERJOB, BINDING, EVENT, POD))
    refused: list[Finding] = []
    for verb, kind in needed:
        namespace = bundle.namespace if kind.namespaced else ""
        asked = {"verb": verb, "group": kind.group, "resource": kind.plural, "namespace": namespace}
        if not plane.create_review(asked):
            where = f" in namespace {namespace}" if namespace else ""
            refused.append(
                _bad(f"you may not {verb} {kind.resource}{where}", f"ask for a role with {verb} on {kind.resource}")
            )
    return refused


def _queues(server: Plane, bundle: StoredBundle, name: str) -> list[Finding]:
    queues = {text(dig(q, "metadata", "name")): q for q in server.find(QUEUE)[0]}
    found: list[Finding] = []
    for queue in sorted({text(spec.get("queue"), "default") for _, spec in _specs(bundle)}):
        here = queues.get(queue)
        children = [n for n, q in queues.items() if dig(q, "spec", "parent") == queue]
        if here is None:
            found.append(_bad(f"queue {queue} does not exist", f"create the Queue {queue} on {name}"))
        elif text(dig(here, "status", "state")) != "Open":
            state = text(dig(here, "status", "state")) or "without a state"
            found.append(_bad(f"queue {queue} is {state}, not Open", f"vcctl queue operate -a open -n {queue}"))
        elif children:
            hint = f"name one of {', '.join(sorted(children))} in hf.job(queue=)"
            found.append(_bad(f"queue {queue} has child queues, so it takes no jobs", hint))
    return found


def _priorities(server: Plane, bundle: StoredBundle) -> list[Finding]:
    names = sorted({text(spec.get("priorityClassName")) for _, spec in _specs(bundle)} - {""})
    return [
        _bad(f"PriorityClass {name} does not exist", f"kubectl create priorityclass {name} --value=N")
        for name in names
        if server.get(PRIORITY_CLASS, name) is None
    ]


def _member_access(plane: Plane) -> list[Finding]:
    asked = {"verb": "get", "group": CLUSTER.group, "resource": CLUSTER.plural, "subresource": "proxy"}
    if plane.create_review(asked):
        return []
    message = "you may not get clusters/proxy, so reasons and logs in the members cannot be read"
    hint = "ask for a role with get on clusters/proxy; the job runs without it"
    return [Finding(code="HF524", severity="note", message=message, hint=hint)]


def _arguments(plane: Plane, part: str) -> list[str] | None:
    """The command line of a component that runs as a Deployment here; None where it does not show."""
    for deployment in plane.find(DEPLOYMENT)[0]:
        if part in text(dig(deployment, "metadata", "name")):
            containers = sequence(dig(deployment, "spec", "template", "spec", "containers"))
            return [
                str(word)
                for container in containers
                for word in [*sequence(dig(container, "command")), *sequence(dig(container, "args"))]
            ]
    return None


def _hidden(what: str) -> Finding:
    message = f"{what} does not run where this context looks, so its flags cannot be read"
    return Finding(code="HF524", severity="note", message=message, hint="look at its Deployment on the host cluster")


def _controllers(plane: Plane) -> list[Finding]:
    words = _arguments(plane, "volcano-global-controller")
    if words is None:
        return [_hidden("volcano-global's controller manager")]
    flags = " ".join(words)
    if "hyperjob" in flags and ("reconciler" in flags or "--controllers=*" in flags):
        return []
    wanted = "--controllers=dispatcher,reconciler --reconcilers=hyperjob"
    return [_bad(f"the HyperJob controller is off ({flags[:80]})", f"run it with {wanted}")]


def _gates(plane: Plane) -> list[Finding]:
    words = _arguments(plane, "karmada-controller-manager")
    if words is None:
        return [_hidden("karmada-controller-manager")]
    if "MultiClusterService=true" in " ".join(words):
        return []
    return [
        _bad("the gate MultiClusterService is off", "run karmada-controller-manager with "
             "--feature-gates=MultiClusterService=true, or compile with rendezvous=hostnetwork")
    ]  # fmt: skip
