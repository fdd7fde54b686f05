"""Whether a member can obey a network topology: HyperNodes with the tiers asked for, and the scheduler's plugin."""

from collections.abc import Iterator
from typing import Any

from hyperflow.errors import Finding
from hyperflow.json_tree import dig, is_mapping, mapping, sequence, text
from hyperflow.submit.plane import Plane
from hyperflow.submit.server_kinds import CONFIG_MAP, HYPERNODE

Json = dict[str, Any]
PLUGIN = "network-topology-aware"


def topologies(spec: Json) -> Iterator[Json]:
    """Each hard topology constraint of a vcjob: the job's and those of its partitions."""
    for found in (
        dig(spec, "networkTopology"),
        *(dig(task, "partitionPolicy", "networkTopology") for task in sequence(spec.get("tasks"))),
    ):
        if is_mapping(found):
            yield found


def tier_findings(member: Plane, server: str, specs: list[tuple[str, Json]]) -> list[Finding]:
    """Find tiers that the cluster's HyperNodes do not have."""
    wanted = [topology for _, spec in specs for topology in topologies(spec)]
    if not wanted:
        return []
    nodes = member.find(HYPERNODE)[0]
    tiers = {tier for node in nodes if isinstance(tier := dig(node, "spec", "tier"), int)}
    names = {text(dig(node, "spec", "tierName")) for node in nodes} - {""}
    if not tiers:
        hint = f"hyperflow fleet --context {server} --hypernodes FILE writes them from node labels"
        return [Finding(code="HF523", message="there are no HyperNodes, so no tier means anything", hint=hint)]
    found: list[Finding] = []
    for topology in wanted:
        tier, name = topology.get("highestTierAllowed"), text(topology.get("highestTierName"))
        if topology.get("mode") == "soft":
            continue
        if isinstance(tier, int) and not min(tiers) <= tier <= max(tiers):
            found.append(_bad(f"hard tier {tier} is asked for; the tiers here are {min(tiers)} to {max(tiers)}"))
        if name and name not in names:
            found.append(
                _bad(f"hard tier {name} is asked for; the tiers here are {', '.join(sorted(names)) or 'unnamed'}")
            )
    return found


def plugin_finding(member: Plane, server: str, specs: list[tuple[str, Json]]) -> list[Finding]:
    """Find a scheduler that runs without the plugin that obeys topologies."""
    if not any(True for _, spec in specs for _ in topologies(spec)):
        return []
    for config in member.find(CONFIG_MAP)[0]:
        if "volcano-scheduler" in text(dig(config, "metadata", "name")):
            written = "\n".join(str(value) for value in mapping(config.get("data")).values())
            if PLUGIN in written:
                return []
            return [
                Finding(
                    code="HF523",
                    message=f"the scheduler's configuration does not name {PLUGIN}, so topologies are ignored",
                    hint=f"add `- name: {PLUGIN}` to volcano-scheduler.conf of {server} and restart the scheduler",
                )
            ]
    message = "no ConfigMap of the Volcano scheduler is there to read"
    return [
        Finding(code="HF524", severity="note", message=message, hint=f"look for {PLUGIN} in volcano-scheduler.conf")
    ]


def _bad(message: str) -> Finding:
    hint = "compile against the live fleet: hyperflow fleet --context NAME -o fleet.yaml"
    return Finding(code="HF523", message=message, hint=hint)
