"""`prefer=`: what makes one plan better than another when it is not the step alone."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

from hyperflow.plan.pricing import Pricer
from hyperflow.plan.sites import Site

MOST_SUBSETS = 64


def order_subsets(pricer: Pricer) -> Iterator[tuple[Site, ...]]:
    """Give subsets of the sites, the preferred first; the first that can run the job is taken.

    `binpack` fills the clusters that have the least free, so that large ones stay whole; `idle` takes those that have
    the most free. Both use as few clusters as they can.
    """
    sign = 1 if pricer.job.job.on.prefer == "binpack" else -1
    made = 0
    for count in range(1, len(pricer.sites) + 1):
        subsets = sorted(combinations(pricer.sites, count), key=lambda s: (sign * free_devices(s), [x.name for x in s]))
        for subset in subsets:
            made += 1
            if made > MOST_SUBSETS:
                yield pricer.sites
                return
            yield subset


def free_devices(sites: Sequence[Site]) -> int:
    """Devices that the sites have free together."""
    return sum(site.devices for site in sites)


def with_sites(pricer: Pricer, sites: tuple[Site, ...]) -> Pricer:
    """The pricer over fewer sites, with the costs computed so far."""
    return replace(pricer, sites=sites)


def hourly_price(site: Site) -> float:
    """Price of a device hour; 1 where the fleet states none, so that device hours are compared."""
    return 1.0 if site.price_per_device_hour is None else site.price_per_device_hour
