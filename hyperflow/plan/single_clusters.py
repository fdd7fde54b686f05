"""Each cluster on its own: its choices are ranked once, for the table's rows and for data parallelism across them."""

from dataclasses import replace

import numpy as np

from hyperflow.plan.arrays import Floats
from hyperflow.plan.pricing import Pricer
from hyperflow.plan.search import Ranked, rank_choices
from hyperflow.plan.sites import Site

Kind = tuple[Site, ...]


class SingleClusters:
    """The choices of each cluster alone; clusters that are equal but for their names share them."""

    def __init__(self, pricer: Pricer) -> None:
        self._pricer = pricer
        self._ranked: dict[tuple[Kind, int], Ranked] = {}

    def pricer(self, cluster: str) -> Pricer:
        """The pricer with the sites of one cluster."""
        return replace(self._pricer, sites=tuple(site for site in self._pricer.sites if site.cluster == cluster))

    def ranked(self, sites: Kind, share: int = 1) -> Ranked:
        """The choices of sites that work on one part in `share` of the batch, with the data-parallel degree divided."""
        key = (kind_of(sites), share)
        if key not in self._ranked:
            pricer = replace(shared_batch(self._pricer, share), sites=sites)
            self._ranked[key] = rank_choices(pricer, 0.0 if pricer.is_timed else 1.0)
        return self._ranked[key]

    def least_seconds(self, sites: Kind, share: int) -> float:
        """A bound on the step of sites that work on one part in `share` of the batch; infinite where none can.

        With an open degree 1F1B's follows from the choices for the whole batch: those for a part are among them.
        """
        if self._pricer.job.job.parallel.dp != "auto" or self._pricer.is_timed:
            rough = self.ranked(sites, share).rough
            return min((bounded.bound_seconds for bounded in rough), default=float("inf"))
        fill, period, microbatches = self._terms(sites)
        fitting = microbatches % share == 0
        steps = fill[fitting] + (microbatches[fitting] / share - 1) * period[fitting]
        return float(np.min(steps, initial=np.inf))

    def _terms(self, sites: Kind) -> tuple[Floats, Floats, Floats]:
        rough = self.ranked(sites).rough
        fill = np.array(
            [b.fluid.once_seconds + (b.fluid.weight + b.fluid.ends) * float(b.fluid.slots[0]) for b in rough]
        )
        microbatches = np.array([float(b.settings.microbatches) for b in rough])
        bounds = np.array([b.bound_seconds for b in rough])
        return fill, (bounds - fill) / np.maximum(1.0, microbatches - 1), microbatches


def kind_of(sites: Kind) -> Kind:
    """Sites without their names."""
    return tuple(replace(site, name="", cluster="") for site in sites)


def shared_batch(pricer: Pricer, share: int) -> Pricer:
    """The pricer for one part in `share` of the batch and of a given data-parallel degree; both must divide."""
    parallel = pricer.job.job.parallel
    update = {
        "dp": "auto" if parallel.dp == "auto" else parallel.dp // share,
        "global_batch_size": parallel.global_batch_size // share,
    }
    job = pricer.job.job.model_copy(update={"parallel": parallel.model_copy(update=update)})
    return replace(pricer, job=replace(pricer.job, job=job))
