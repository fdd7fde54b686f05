"""Running a kubeconfig's credential plugin (client.authentication.k8s.io): under a time limit, its faults as findings.

Source: kubernetes.io, "client-go credential plugins".
"""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from hyperflow.errors import Finding, InputError
from hyperflow.json_tree import dig, mapping, sequence, text
from hyperflow.submit.refusals import hide_secrets

Json = dict[str, Any]
PLUGIN_SECONDS = 60.0
LOGIN_SECONDS = 600.0


def run_plugin(plugin: Json, cluster: Json, context: str, folder: Path) -> Json:
    """Run the plugin and give the status of its ExecCredential: a token, or a certificate with its key.

    A plugin that may ask people gets the terminal, and time for a login. Raises InputError (HF531).
    """
    version, command = text(plugin.get("apiVersion")), text(plugin.get("command"))
    mode = text(plugin.get("interactiveMode"), "IfAvailable")
    asks = mode != "Never" and sys.stdin is not None and sys.stdin.isatty()
    if mode == "Always" and not asks:
        raise _failed(plugin, context, "it needs a terminal (interactiveMode Always)", "a terminal")
    spec: Json = {"interactive": asks}
    if plugin.get("provideClusterInfo") is True:
        spec["cluster"] = _cluster_info(cluster)
    info = {"apiVersion": version, "kind": "ExecCredential", "spec": spec}
    given = {text(dig(item, "name")): text(dig(item, "value")) for item in sequence(plugin.get("env"))}
    environment = {**os.environ, **given, "KUBERNETES_EXEC_INFO": json.dumps(info)}
    seconds = LOGIN_SECONDS if asks else PLUGIN_SECONDS
    words = [command, *map(str, sequence(plugin.get("args")))]
    try:
        code, said, complaint = _run(words, folder, environment, seconds, asks=asks)
    except (FileNotFoundError, PermissionError):
        hint = text(plugin.get("installHint")).strip()
        raise _failed(plugin, context, "no such command", "the plugin on the PATH", hint) from None
    except (OSError, ValueError) as error:
        raise _failed(plugin, context, hide_secrets(str(error)), "a command that runs") from None
    except subprocess.TimeoutExpired:
        raise _failed(plugin, context, f"no answer in {seconds:g} s", "an ExecCredential") from None
    if code != 0:
        lines = complaint.strip().splitlines()
        told = f": {hide_secrets(lines[-1][:200])}" if lines else ""
        raise _failed(plugin, context, f"exit code {code}{told}", "exit code 0")
    return _status(plugin, context, said, version)


def _run(
    words: list[str], folder: Path, environment: dict[str, str], seconds: float, *, asks: bool
) -> tuple[int, str, str]:
    # a plugin that cannot ask gets a group of its own, so that what it started ends with it
    group = None if asks else 0
    with subprocess.Popen(
        words, cwd=folder, env=environment, text=True, errors="replace", process_group=group,
        stdin=None if asks else subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=None if asks else subprocess.PIPE,
    ) as process:  # fmt: skip
        try:
            said, complaint = process.communicate(timeout=seconds)
        finally:
            if process.poll() is None:
                _kill(process, is_leader=not asks)
        return process.returncode, said, complaint or ""


def _kill(process: subprocess.Popen[str], *, is_leader: bool) -> None:
    if is_leader:
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()


def _status(plugin: Json, context: str, said: str, version: str) -> Json:
    """Read the answer; it is never shown, since it holds the credential."""
    try:
        answer = mapping(json.loads(said))
    except ValueError:
        raise _failed(plugin, context, "output that is not JSON", "an ExecCredential") from None
    if answer.get("kind") != "ExecCredential" or answer.get("apiVersion") != version:
        got = f"kind {answer.get('kind')!r}, apiVersion {answer.get('apiVersion')!r}"
        raise _failed(plugin, context, got, f"kind ExecCredential, apiVersion {version}")
    status = mapping(answer.get("status"))
    if not text(status.get("token")) and not (
        text(status.get("clientCertificateData")) and text(status.get("clientKeyData"))
    ):
        raise _failed(plugin, context, "no status.token", "a token, or a certificate with its key")
    return status


def _cluster_info(cluster: Json) -> Json:
    names = {"server", "tls-server-name", "insecure-skip-tls-verify", "certificate-authority-data", "proxy-url"}
    info = {name: value for name, value in cluster.items() if name in names}
    for extension in sequence(cluster.get("extensions")):
        if dig(extension, "name") == "client.authentication.k8s.io/exec":
            info["config"] = dig(extension, "extension")
    return info


def _failed(plugin: Json, context: str, got: str, expected: str, hint: str = "") -> InputError:
    command = text(plugin.get("command")) or "(no command)"
    return InputError(
        Finding(
            code="HF531",
            message=f"the credential plugin {command} of context {context} gives no credential",
            where="kubeconfig",
            got=got,
            expected=expected,
            hint=hint or f"run {command} by hand, or log in again",
        )
    )
