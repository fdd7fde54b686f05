"""What the places of stages must offer: the data where it is read, and links between neighbours."""

import itertools

from hyperflow.errors import Finding
from hyperflow.lower.draft import Draft


def check_placement(draft: Draft) -> list[Finding]:
    """Find stages that read data where it is not (HF431), and neighbours without a declared link (HF432)."""
    return [*_check_data(draft), *_check_links(draft)]


def _check_data(draft: Draft) -> list[Finding]:
    """The first stage reads tokens, the last one labels (Megatron and torchtitan alike)."""
    data = draft.job.job.data
    if data is None or data.at == "all":
        return []
    last = max(stage.index for stage in draft.plan.stages)
    findings: list[Finding] = []
    for group in draft.groups:
        readers = sorted({0, last} & set(group.stage_indices))
        missing = [cluster.name for cluster in group.candidates if cluster.name not in data.at]
        if readers and missing:
            findings.append(
                Finding(
                    code="HF431",
                    message=f"stage {readers[0]} reads the data on {missing[0]}, where it is not",
                    where="data.at",
                    got=", ".join(data.at),
                    expected=f"{', '.join(missing)} too, or stages 0 and {last} elsewhere",
                    hint="copy the data there, or name the clusters in hf.on in another order",
                    span=draft.job.job.sources.get("data.at"),
                )
            )
    return findings


def _check_links(draft: Draft) -> list[Finding]:
    pairs = {
        (a.name, b.name): None
        for left, right in itertools.pairwise(draft.groups)
        for a in left.candidates
        for b in right.candidates
        if a.name != b.name and draft.job.fleet.link(a.name, b.name) is None
    }
    return [
        Finding(
            code="HF432",
            message=f"neighbouring stages run on {a} and {b}, and no link between them is declared",
            where="on.links",
            expected=f'hf.link("{a}", "{b}", gbps=..., rtt_ms=...)',
            hint="declare the link, or leave one of the clusters out",
            span=draft.job.job.sources.get("on.links"),
        )
        for a, b in pairs
    ]
