"""The declaration with every default decided and every name looked up."""

from collections.abc import Mapping
from dataclasses import dataclass

from hyperflow.errors import Finding
from hyperflow.ir.device import Device
from hyperflow.spec.fleet import Cluster, Fleet
from hyperflow.spec.model import Model
from hyperflow.spec.training_job import TrainingJob


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedTier:
    """A topology constraint as numbers: tier name resolved per cluster name."""

    mode: str
    name: str
    number_by_cluster: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedJob:
    """Everything the later passes need.

    `clusters` are the candidates in the user's order (after data location, health and `max_rtt_ms`); `devices` maps
    a catalogue key to its facts for every device of the candidates. `findings` are warnings and notes so far.
    """

    job: TrainingJob
    model: Model
    fleet: Fleet
    clusters: tuple[Cluster, ...]
    devices: Mapping[str, Device]
    job_tier: ResolvedTier | None = None
    stage_tier: ResolvedTier | None = None
    findings: tuple[Finding, ...] = ()
