"""What a live cluster or plane says of itself: the objects that a fleet is made of, as the API server gives them."""

import json
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any, Protocol

from hyperflow.errors import Finding, InputError
from hyperflow.json_tree import dig, is_mapping, mapping, sequence, text
from hyperflow.submit.transport import KubernetesTransport

PAGE_SIZE = 500
_MEMBER_PATHS = ("/api/v1/nodes", "/api/v1/pods", "/apis/topology.volcano.sh/v1alpha1/hypernodes")
_CLUSTERS_PATH = "/apis/cluster.karmada.io/v1alpha1/clusters"
_KINDS = {"nodes": "Node", "pods": "Pod", "hypernodes": "HyperNode", "clusters": "Cluster"}


class Server(Protocol):
    """One API server: `get` gives a parsed answer, None where the server has no such path or forbids it."""

    def get(self, path: str, query: dict[str, str]) -> Any: ...


class KubernetesServer:
    """An API server reached through a kubeconfig context, the current one where the name is empty.

    `context` is the name of the one that was taken.
    """

    def __init__(self, context: str) -> None:
        self._transport = KubernetesTransport(context or None)
        try:
            self._transport.open()
        except InputError as error:
            raise InputError(_unreachable(context, error.findings[0].message)) from None
        self.context = self._transport.context

    def get(self, path: str, query: dict[str, str]) -> Any:
        """Get a path; raises InputError (HF338) where the server cannot be reached or answers with an error."""
        answer = self._transport.send("GET", path, query)
        if answer.status in (403, 404, 503):
            return None
        if not 200 <= answer.status < 300:
            known = answer.status in {status.value for status in HTTPStatus}
            reason = f"{answer.status} {HTTPStatus(answer.status).phrase}" if known else answer.text
            raise InputError(_unreachable(self.context, reason))
        try:
            return json.loads(answer.text)
        except ValueError as error:
            raise InputError(_unreachable(self.context, str(error).splitlines()[0][:200])) from None


def _unreachable(context: str, reason: str) -> Finding:
    return Finding(
        code="HF338",
        message=f"cannot read the cluster of context {context!r}: {reason}",
        where=f"context {context}",
        hint="kubectl config get-contexts lists the contexts",
    )


def fetch_objects(server: Server, context: str) -> list[tuple[str, list[Any]]]:
    """Fetch what a fleet is made of: pairs of a cluster name and objects, as `read_fleet` takes them.

    A Karmada plane gives its Clusters, and the nodes, pods and HyperNodes of each member through its proxy where it
    is open. Any other server is one cluster, named after the context. Raises InputError (HF338) where nothing is
    found.
    """
    clusters = list(_items(server, _CLUSTERS_PATH))
    if not clusters:
        objects = [item for path in _MEMBER_PATHS for item in _items(server, path)]
        if not any(item.get("kind") == "Node" for item in objects):
            raise InputError(_unreachable(context, "it shows neither nodes nor Karmada Clusters"))
        return [(context, objects)]
    fetched: list[tuple[str, list[Any]]] = [("", list(clusters))]
    for cluster in clusters:
        name = text(dig(cluster, "metadata", "name"))
        proxy = f"{_CLUSTERS_PATH}/{name}/proxy"
        objects = [item for path in _MEMBER_PATHS for item in _items(server, proxy + path)]
        if objects:
            fetched.append((name, objects))
    return fetched


def _items(server: Server, path: str) -> Iterator[dict[str, Any]]:
    """Give all items of a list, page by page, each with the kind that lists leave out."""
    query = {"limit": str(PAGE_SIZE)}
    kind = _KINDS[path.rpartition("/")[2]]
    while True:
        answer = server.get(path, query)
        for item in sequence(mapping(answer).get("items")):
            if is_mapping(item):
                item.setdefault("kind", kind)
                yield item
        token = text(dig(answer, "metadata", "continue"))
        if not token:
            return
        query = {"limit": str(PAGE_SIZE), "continue": token}
