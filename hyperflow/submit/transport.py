"""One connection to an API server, through the official client's DynamicClient."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, cast

from hyperflow.errors import Finding, InputError
from hyperflow.submit.refusals import hide_secrets

CONNECT_SECONDS = 10.0
READ_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back; status 0 means that no whole answer came, `text` then says why."""

    status: int
    text: str
    headers: Mapping[str, str]


class Transport(Protocol):
    """Sends one request. A failure to connect or a torn answer is an Answer of status 0, never an exception."""

    context: str

    def send(
        self, method: str, path: str, query: Mapping[str, str], body: object = None, content_type: str = ""
    ) -> Answer: ...

    def lines(self, path: str, query: Mapping[str, str], read_seconds: float) -> Iterator[str | Answer]: ...


class KubernetesTransport:
    """A kubeconfig context, or the pod's own service account where there is no kubeconfig.

    Exec plugins, proxies and certificates are the kubeconfig's; nothing here turns verification off.
    """

    def __init__(self, context: str | None = None) -> None:
        self._wanted = context
        self.context = context or "current"
        self._dynamic: Any = None

    def _client(self) -> Any:
        if self._dynamic is None:
            self._dynamic, self.context = _connect(self._wanted)
        return self._dynamic

    def open(self) -> None:
        """Read the connection settings now; raises InputError (HF502) where there are none."""
        self._client()

    def forget_credentials(self) -> None:
        """Read the kubeconfig again at the next request: tokens expire while a job runs."""
        self._dynamic = None

    def send(
        self, method: str, path: str, query: Mapping[str, str], body: object = None, content_type: str = ""
    ) -> Answer:
        """Send one request and read the whole answer."""
        from kubernetes.client.exceptions import ApiException
        from urllib3.exceptions import HTTPError

        try:
            answer: Any = self._request(method, path, query, body, content_type, READ_SECONDS)
            data: bytes = answer.data
            return Answer(status=int(answer.status), text=data.decode("utf-8", "replace"), headers=dict(answer.headers))
        except ApiException as error:
            return _failure(error)
        except (HTTPError, OSError) as error:
            return Answer(status=0, text=hide_secrets(str(error).splitlines()[0][:300]), headers={})

    def lines(self, path: str, query: Mapping[str, str], read_seconds: float) -> Iterator[str | Answer]:
        """Yield the lines of a stream; an Answer instead of a line ends it."""
        from kubernetes.client.exceptions import ApiException
        from urllib3.exceptions import HTTPError

        answer: Any = None
        try:
            answer = self._request("GET", path, query, None, "", read_seconds)
            rest = b""
            for chunk in answer.stream(decode_content=False):
                rest += cast(bytes, chunk)
                *whole, rest = rest.split(b"\n")
                yield from (line.decode("utf-8", "replace") for line in whole)
            if rest:
                yield rest.decode("utf-8", "replace")
        except ApiException as error:
            yield _failure(error)
        except (HTTPError, OSError) as error:
            yield Answer(status=0, text=hide_secrets(str(error).splitlines()[0][:300]), headers={})
        finally:
            if answer is not None:
                answer.close()

    def _request(
        self, method: str, path: str, query: Mapping[str, str], body: object, content_type: str, read_seconds: float
    ) -> Any:
        return self._client().request(
            method,
            path,
            body=body,
            query_params=list(query.items()),
            header_params={"Accept": "application/json, */*"},
            content_type=content_type or "application/json",
            serialize=False,
            _request_timeout=(CONNECT_SECONDS, read_seconds),
        )


def _failure(error: Any) -> Answer:
    body = error.body  # bytes with kubernetes 30, text with 37
    text = body.decode("utf-8", "replace") if isinstance(body, bytes) else str(body or error.reason or "")
    return Answer(status=int(error.status or 0), text=text, headers=dict(error.headers or {}))


def _connect(context: str | None) -> tuple[Any, str]:
    from kubernetes import client, config
    from kubernetes.config.config_exception import ConfigException
    from kubernetes.dynamic import DynamicClient

    untyped: Any = config  # its functions have no types
    settings = client.Configuration()
    name = context or ""
    try:
        try:
            # the client looks at KUBECONFIG only once, when it is imported
            file = os.environ.get("KUBECONFIG") or "~/.kube/config"
            untyped.load_kube_config(file, context=context, client_configuration=settings)
            name = name or str(untyped.list_kube_config_contexts(file)[1]["name"])
        except ConfigException:
            if context:
                raise
            untyped.load_incluster_config(client_configuration=settings)
            name = "this pod's service account"
    except (ConfigException, OSError) as error:
        raise InputError(_no_connection(context, hide_secrets(str(error)))) from None
    cast(Any, settings).retries = False  # retries are ours, since only we know what may be repeated
    return DynamicClient(client.ApiClient(settings), discoverer=cast(Any, _no_discovery)), name


def _no_discovery(_client: object, _cache_file: object) -> None:
    """Stand in for the client's discovery: our paths are fixed, and a cache in the shared temp folder is no good."""


def _no_connection(context: str | None, reason: str) -> Finding:
    return Finding(
        code="HF502",
        message=f"no connection settings for {f'context {context!r}' if context else 'the current context'}: {reason}",
        where="kubeconfig",
        hint="kubectl config get-contexts lists the contexts; KUBECONFIG names the file",
    )
