"""Fleets by hand and from files."""

import re
from pathlib import Path

from hyperflow.errors import Finding, InputError, raise_errors
from hyperflow.inventory.fleet import load_fleet, read_fleet
from hyperflow.spec import fleet as spec
from hyperflow.units import gigabits_per_second

_GPU = re.compile(r"(?P<device>[^:]+?)(?::(?P<count>[1-9][0-9]*))?")


class Fleet:
    """Where fleets come from."""

    @staticmethod
    def load(*paths: str | Path) -> spec.Fleet:
        """Read a fleet from fleet.yaml, node lists, Karmada clusters, HyperNodes or fabric files, combined.

        Raises InputError with one finding per fault.
        """
        fleet, _ = load_fleet(paths)
        return fleet

    @staticmethod
    def from_karmada(context: str) -> spec.Fleet:
        """Read the live plane (or single cluster) behind a kubeconfig context.

        Raises InputError with one finding per fault.
        """
        from hyperflow.submit.live_inventory import KubernetesServer, fetch_objects

        fleet, findings = read_fleet((), live=fetch_objects(KubernetesServer(context), context))
        raise_errors(findings)
        return fleet


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
    match = _GPU.fullmatch(gpu)
    if match is None or nodes < 0:
        raise InputError(
            Finding(
                code="HF120",
                message=f"cluster {name!r}: cannot read gpu={gpu!r}, nodes={nodes}",
                where=f'hf.Cluster("{name}")',
                got=f"gpu={gpu!r}, nodes={nodes}",
                expected='gpu="DEVICE:COUNT", such as "H100:8", and nodes of 0 or more',
                hint='write gpu="H100:8"',
            )
        )
    group = spec.NodeGroup(
        device=match["device"],
        count=nodes,
        devices_per_node=int(match["count"] or 1),
        nvlink_domain=nvlink_domain,
        network_bytes_per_second_per_device=gigabits_per_second(network_gbps) if network_gbps else None,
    )
    return spec.Cluster(
        name=name, region=region, groups=(group,), nodes_total=nodes, price_per_device_hour=price_per_gpu_hour
    )


def link(a: str, b: str, *, gbps: float, rtt_ms: float = 0.0, kind: str = "wan") -> spec.Link:
    """Describe the link between two clusters: Gb/s one way, and the round trip in milliseconds."""
    return spec.Link(
        a=a,
        b=b,
        kind=spec.LinkKind(kind),
        bytes_per_second=gigabits_per_second(gbps),
        round_trip_seconds=rtt_ms / 1000,
    )
