"""Resolved jobs for tests of the planner, built by hand: clusters, links, models."""

from typing import Any

from hyperflow.catalog.devices import find_device
from hyperflow.cost.shapes import dense_decoder
from hyperflow.errors import SourceSpan
from hyperflow.ir.device import Device
from hyperflow.ir.resolved import ResolvedJob
from hyperflow.spec.fleet import Cluster, Fleet, Link, NodeGroup
from hyperflow.spec.launch import TorchrunLaunch
from hyperflow.spec.model import Model
from hyperflow.spec.training_job import ModelRequest, Parallelism, Placement, TrainingJob


def device(name: str) -> Device:
    """A device of the catalogue."""
    found = find_device(name)
    assert found is not None, name
    return found


def cluster(
    name: str, gpu: str, nodes: int, *, per_node: int = 8, group: dict[str, Any] | None = None, **more: Any
) -> Cluster:
    """A cluster of equal nodes."""
    node_group = NodeGroup(device=device(gpu).name, count=nodes, devices_per_node=per_node, **(group or {}))
    return Cluster(name=name, groups=(node_group,), **more)


def link(a: str, b: str, gbps: float = 100, rtt_ms: float = 25, **more: Any) -> Link:
    """A link between two clusters."""
    return Link(a=a, b=b, bytes_per_second=gbps * 1e9 / 8, round_trip_seconds=rtt_ms / 1e3, **more)


def decoder(layers: int = 8, **shape: Any) -> Model:
    """A Llama-shaped decoder; by default one of the talk's size."""
    values = {
        "name": "test", "hidden": 8192, "ffn": 28672, "heads": 64, "kv_heads": 8, "head_dim": 128, "vocab": 128256,
        "sequence_length": 8192, **shape,
    }  # fmt: skip
    return dense_decoder(layers, **values)


def resolved(
    clusters: list[Cluster],
    links: list[Link],
    model: Model,
    *,
    parallel: dict[str, Any] | None = None,
    on: dict[str, Any] | None = None,
    **job: Any,
) -> ResolvedJob:
    """A resolved job; `parallel.*` keywords have a source position each, as if written in job.py."""
    fleet = Fleet(clusters=tuple(clusters), links=tuple(links))
    degrees = {"tp": 8, "dp": 1, **(parallel or {})}
    text = f"@hf.parallel({', '.join(f'{k}={v!r}' for k, v in degrees.items())})"
    sources = {
        f"parallel.{k}": SourceSpan(
            file="job.py", line=9, column=text.index(f"{k}=") + len(k) + 2, width=len(repr(v)), text=text
        )
        for k, v in degrees.items()
    }
    return ResolvedJob(
        job=TrainingJob(
            name="test",
            image="image",
            model=ModelRequest(preset="test"),
            parallel=Parallelism(**degrees),
            on=Placement(fleet=fleet, **(on or {})),
            sources=sources,
            **{"launch": TorchrunLaunch(script="train.py"), **job},
        ),
        model=model,
        fleet=fleet,
        clusters=tuple(clusters),
        devices={g.device: device(g.device) for c in clusters for g in c.groups},
    )


def two_cities(**parallel: Any) -> ResolvedJob:
    """The talk's case: 8 layers, one node of 8 B200 in Beijing, one of 8 H100 in Shanghai."""
    clusters = [cluster("beijing", "B200", 1), cluster("shanghai", "H100", 1)]
    return resolved(clusters, [link("beijing", "shanghai")], decoder(), parallel=parallel)


def seventy(**parallel: Any) -> ResolvedJob:
    """A 70B model over 64 B200 and 64 H100."""
    clusters = [cluster("beijing", "B200", 8), cluster("shanghai", "H100", 8)]
    return resolved(
        clusters,
        [link("beijing", "shanghai", gbps=400)],
        decoder(80),
        parallel={"dp": "auto", "global_batch_size": 256, **parallel},
    )
