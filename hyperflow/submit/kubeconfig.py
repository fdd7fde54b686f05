"""Connection settings from kubeconfig files, as kubectl reads them; what the official client leaves out is done here.

Credential plugins run under a time limit and their faults are findings (the client only logs them); a cluster's
proxy-url and the proxy variables count with every client version. Verification is what the kubeconfig says.
"""

import base64
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import yaml

from hyperflow.errors import Finding, InputError
from hyperflow.json_tree import dig, is_mapping, is_sequence, mapping, sequence, text
from hyperflow.submit.exec_credential import run_plugin
from hyperflow.submit.proxies import proxy_for
from hyperflow.submit.refusals import hide_secrets

Json = dict[str, Any]
_LISTS = (("clusters", "cluster"), ("contexts", "context"), ("users", "user"))
_TEXTS = {
    "cluster": ("server", "certificate-authority", "certificate-authority-data", "tls-server-name", "proxy-url"),
    "context": ("cluster", "user", "namespace"),
    "user": (
        "token", "tokenFile", "username", "password",
        "client-certificate", "client-certificate-data", "client-key", "client-key-data",
    ),
}  # fmt: skip
_MAPPINGS = ("exec", "auth-provider")
IN_POD = "this pod's service account"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """A client's configuration, the name of its context, what must never be shown, and notes for the user."""

    configuration: Any
    context: str
    secrets: tuple[str, ...] = ()
    notes: tuple[Finding, ...] = ()


def read_settings(context: str | None) -> Settings:
    """Read a context (None: the current one); without any kubeconfig, the pod's own service account.

    Raises InputError: HF502 where there are no settings, HF531 where a credential plugin gives no credential.
    """
    from kubernetes import client, config
    from kubernetes.config.config_exception import ConfigException

    configuration: Any = client.Configuration()
    configuration.retries = False  # retries are ours, since only we know what may be repeated
    given = os.environ.get("KUBECONFIG") or "~/.kube/config"
    paths = [Path(part).expanduser() for part in given.split(os.pathsep) if part]
    files = [path for path in paths if path.exists()]
    if files:
        return _from_files(files, context, configuration)
    if context:
        raise unusable(context, f"there is no file {given}")
    untyped: Any = config  # its functions have no types
    try:
        untyped.load_incluster_config(client_configuration=configuration)
    except (ConfigException, OSError):
        raise unusable(None, f"there is no file {given}, and this is no pod") from None
    return _finished(configuration, IN_POD, {}, ())


def _from_files(files: list[Path], context: str | None, configuration: Any) -> Settings:
    from kubernetes.client.exceptions import ApiException
    from kubernetes.config import kube_config
    from kubernetes.config.config_exception import ConfigException
    from oauthlib.oauth2 import OAuth2Error  # pyright: ignore[reportMissingTypeStubs]  # it has none
    from urllib3.exceptions import HTTPError

    untyped: Any = kube_config
    documents = [_document(path, context) for path in files]
    # the client lets the last file choose the current context; kubectl the first
    name = context or next((now for d in documents if (now := text(d.get("current-context")))), "")
    if not name:
        raise unusable(None, "no file sets current-context")
    chosen = mapping(dig(_named(documents, "contexts", name), "context"))
    cluster = mapping(dig(_named(documents, "clusters", text(chosen.get("cluster"))), "cluster"))
    merger = untyped.KubeConfigMerger(os.pathsep.join(map(str, files)))
    node = next((node for node in merger.config.value["users"] if node.value["name"] == chosen.get("user")), None)
    user = mapping(node.value["user"]) if node else {}
    save = merger.save_changes  # a renewed OIDC token goes back to its file, else the old one is spent
    if node is not None and "exec" in user:
        user, save = _from_plugin(user, cluster, name, Path(node.path).parent), None
        node.value["user"] = user
    _check_provider(user, name)
    try:
        loader = untyped.KubeConfigLoader(
            config_dict=merger.config, active_context=name, config_base_path=None, config_persister=save
        )
        loader.load_and_set(configuration)
    except (ConfigException, OSError, ValueError) as error:
        raise unusable(name, hide_secrets(str(error))) from None
    except (ApiException, HTTPError, OAuth2Error, KeyError) as error:
        raise unusable(name, f"the OIDC token cannot be renewed ({type(error).__name__}); log in again") from None
    if not text(cluster.get("server")):
        raise unusable(name, f"cluster {text(chosen.get('cluster'))!r} has no server")
    secrets = [text(user.get(key)) for key in ("token", "password", "client-key-data")]
    return _finished(configuration, name, cluster, secrets)


def _finished(configuration: Any, context: str, cluster: Json, secrets: Iterable[str]) -> Settings:
    proxy, headers = proxy_for(text(configuration.host), text(cluster.get("proxy-url")), os.environ)
    # with no_proxy empty no client version decides once more
    configuration.proxy, configuration.proxy_headers, configuration.no_proxy = proxy, headers, ""
    keys = [text(value) for value in cast("dict[str, object]", configuration.api_key).values()]
    words = [key.rpartition(" ")[2] for key in keys] + [value.rpartition(" ")[2] for value in mapping(headers).values()]
    notes = [_unchecked(context)] if cluster.get("insecure-skip-tls-verify") is True else []
    hidden = {word for word in (*secrets, *words) if len(word) > 3}
    return Settings(
        configuration=configuration,
        context=context,
        secrets=tuple(sorted(hidden, key=len, reverse=True)),
        notes=tuple(notes),
    )


def _document(path: Path, context: str | None) -> Json:
    """Read one file and check its shape, since the client would fail on another one with a traceback."""
    try:
        value: object = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        # the error's own text would quote the file
        raise unusable(context, f"{path}:{line}: {error.problem or 'no YAML'}") from None
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise unusable(context, f"{path}: {type(error).__name__}") from None
    if not is_mapping(value):
        raise unusable(context, f"{path} is no mapping")
    for plural, single in _LISTS:
        items = value.get(plural)
        if items and not is_sequence(items):
            raise unusable(context, f"{plural} in {path} is no list")
        for item in sequence(items):
            if not is_mapping(item) or not text(item.get("name")) or not is_mapping(item.get(single)):
                raise unusable(context, f"an item of {plural} in {path} has no name or no {single}")
            where = f"{single} {text(item.get('name'))!r} in {path}"
            _check_fields(mapping(item.get(single)), _TEXTS[single], where, context)
    return value


def _check_fields(fields: Json, texts: Iterable[str], where: str, context: str | None) -> None:
    """Refuse values of another type, as kubectl does; what they are is not told, since it may be a password."""
    for key in texts:
        if not isinstance(fields.get(key), str | None):
            raise unusable(context, f"{key} of {where} is no text")
    for key in _MAPPINGS:
        if fields.get(key) is not None and not is_mapping(fields[key]):
            raise unusable(context, f"{key} of {where} is no mapping")


def _named(documents: Iterable[Json], plural: str, name: str) -> Json:
    """Find an item by name; the first file that has it counts."""
    items = (item for document in documents for item in sequence(document.get(plural)))
    return mapping(next((item for item in items if dig(item, "name") == name), None))


def _check_provider(user: Json, context: str) -> None:
    """Refuse the providers that Kubernetes took out, and one for which the client would turn verification off."""
    if "auth-provider" not in user:
        return
    name = text(dig(user, "auth-provider", "name"))
    settings = mapping(dig(user, "auth-provider", "config"))
    if name != "oidc":
        raise unusable(context, f"auth-provider {name} is no longer part of Kubernetes (1.26); use its exec plugin")
    if not {"idp-certificate-authority", "idp-certificate-authority-data"} & set(settings):
        reason = "auth-provider oidc has no idp-certificate-authority, so its token would be renewed unprotected"
        raise unusable(context, reason)


def _from_plugin(user: Json, cluster: Json, context: str, folder: Path) -> Json:
    """Give a user with what its plugin says in the plugin's place."""
    status = run_plugin(mapping(user.get("exec")), cluster, context, folder)
    found = {name: value for name, value in user.items() if name != "exec"}
    if text(status.get("token")):
        return {**found, "token": status["token"]}
    for key, name in (("clientCertificateData", "client-certificate-data"), ("clientKeyData", "client-key-data")):
        found[name] = base64.standard_b64encode(text(status.get(key)).encode()).decode()
    return found


def _unchecked(context: str) -> Finding:
    return Finding(
        code="HF532",
        severity="note",
        message=f"the kubeconfig turns off the verification of the server's certificate for context {context}",
        where="kubeconfig",
        got="insecure-skip-tls-verify: true",
        expected="certificate-authority",
        hint="whoever sits between can read the token; HyperFlow follows the kubeconfig and never does this itself",
    )


def unusable(context: str | None, reason: str) -> InputError:
    """Say (HF502) that there are no settings to connect with."""
    which = f"context {context!r}" if context else "the current context"
    return InputError(
        Finding(
            code="HF502",
            message=f"no connection settings for {which}: {reason}",
            where="kubeconfig",
            hint="kubectl config get-contexts lists the contexts; KUBECONFIG names the file",
        )
    )
