"""What the parts of lowering share: the decided mode, groups, targets and names."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from hyperflow.ir.plan import Plan
from hyperflow.ir.resolved import ResolvedJob
from hyperflow.lower.stage_groups import StageGroup

TASK_NAME = "node"
LAUNCH_DIR = "/hyperflow/launch"
HASH_LENGTH = 7

JOB_LABEL = "hyperflow.io/job"
BUNDLE_LABEL = "hyperflow.io/bundle"


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A job on its way to objects; `name` carries the content hash once it is known."""

    job: ResolvedJob
    plan: Plan
    mode: str
    name: str
    groups: tuple[StageGroup, ...]

    @property
    def namespace(self) -> str:
        """The namespace of all namespaced objects."""
        return self.job.job.namespace

    @property
    def labels(self) -> dict[str, str]:
        """Labels of every object that belongs to this bundle alone."""
        return {**self.job.job.labels, JOB_LABEL: self.job.job.name, BUNDLE_LABEL: self.name}

    @property
    def nodes(self) -> int:
        """Pods of the whole job."""
        return max(group.node_rank_offset + group.nodes for group in self.groups)

    @property
    def launch_name(self) -> str:
        """Name of the ConfigMap with the launch files."""
        return f"{self.name}-launch"

    @property
    def rank_zero_name(self) -> str:
        """Name of the Service in front of node rank 0."""
        return f"{self.name}-rank0"

    @property
    def rank_zero(self) -> StageGroup:
        """The group that holds node rank 0."""
        return self.groups[0]

    def child_name(self, group: StageGroup) -> str:
        """Name of the group's VolcanoJob, the one the HyperJob controller would give."""
        return self.name if self.mode == "single" else f"{self.name}-{group.name}-0"

    @property
    def all_clusters(self) -> tuple[str, ...]:
        """Every cluster on which a part may run, fallbacks included, each once."""
        return tuple(dict.fromkeys(cluster.name for group in self.groups for cluster in group.candidates))


def content_hash(documents: Iterable[dict[str, Any]]) -> str:
    """Hash the meaning of documents: equal content, equal hash, whatever the order of keys."""
    text = json.dumps(list(documents), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:HASH_LENGTH]
