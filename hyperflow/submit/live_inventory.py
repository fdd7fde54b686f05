"""What a live cluster or plane says of itself: the objects that a fleet is made of, as the API server gives them."""

import json
from collections.abc import Iterator
from typing import Any, Protocol, cast

from hyperflow.errors import Finding, InputError
from hyperflow.json_tree import dig, is_mapping, mapping, sequence, text

PAGE_SIZE = 500
_MEMBER_PATHS = ("/api/v1/nodes", "/api/v1/pods", "/apis/topology.volcano.sh/v1alpha1/hypernodes")
_CLUSTERS_PATH = "/apis/cluster.karmada.io/v1alpha1/clusters"
_KINDS = {"nodes": "Node", "pods": "Pod", "hypernodes": "HyperNode", "clusters": "Cluster"}


class Server(Protocol):
    """One API server: `get` gives a parsed answer, None where the server has no such path or forbids it."""

    def get(self, path: str, query: dict[str, str]) -> Any: ...


class KubernetesServer:
    """An API server reached through a kubeconfig context."""

    def __init__(self, context: str) -> None:
        from kubernetes import client, config
        from kubernetes.config.config_exception import ConfigException

        settings = client.Configuration()
        try:
            cast(Any, config).load_kube_config(context=context, client_configuration=settings)
        except (ConfigException, OSError) as error:
            raise InputError(_unreachable(context, str(error))) from None
        self.context = context
        self._client: Any = client.ApiClient(settings)

    def get(self, path: str, query: dict[str, str]) -> Any:
        """Get a path; raises InputError (HF338) where the server cannot be reached or answers with an error."""
        from kubernetes.client.exceptions import ApiException
        from urllib3.exceptions import HTTPError

        try:
            answer: Any = self._client.call_api(
                path,
                "GET",
                query_params=list(query.items()),
                header_params={"Accept": "application/json"},
                auth_settings=["BearerToken"],
                _preload_content=False,
                _return_http_data_only=True,
                _request_timeout=60,
            )
            return json.loads(answer.data)
        except ApiException as error:
            failure: Any = error  # its attributes have no types
            if failure.status in (403, 404, 503):
                return None
            raise InputError(_unreachable(self.context, f"{failure.status} {failure.reason}")) from None
        except (HTTPError, ValueError) as error:
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
