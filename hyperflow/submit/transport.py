"""One connection to an API server, through the official client's DynamicClient."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, cast

from hyperflow.errors import Finding
from hyperflow.submit.kubeconfig import Settings, read_settings, unusable
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

    @property
    def notes(self) -> tuple[Finding, ...]: ...

    def send(
        self, method: str, path: str, query: Mapping[str, str], body: object = None, content_type: str = ""
    ) -> Answer: ...

    def lines(self, path: str, query: Mapping[str, str], read_seconds: float) -> Iterator[str | Answer]: ...

    def forget_credentials(self) -> None: ...

    def renew_credentials(self) -> bool: ...


class KubernetesTransport:
    """A kubeconfig context, or the pod's own service account where there is no kubeconfig.

    Exec plugins, proxies and certificates are the kubeconfig's; nothing here turns verification off.
    """

    def __init__(self, context: str | None = None, read_seconds: float = READ_SECONDS) -> None:
        self._wanted, self._read_seconds = context, read_seconds
        self.context = context or "current"
        self._dynamic: Any = None
        self._settings: Settings | None = None

    def _client(self) -> Any:
        if self._dynamic is None:
            self._settings = read_settings(self._wanted)
            self.context = self._settings.context
            self._dynamic = _client_of(self._settings)
        return self._dynamic

    @property
    def notes(self) -> tuple[Finding, ...]:
        """What the user should know of the connection."""
        self._client()
        return self._settings.notes if self._settings else ()

    def open(self) -> None:
        """Read the connection settings now; raises InputError (HF502) where there are none."""
        self._client()

    def forget_credentials(self) -> None:
        """Read the kubeconfig again at the next request: tokens expire while a job runs."""
        self._dynamic = None

    def renew_credentials(self) -> bool:
        """Read the kubeconfig again now; False where it gives the credentials that we have."""
        old = self._settings.secrets if self._settings else None
        self.forget_credentials()
        self._client()
        return self._settings is not None and self._settings.secrets != old

    def send(
        self, method: str, path: str, query: Mapping[str, str], body: object = None, content_type: str = ""
    ) -> Answer:
        """Send one request and read the whole answer."""
        from kubernetes.client.exceptions import ApiException
        from urllib3.exceptions import HTTPError

        try:
            answer: Any = self._request(method, path, query, body, content_type, self._read_seconds)
            data: bytes = answer.data
            return Answer(status=int(answer.status), text=data.decode("utf-8", "replace"), headers=dict(answer.headers))
        except ApiException as error:
            return self._failure(error)
        except (HTTPError, OSError) as error:
            return self._broken(error)

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
            yield self._failure(error)
        except (HTTPError, OSError) as error:
            yield self._broken(error)
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

    def _failure(self, error: Any) -> Answer:
        body = error.body  # bytes with kubernetes 30, text with 37
        text = body.decode("utf-8", "replace") if isinstance(body, bytes) else str(body or error.reason or "")
        return Answer(status=int(error.status or 0), text=self._hidden(text), headers=dict(error.headers or {}))

    def _broken(self, error: Exception) -> Answer:
        lines = str(error).splitlines() or [type(error).__name__]
        return Answer(status=0, text=self._hidden(lines[0][:300]), headers={})

    def _hidden(self, text: str) -> str:
        """Take our own credentials out of what a server or a proxy says."""
        for secret in self._settings.secrets if self._settings else ():
            text = text.replace(secret, "***")
        return hide_secrets(text)


def _client_of(settings: Settings) -> Any:
    from kubernetes import client
    from kubernetes.dynamic import DynamicClient
    from urllib3.exceptions import HTTPError

    try:
        return DynamicClient(client.ApiClient(settings.configuration), discoverer=cast(Any, _no_discovery))
    except (
        HTTPError,
        OSError,
        ImportError,
        ValueError,
    ) as error:  # a proxy's scheme, or files that are no certificates
        raise unusable(settings.context, hide_secrets(str(error))) from None


def _no_discovery(_client: object, _cache_file: object) -> None:
    """Stand in for the client's discovery: our paths are fixed, and a cache in the shared temp folder is no good."""
