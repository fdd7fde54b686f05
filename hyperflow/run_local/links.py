"""How the pods of each cluster reach the others: over the loopback, or over links that hold everything back.

A delay gives each cluster a network of its own where the machine allows it (`cluster_network`); elsewhere a proxy on
the loopback delays what goes through a Service (`delay_proxy`), and a warning says so.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from hyperflow.errors import Finding
from hyperflow.run_local.addresses import LOOPBACK, Addresses
from hyperflow.run_local.cluster_network import Carrier, Namespace, make_namespaces
from hyperflow.run_local.delay_proxy import DelayProxy
from hyperflow.run_local.options import Delay
from hyperflow.run_local.pods import LocalBundle, Service


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where the pods of one cluster run: what names and ports mean there, and the network they enter, if any."""

    addresses: Addresses
    namespace: Namespace | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """The places of all clusters, and what must be closed at the end."""

    places: Mapping[str, Place]
    carrier: Carrier | None = None
    proxies: Sequence[DelayProxy] = field(default=())

    def place_of(self, cluster: str) -> Place:
        """Give where the cluster's pods run."""
        return self.places[cluster]

    def close(self) -> None:
        """End what carries the delayed bytes."""
        for proxy in self.proxies:
            proxy.stop()
        if self.carrier is not None:
            self.carrier.stop()


def open_links(
    bundle: LocalBundle, delays: Sequence[Delay], ports: Mapping[int, int], say: Callable[[str], None]
) -> Links:
    """Open what the delays need; `say` hears of each, and the warning (HF455) where only Services can be delayed."""
    clusters = sorted({child.cluster for child in bundle.children})
    namespaces = make_namespaces(clusters) if delays else {}
    reach = "all packets"
    if isinstance(namespaces, Finding):
        say(namespaces.as_text())
        namespaces, reach = {}, "bytes to a Service"
    for delay in delays:
        say(f"link {' - '.join(sorted(delay.clusters))}: {reach} {delay.one_way_seconds * 1000:g} ms late, one way")
    if namespaces:
        carrier = Carrier(namespaces, delays)
        carrier.start()
        return Links(places=_places_in_networks(bundle, namespaces, ports), carrier=carrier)
    proxies = _start_proxies(bundle, delays, ports)
    hosts = {host: LOOPBACK for service in bundle.services for host in service.hosts}
    places = {
        cluster: Place(
            addresses=Addresses(
                ports={**ports, **{port: proxy.port for (caller, port), proxy in proxies.items() if caller == cluster}},
                hosts=hosts,
            )
        )
        for cluster in clusters
    }
    return Links(places=places, proxies=list(proxies.values()))


def _places_in_networks(
    bundle: LocalBundle, namespaces: Mapping[str, Namespace], ports: Mapping[int, int]
) -> dict[str, Place]:
    """Names lead to the address of the cluster whose pods stand behind them."""
    providers = [(service, _provider(bundle, service)) for service in bundle.services]
    names = {
        host: namespaces[provider].address if provider else LOOPBACK
        for service, provider in providers
        for host in service.hosts
    }
    # a pod's own address, of the downward API, is the loopback elsewhere and its cluster's here
    return {
        cluster: Place(
            addresses=Addresses(ports=ports, hosts={**names, LOOPBACK: namespace.address}), namespace=namespace
        )
        for cluster, namespace in namespaces.items()
    }


def _start_proxies(
    bundle: LocalBundle, delays: Sequence[Delay], ports: Mapping[int, int]
) -> dict[tuple[str, int], DelayProxy]:
    """A proxy for each (cluster that calls, Service port) whose pods stand behind a delayed link."""
    proxies: dict[tuple[str, int], DelayProxy] = {}
    clusters = {child.cluster for child in bundle.children}
    for service, caller in itertools.product(bundle.services, sorted(clusters)):
        provider = _provider(bundle, service)
        delay = next((d for d in delays if provider and d.clusters == frozenset((caller, provider))), None)
        for port in service.ports if delay else ():
            assert delay is not None
            proxy = DelayProxy(ports[port], delay.one_way_seconds)
            proxy.start()
            proxies[(caller, port)] = proxy
    return proxies


def _provider(bundle: LocalBundle, service: Service) -> str | None:
    """The cluster of the pods that a Service selects."""
    wanted = set(service.selector)
    return next(
        (child.cluster for child in bundle.children for pod in child.pods if wanted <= set(pod.labels)),
        None,
    )
