"""Jobs and plans built by hand, for the tests of lowering, rendering and validation."""

import itertools
from dataclasses import replace

from hyperflow.ir.plan import Degrees, LinkLoad, Optimality, Plan, Stage
from hyperflow.ir.resolved import ResolvedJob
from hyperflow.spec.fleet import Cluster, Fleet, Link, LinkKind, NodeGroup, TargetVersions
from hyperflow.spec.launch import MegatronLaunch
from hyperflow.spec.model import Attention, Experts, FeedForward, Layer, LayerRun, Model
from hyperflow.spec.training_job import (
    Checkpoint,
    ModelRequest,
    Parallelism,
    Placement,
    TrainingJob,
)

GIB = 1024**3
DENSE = Layer(
    attention=Attention(heads=64, kv_heads=8, head_dim=128),
    feed_forward=FeedForward(width=28672),
    mixer_parameters=150_994_944,
    feed_forward_parameters=704_643_072,
    replicated_parameters=16_384,
)
MIXTURE = Layer(
    attention=Attention(heads=32, kv_heads=4, head_dim=128),
    experts=Experts(count=128, active=8, width=1536),
    mixer_parameters=50_000_000,
    expert_parameters=2_000_000_000,
    active_expert_parameters=125_000_000,
    replicated_parameters=10_000,
)


def cluster(name, device="B200", nodes=1, *, devices=8, tiers=(), versions=None, **group):
    """One cluster of equal nodes."""
    settings = {"allocatable": {"cpu": 128.0, "memory": 2048.0 * GIB}, **group}
    return Cluster(
        name=name,
        groups=(NodeGroup(device=device, count=nodes, devices_per_node=devices, **settings),),
        tiers=tuple(tiers),
        versions=versions or TargetVersions(),
    )


def fleet(*clusters, **versions):
    """Clusters that are all joined by links."""
    links = [
        Link(a=a.name, b=b.name, bytes_per_second=12.5e9, round_trip_seconds=0.025)
        for i, a in enumerate(clusters)
        for b in clusters[i + 1 :]
    ]
    return Fleet(clusters=clusters, links=tuple(links), versions=TargetVersions(**versions))


def model(layers=8, layer=DENSE, **settings):
    """A model of equal layers."""
    return Model(
        name="toy",
        hidden=8192,
        vocab=128256,
        sequence_length=8192,
        runs=(LayerRun(count=layers, layer=layer),),
        embedding_parameters=1_050_673_152,
        head_parameters=1_050_673_152,
        **settings,
    )


def plan(split, *, tp=8, cp=1, ep=1, dp=1, devices=8, shape=None, **settings):
    """A plan from `[(cluster, device, [layers of each stage])]`, stages in order."""
    per_stage = tp * cp * dp
    nodes = -(-per_stage // devices)
    stages = []
    first = 0
    for name, device, counts in split:
        for count in counts:
            stages.append(
                Stage(
                    index=len(stages),
                    cluster=name,
                    device=device,
                    layers=count,
                    first_layer=first,
                    nodes=nodes,
                    node_rank_offset=len(stages) * nodes,
                    forward_seconds=0.01,
                    backward_input_seconds=0.01,
                    backward_weight_seconds=0.01,
                    seconds_per_microbatch=0.03,
                    idle_fraction=0.05,
                    in_flight=2.0,
                    memory_bytes=40 * GIB,
                    memory_limit_bytes=160 * GIB,
                    parameters=count * 855_654_400,
                )
            )
            first += count
    names = list(dict.fromkeys(name for name, _, _ in split))
    base = Plan(
        job="toy8",
        shape=shape or ("pipeline" if len(names) > 1 else "single"),
        total_parameters=8_946_581_504,
        num_layers=first,
        degrees=Degrees(tp=tp, cp=cp, ep=ep, dp=dp, pp=len(stages)),
        micro_batch_size=1,
        global_batch_size=32 * dp,
        microbatches=32,
        schedule="1f1b",
        warmup=(),
        recompute="none",
        zero=1,
        allreduce="flat",
        step_seconds=1.122,
        step_seconds_low=1.0,
        step_seconds_high=1.3,
        mfu=0.4,
        tokens_per_second=233_000.0,
        stages=tuple(stages),
        links=tuple(
            LinkLoad(source=a, target=b, purpose="pp", bytes_per_step=4_294_967_296, seconds_per_microbatch=0.01)
            for a, b in itertools.pairwise(names)
        ),
        alternatives=(),
        fallbacks=(),
        optimal=Optimality(proven=True, bound_seconds=1.122, gap=0.0, solver="exact", solve_seconds=0.0),
    )
    return replace(base, **settings)


def job(where, *, shape=None, job_tier=None, stage_tier=None, **settings):
    """A resolved job on a fleet."""
    shape = shape or model()
    wish = {
        "name": "toy8",
        "image": "ghcr.io/acme/train:1.4",
        "queue": "llm",
        "priority": "high",
        "model": ModelRequest(layers=shape.num_layers),
        "launch": MegatronLaunch(args={"lr": 3e-4, "train-iters": 1000}),
        "checkpoint": Checkpoint(to="pvc://ckpt/toy8", every_seconds=1200.0),
        "on": Placement(fleet=where, rendezvous=settings.pop("rendezvous", "mcs")),
        "parallel": Parallelism(),
        **settings,
    }
    return ResolvedJob(
        job=TrainingJob(**wish),
        model=shape,
        fleet=where,
        clusters=where.clusters,
        devices={},
        job_tier=job_tier,
        stage_tier=stage_tier,
    )


BEIJING = cluster("beijing", "B200")
SHANGHAI = cluster("shanghai", "H100", network=LinkKind.ROCE)
TWO_CITIES = fleet(BEIJING, SHANGHAI)
TWO_CITY_PLAN = plan([("beijing", "B200", [6]), ("shanghai", "H100", [2])])


def two_cities(**settings):
    """The talk's case: 8 layers as 6 and 2."""
    return job(TWO_CITIES, **settings), TWO_CITY_PLAN


def one_city(**settings):
    """All eight layers on two nodes of one cluster."""
    where = fleet(cluster("beijing", "B200", 2))
    return job(where, **settings), plan([("beijing", "B200", [4, 4])])
