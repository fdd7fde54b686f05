"""Probes and lifecycle handlers of a container. Source as in pod_template.py."""

import re
from typing import Any

from hyperflow.admission.names import port_name
from hyperflow.admission.problem import Path
from hyperflow.admission.rules.collector import Collector
from hyperflow.admission.rules.job_view import entries, whole
from hyperflow.json_tree import is_mapping, mapping, sequence, text

_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc")
_HOOK_HANDLERS = ("exec", "httpGet", "tcpSocket", "sleep")
_NUMBERS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
_GRACE_SECONDS = 30
_HEADER = re.compile(r"[-A-Za-z0-9]+")


def check_probes(out: Collector, path: Path, container: dict[str, Any], spec: dict[str, Any], *, is_init: bool) -> None:
    """Check probes and hooks; an init container that ends may have neither."""
    may_have = not is_init or container.get("restartPolicy") == "Always"
    for name in (*_PROBES, "lifecycle"):
        if name in container and not may_have:
            out.deny("HF835", "init-probe", (*path, name), "an init container that ends has no probes and hooks",
                     got=sorted(mapping(container[name])),
                     hint="take it out, or write restartPolicy: Always")  # fmt: skip
    for name in _PROBES:
        if is_mapping(container.get(name)) and may_have:
            _probe(out, (*path, name), name, container[name])
    for name, hook in mapping(container.get("lifecycle")).items():
        if is_mapping(hook) and may_have:
            _handler(out, (*path, "lifecycle", name), hook, _HOOK_HANDLERS)
            _sleep(out, (*path, "lifecycle", name, "sleep", "seconds"), hook, spec)


def _sleep(out: Collector, path: Path, hook: dict[str, Any], spec: dict[str, Any]) -> None:
    grace = spec.get("terminationGracePeriodSeconds")
    limit = _GRACE_SECONDS if grace is None else whole(grace)
    seconds = mapping(hook.get("sleep")).get("seconds")
    if "sleep" in hook and not 1 <= whole(seconds) <= max(limit, 1):
        out.deny("HF835", "sleep", path, "out of range", got=seconds,
                 expected=f"1 to the grace period, {limit}", hint="shorten it")  # fmt: skip


def _probe(out: Collector, path: Path, name: str, probe: dict[str, Any]) -> None:
    _handler(out, path, probe, _HANDLERS)
    for key in _NUMBERS:
        if whole(probe.get(key)) < 0:
            out.deny("HF835", "probe-number", (*path, key), "must not be negative", got=probe[key],
                     expected="0 or more",
                     hint="correct the number")  # fmt: skip
    successes = probe.get("successThreshold")
    if name != "readinessProbe" and successes not in (None, 0, 1):
        out.deny("HF835", "probe-success", (*path, "successThreshold"), f"must be 1 in a {name}", got=successes,
                 expected="1", hint="take it out")  # fmt: skip
    grace = probe.get("terminationGracePeriodSeconds")
    if grace is not None and (name == "readinessProbe" or whole(grace) < 1):
        out.deny("HF835", "probe-grace", (*path, "terminationGracePeriodSeconds"),
                 "not in a readiness probe, and 1 or more elsewhere", got=grace, hint="take it out")  # fmt: skip


def _handler(out: Collector, path: Path, parent: dict[str, Any], known: tuple[str, ...]) -> None:
    given = [key for key in known if key in parent]
    if len(given) != 1:
        out.deny("HF835", "handler", path, "takes exactly one handler", got=given,
                 expected="one of " + ", ".join(known),
                 hint="name one handler")  # fmt: skip
    if "exec" in given and not sequence(mapping(parent["exec"]).get("command")):
        out.deny("HF835", "handler", (*path, "exec", "command"), "required value is missing", expected="a command",
                 hint="write command")  # fmt: skip
    for key in ("httpGet", "tcpSocket"):
        if key in given:
            _port(out, (*path, key, "port"), mapping(parent[key]).get("port"))
    http = mapping(parent.get("httpGet"))
    out.one_of("HF835", "scheme", (*path, "httpGet", "scheme"), http.get("scheme"), ("HTTP", "HTTPS"))
    for index, header in entries(http.get("httpHeaders")):
        if not _HEADER.fullmatch(text(header.get("name"))):
            out.deny("HF835", "header", (*path, "httpGet", "httpHeaders", index, "name"), "no name of a header",
                     got=header.get("name"), hint="use letters, digits and dashes")  # fmt: skip
    if "grpc" in given and not 1 <= whole(mapping(parent["grpc"]).get("port")) <= 65535:
        out.deny("HF835", "handler-port", (*path, "grpc", "port"), "out of range",
                 got=mapping(parent["grpc"]).get("port"), expected="1 to 65535", hint="correct the number")  # fmt: skip


def _port(out: Collector, path: Path, port: object) -> None:
    if isinstance(port, str):
        wrong = port_name(port)
        if wrong:
            out.deny("HF835", "handler-port", path, wrong, got=port, expected="a number, or the name of a port",
                     hint="write the number without quotes" if port.isdigit() else "correct the name")  # fmt: skip
    elif not 1 <= whole(port) <= 65535:
        out.deny(
            "HF835", "handler-port", path, "out of range", got=port, expected="1 to 65535", hint="correct the number"
        )
