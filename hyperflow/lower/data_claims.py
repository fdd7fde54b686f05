"""Claims of data sources for the children that read data (volcano-global's data dependency, off by default)."""

from hyperflow.k8s.data_source import DataSourceClaim, DataSourceClaimSpec, WorkloadRef
from hyperflow.k8s.record import ObjectMeta
from hyperflow.lower.draft import Draft
from hyperflow.lower.storage import DATA_SOURCE


def data_claims(draft: Draft) -> tuple[DataSourceClaim, ...]:
    """Give one claim for each child with the first or the last stage, when the data is `datasource://SYSTEM/TYPE/NAME`.

    One cluster needs none: the job is there already.
    """
    data = draft.job.job.data
    match = DATA_SOURCE.fullmatch(data.path) if data else None
    if match is None or draft.mode == "single":
        return ()
    ends = {0, max(stage.index for stage in draft.plan.stages)}
    readers = [draft.child_name(group) for group in draft.groups if ends & set(group.stage_indices)]
    return tuple(
        DataSourceClaim(
            metadata=ObjectMeta(name=f"{child}-data", namespace=draft.namespace, labels=draft.labels),
            spec=DataSourceClaimSpec(
                system=match[1],
                data_source_type=match[2],
                data_source_name=match[3],
                workload=WorkloadRef(
                    api_version="batch.volcano.sh/v1alpha1", kind="Job", name=child, namespace=draft.namespace
                ),
            ),
        )
        for child in readers
    )
