"""Fleets by hand and from files."""

import re
from collections.abc import Sequence
from pathlib import Path

from pydantic import Field

from hyperflow.dsl.positions import keyword_spans, user_frame
from hyperflow.dsl.public_call import public
from hyperflow.errors import Finding, InputError, raise_errors
from hyperflow.spec import fleet as spec
from hyperflow.spec.record import Number, Record, Whole
from hyperflow.units import gigabits_per_second

MAX_GBPS = 1_000_000.0
_GPU = re.compile(r"(?P<device>[^:]+?)(?::(?P<count>[1-9][0-9]{0,3}))?")


class Fleet:
    """Where fleets come from."""

    @staticmethod
    def load(*paths: str | Path) -> "LoadedFleet":
        """Read a fleet from fleet.yaml, node lists, Karmada clusters, HyperNodes or fabric files, combined.

        Raises InputError with one finding per fault; warnings and notes are told with the plan's.
        """
        from hyperflow.inventory.fleet import load_fleet  # the readers, which a fleet by hand does not need

        fleet, findings = load_fleet(paths)
        return _loaded(fleet, findings)

    @staticmethod
    def from_karmada(context: str) -> "LoadedFleet":
        """Read the live plane (or single cluster) behind a kubeconfig context.

        Raises InputError with one finding per fault.
        """
        from hyperflow.inventory.fleet import read_fleet
        from hyperflow.submit.live_inventory import KubernetesServer, fetch_objects

        fleet, findings = read_fleet((), live=fetch_objects(KubernetesServer(context), context))
        raise_errors(findings)
        return _loaded(fleet, findings)


class LoadedFleet(spec.Fleet):
    """A fleet that was read, with the warnings and notes of its reading."""

    findings: tuple[Finding, ...] = Field(default=(), exclude=True, repr=False)


def _loaded(fleet: spec.Fleet, findings: Sequence[Finding]) -> LoadedFleet:
    return LoadedFleet(clusters=fleet.clusters, links=fleet.links, versions=fleet.versions, findings=tuple(findings))


class _ClusterByHand(Record):
    """What hf.Cluster is given, in the user's units."""

    name: str = Field(min_length=1)
    gpu: str
    nodes: Whole = Field(ge=0, le=1_000_000)
    region: str = ""
    nvlink_domain: Whole | None = Field(default=None, gt=0, le=1_000_000)
    network_gbps: Number | None = Field(default=None, gt=0, le=MAX_GBPS)
    price_per_gpu_hour: Number | None = Field(default=None, ge=0)


class _LinkByHand(Record):
    """What hf.link is given, in the user's units."""

    a: str = Field(min_length=1)
    b: str = Field(min_length=1)
    gbps: Number = Field(gt=0, le=MAX_GBPS)
    rtt_ms: Number = Field(ge=0, le=spec.MAX_ROUND_TRIP_MS)
    kind: spec.LinkKind


@public("hf.Cluster")
def cluster(
    name: str,
    *,
    gpu: str,
    nodes: int,
    region: str = "",
    nvlink_domain: int | None = None,
    network_gbps: float | None = None,
    price_per_gpu_hour: float | None = None,
) -> spec.Cluster:
    """Describe a cluster of equal nodes; `gpu` is `DEVICE:COUNT`, such as "H100:8".

    `nvlink_domain` is the number of devices joined by the scale-up fabric (default: one node); `network_gbps` is per
    device. Raises InputError (HF120) for a `gpu` that cannot be read.
    """
    given = _ClusterByHand(
        name=name,
        gpu=gpu,
        nodes=nodes,
        region=region,
        nvlink_domain=nvlink_domain,
        network_gbps=network_gbps,
        price_per_gpu_hour=price_per_gpu_hour,
    )
    match = _GPU.fullmatch(given.gpu)
    if match is None:
        raise InputError(_unreadable_gpu(given))
    group = spec.NodeGroup(
        device=match["device"],
        count=given.nodes,
        devices_per_node=int(match["count"] or 1),
        nvlink_domain=given.nvlink_domain,
        network_bytes_per_second_per_device=gigabits_per_second(given.network_gbps) if given.network_gbps else None,
    )
    return spec.Cluster(
        name=given.name,
        region=given.region,
        groups=(group,),
        nodes_total=given.nodes,
        price_per_device_hour=given.price_per_gpu_hour,
    )


def _unreadable_gpu(given: _ClusterByHand) -> Finding:
    spans = keyword_spans(user_frame())
    return Finding(
        code="HF120",
        message=f"cluster {given.name!r}: cannot read gpu={given.gpu!r}",
        where=f'hf.Cluster("{given.name}")',
        span=spans.get("gpu") or spans.get(""),
        got=f"gpu={given.gpu!r}",
        expected='DEVICE:COUNT with a count of 1 to 9999, such as "H100:8"',
        hint='write gpu="H100:8"',
    )


@public("hf.link")
def link(a: str, b: str, *, gbps: float, rtt_ms: float = 0.0, kind: str = "wan") -> spec.Link:
    """Describe the link between two clusters: Gb/s one way, and the round trip in milliseconds."""
    given = _LinkByHand(a=a, b=b, gbps=gbps, rtt_ms=rtt_ms, kind=kind)  # pyright: ignore[reportArgumentType] - pydantic reads the enum
    return spec.Link(
        a=given.a,
        b=given.b,
        kind=given.kind,
        bytes_per_second=gigabits_per_second(given.gbps),
        round_trip_seconds=given.rtt_ms / 1000,
    )
