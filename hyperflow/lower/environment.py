"""Variables of the training container: ranks, plan, network settings, and the user's own."""

import re

from hyperflow.errors import Finding, nearest
from hyperflow.lower.draft import LAUNCH_DIR, Draft
from hyperflow.lower.rendezvous import Rendezvous
from hyperflow.lower.schedule_file import FILE as SCHEDULE_FILE
from hyperflow.lower.schedule_file import needs_schedule_file
from hyperflow.lower.split_counts import layers_per_stage
from hyperflow.lower.stage_groups import StageGroup
from hyperflow.lower.storage import CACHE_MOUNT, checkpoint_location, data_location, keeps_cache
from hyperflow.lower.timeouts import comm_seconds, rendezvous_seconds
from hyperflow.spec.fleet import Cluster, LinkKind

RESERVED = re.compile(r"(HF|VC|VK|PET)_.*|MASTER_ADDR|MASTER_PORT|WORLD_SIZE|RANK|LOCAL_RANK|GROUP_RANK")
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
HEALTH_REPORT = "/hyperflow/health/report"


def group_variables(draft: Draft, group: StageGroup, cluster: Cluster, rendezvous: Rendezvous) -> dict[str, str]:
    """Give all variables of a group's pods on a cluster; the user's win over NCCL defaults, never over ours."""
    settings = draft.job.job.env
    ours = _ranks(draft, group, cluster, rendezvous) | _plan(draft) | _storage(draft)
    return ours | settings.nccl.get(cluster.name, {}) | settings.variables


def escape_dollars(text: str) -> str:
    """Keep the kubelet from replacing $(NAME) in commands, arguments and variables.

    >>> escape_dollars("$(HOME) costs 5$")
    '$$(HOME) costs 5$$'
    """
    return text.replace("$", "$$")


def check_environment(draft: Draft) -> list[Finding]:
    """Find bad names and values (HF409), and NCCL settings that fit no cluster (HF428) or its network (HF429)."""
    settings = draft.job.job.env
    sources = draft.job.job.sources
    named = [(name, "env") for name in settings.variables]
    named += [(name, f"env.nccl.{cluster}") for cluster in settings.nccl for name in settings.nccl[cluster]]
    findings = [
        Finding(
            code="HF409",
            message=f"the variable {name!r} "
            + ("is set by HyperFlow or torchrun" if RESERVED.fullmatch(name) else "has no legal name"),
            where=source,
            got=repr(name),
            hint="use another name" if RESERVED.fullmatch(name) else "letters, digits and _, no digit first",
            span=sources.get(source),
        )
        for name, source in named
        if RESERVED.fullmatch(name) or not VARIABLE.fullmatch(name)
    ]
    valued = [(name, "env", value) for name, value in settings.variables.items()]
    valued += [(n, f"env.nccl.{c}", v) for c, variables in settings.nccl.items() for n, v in variables.items()]
    findings += [
        Finding(
            code="HF409",
            message=f"the value of the variable {name!r} holds a null byte, which no process can be given",
            where=source,
            got=repr(value[:60]),
            expected="text without null bytes",
            hint="pass binary data as a file, or encode it",
            span=sources.get(f"{source}.{name}") or sources.get(source) or sources.get("env"),
        )
        for name, source, value in valued
        if "\0" in value
    ]
    for cluster in settings.nccl:
        findings += _check_nccl(draft, cluster)
    return findings


def _check_nccl(draft: Draft, cluster: str) -> list[Finding]:
    span = draft.job.job.sources.get("env.nccl") or draft.job.job.sources.get(f"env.nccl.{cluster}")
    found = draft.job.fleet.cluster(cluster)
    if found is None:
        known = [c.name for c in draft.job.fleet.clusters]
        return [
            Finding(
                code="HF428",
                message=f"NCCL settings for the unknown cluster {cluster!r}",
                where="env.nccl",
                expected="one of " + ", ".join(known),
                hint=nearest(cluster, known),
                span=span,
            )
        ]
    ethernet = all(group.network == LinkKind.ETHERNET for group in found.groups)
    adapters = draft.job.job.env.nccl[cluster].get("NCCL_IB_HCA")
    if not (ethernet and adapters):
        return []
    return [
        Finding(
            code="HF429",
            severity="warning",
            message=f"NCCL_IB_HCA names adapters, but the network of {cluster} is Ethernet without RDMA",
            where="env.nccl",
            got=adapters,
            hint="leave it out, or correct the cluster's network kind in the fleet",
            span=span,
        )
    ]


def _ranks(draft: Draft, group: StageGroup, cluster: Cluster, rendezvous: Rendezvous) -> dict[str, str]:
    spans = ",".join(f"{g.cluster.name}={g.node_rank_offset}-{g.node_rank_offset + g.nodes - 1}" for g in draft.groups)
    return {
        "MASTER_ADDR": rendezvous.address,
        "MASTER_PORT": str(rendezvous.port),
        "WORLD_SIZE": str(draft.nodes * group.devices_per_node),
        "HF_NNODES": str(draft.nodes),
        "HF_NPROC_PER_NODE": str(group.devices_per_node),
        "HF_NODE_RANK_OFFSET": str(group.node_rank_offset),
        "HF_NODE_GROUPS": spans,
        "HF_CLUSTER": cluster.name,
        "HF_RENDEZVOUS_TIMEOUT_SECONDS": str(rendezvous_seconds(draft.job)),
        "HF_COMM_TIMEOUT_SECONDS": str(comm_seconds(draft.job)),
        "TORCH_NCCL_ASYNC_ERROR_HANDLING": "1",
    }


def _plan(draft: Draft) -> dict[str, str]:
    plan, degrees = draft.plan, draft.plan.degrees
    order = {"HF_SCHEDULE_FILE": f"{LAUNCH_DIR}/{SCHEDULE_FILE}"} if needs_schedule_file(plan) else {}
    return {
        **order,
        "HF_JOB": draft.job.job.name,
        "HF_BUNDLE": draft.name,
        "HF_LAUNCH_DIR": LAUNCH_DIR,
        "HF_PLAN_FILE": f"{LAUNCH_DIR}/plan.json",
        "HF_TP": str(degrees.tp),
        "HF_CP": str(degrees.cp),
        "HF_EP": str(degrees.ep),
        "HF_PP": str(degrees.pp),
        "HF_DP": str(degrees.dp),
        "HF_LAYERS": ",".join(str(count) for count in layers_per_stage(plan)),
        "HF_SCHEDULE": plan.schedule,
        "HF_MICRO_BATCH_SIZE": str(plan.micro_batch_size),
        "HF_GLOBAL_BATCH_SIZE": str(plan.global_batch_size),
        "HF_MICROBATCHES": str(plan.microbatches),
    }


def _storage(draft: Draft) -> dict[str, str]:
    data, checkpoint = data_location(draft.job), checkpoint_location(draft.job)
    paths = {"HF_DATA_PATH": data.inner} if data else {}
    paths |= {"HF_CHECKPOINT_PATH": checkpoint.inner} if checkpoint else {}
    paths |= {"HF_DATA_CACHE": CACHE_MOUNT} if keeps_cache(draft.job) else {}
    return paths | ({"HF_HEALTH_REPORT": HEALTH_REPORT} if draft.job.job.guard.health else {})
