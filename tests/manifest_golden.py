"""Golden bundles: `python -m tests.manifest_golden` rewrites them; read the diff as code."""

import os
import shutil
import sys
from pathlib import Path

from hyperflow.ir.resolved import ResolvedTier
from hyperflow.lower.comm_contract import comm_text
from hyperflow.lower.expand import expand
from hyperflow.lower.lower_job import lower
from hyperflow.render.render_bundle import render, render_objects
from hyperflow.spec.fleet import LinkKind, Taint, TargetVersions, Tier
from hyperflow.spec.launch import FunctionLaunch
from hyperflow.spec.training_job import Data, Environment, Guard, Patch
from tests.manifest_cases import MIXTURE, TWO_CITY_PLAN, cluster, fleet, job, model, one_city, plan, two_cities

FOLDER = Path(__file__).with_name("golden_bundles")
TIERS = (Tier(tier=1, name="rack", domain_nodes=(4, 4)), Tier(tier=2, name="row", domain_nodes=(8,)))
RACK = ResolvedTier(mode="hard", name="rack", number_by_cluster={"beijing": 1, "shanghai": 1})
ROW = ResolvedTier(mode="hard", name="row", number_by_cluster={"beijing": 2, "shanghai": 2})


def three_with_fallback():
    """Shanghai's child may go to Chengdu, whose devices, taints and network differ."""
    chengdu = cluster(
        "chengdu", "MI300X", resource="amd.com/gpu", network=LinkKind.ETHERNET, taints=(Taint(key="amd"),)
    )
    where = fleet(cluster("beijing"), cluster("shanghai", "H100"), chengdu)
    nccl = {"beijing": {"NCCL_IB_HCA": "mlx5_0"}, "chengdu": {"NCCL_SOCKET_IFNAME": "eth1"}}
    return job(where, fallback={"shanghai": ("chengdu",)}, env=Environment(nccl=nccl)), TWO_CITY_PLAN


def mixture():
    """A mixture of experts with expert groups over two nodes, stages in racks."""
    where = fleet(cluster("beijing", nodes=8, tiers=TIERS), cluster("shanghai", "H100", 8, tiers=TIERS))
    shape = plan([("beijing", "B200", [3, 2]), ("shanghai", "H100", [2, 1])], tp=4, dp=4, ep=4)
    return job(where, shape=model(8, MIXTURE), job_tier=ROW, stage_tier=RACK), shape


def packed():
    """A function from the notebook, with data and a health check."""
    source = "def train(steps):\n    print(steps)\n"
    launch = FunctionLaunch(name="train", source=source, arguments={"steps": 20})
    return one_city(launch=launch, data=Data(path="/mnt/tokens", cache="per-node"), guard=Guard(health="smi"))


def old_targets():
    """Volcano 1.11 everywhere: no topology fields at all."""
    old = TargetVersions(volcano="1.11.0")
    where = fleet(
        cluster("beijing", tiers=TIERS, versions=old),
        cluster("shanghai", "H100", tiers=TIERS, versions=old),
        volcano="1.11.0",
    )
    patches = (Patch(path="pod.spec.imagePullSecrets[0].name", value="regcred"),)
    return job(where, patches=patches), TWO_CITY_PLAN


CASES = {
    "one_cluster": (one_city, "auto"),
    "two_clusters": (two_cities, "auto"),
    "three_with_fallback": (three_with_fallback, "auto"),
    "mixture_of_experts": (mixture, "auto"),
    "packed_function": (packed, "auto"),
    "direct_mode": (two_cities, "direct"),
    "old_targets": (old_targets, "auto"),
}


def golden_files(name):
    """Path -> text of a case; launch files are kept for the packed function only, since they repeat.

    The content hash is written as zeros, so that a diff shows what changed and not that something did.
    """
    build, mode = CASES[name]
    manifests = lower(*build(), mode)
    expansion = expand(manifests)
    files = {
        file.path: file.text
        for file in render(manifests).files
        if "config-map" not in file.path or name == "packed_function"
    }
    files |= {f"expanded/{file.path}": file.text for file in render_objects(expansion.objects, manifests.name)}
    story = [f"mode {manifests.mode}: {manifests.mode_reason}", *manifests.story, *expansion.claims]
    files["story.txt"] = "\n".join([*story, *(finding.as_text() for finding in manifests.findings)]) + "\n"
    files["comm.json"] = comm_text(manifests.comm)
    return {path: text.replace(manifests.content_hash, "0000000") for path, text in files.items()}


def rewrite():
    """Write all golden bundles anew; refused where CI runs."""
    if os.environ.get("CI"):
        sys.exit("golden files are not rewritten in CI")
    shutil.rmtree(FOLDER, ignore_errors=True)
    for name in CASES:
        for path, text in golden_files(name).items():
            target = FOLDER / name / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    rewrite()
