"""Parse-back against the frameworks' own packages, where they are installed (pip install megatron-core torchtitan)."""

from dataclasses import replace

import pytest

from hyperflow.lower.comm_contract import rank_groups
from hyperflow.lower.launch_torchtitan import model_parts
from hyperflow.lower.megatron_layout import read_layout, write_layout
from hyperflow.lower.split_counts import expert_tensor_parallel
from hyperflow.lower.virtual_stages import split_into_parts
from tests.manifest_cases import plan

pytestmark = pytest.mark.frameworks

SPLITS = [[52, 28], [26, 26, 14, 14], [13] * 4 + [7] * 4, [1, 1], [2, 3, 3, 2], [5, 3]]


def megatron_layouts():
    reason = "megatron-core is not installed: the layout string was not read by Megatron itself"
    pytest.importorskip("megatron.core", reason=reason)
    from megatron.core.transformer.enums import LayerType
    from megatron.core.transformer.pipeline_parallel_layer_layout import PipelineParallelLayerLayout

    return PipelineParallelLayerLayout, LayerType


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("schedule", ["1f1b", "interleaved-1f1b"])
def test_b8_megatron_reads_the_layout_as_the_planned_counts(split, schedule):
    layouts, kinds = megatron_layouts()
    if min(split) < 2 and schedule != "1f1b":
        pytest.skip("a stage of one layer has no two parts")
    parts = split_into_parts(split, schedule, "")
    found = layouts(write_layout(parts), len(split))
    found.validate_layer_layout(num_layers=sum(split), mtp_num_layers=0)
    per_rank = [sum(chunk.count(kinds.decoder) for chunk in rank) for rank in found.layout]
    assert per_rank == split
    assert found.layout[0][0][0] == kinds.embedding
    assert found.layout[-1][-1][-1] == kinds.loss


@pytest.mark.parametrize("layout", ["Et*52|t*28", "t*52|Et*28L", "Ex|tL", "EtE|tL", "Etm|tmL"])
def test_b8_megatron_refuses_what_we_refuse(layout):
    layouts, _ = megatron_layouts()
    with pytest.raises(ValueError, match="layout"):
        read_layout(layout)
    with pytest.raises(AssertionError):
        layouts(layout, 2).validate_layer_layout(num_layers=layout.count("t"), mtp_num_layers=1)


@pytest.mark.parametrize(
    ("tp", "cp", "dp", "ep", "stages"), [(8, 1, 8, 1, 2), (2, 2, 4, 1, 3), (4, 1, 4, 4, 2), (2, 1, 4, 8, 2)]
)
def test_f1_rank_groups_are_those_of_megatron(tp, cp, dp, ep, stages):
    reason = "megatron-core is not installed: rank groups were not compared with Megatron's generator"
    pytest.importorskip("megatron.core", reason=reason)
    from megatron.core.parallel_state import RankGenerator

    shape = plan([("a", "B200", [1] * stages)], tp=tp, cp=cp, dp=dp, ep=ep)
    ours = rank_groups(shape)
    theirs = RankGenerator(tp=tp, ep=1, dp=dp, pp=stages, cp=cp, order="tp-cp-ep-dp-pp")
    for kind in ("tp", "cp", "dp", "pp"):
        groups = [tuple(ranks) for ranks in theirs.get_ranks(kind)]
        assert sorted(ours.get(kind, [])) == (sorted(groups) if len(groups[0]) > 1 else [])
    if ep > 1:
        inner = expert_tensor_parallel(shape)
        rest = tp * cp * dp // (inner * ep)
        experts = RankGenerator(tp=inner, ep=ep, dp=rest, pp=stages, cp=1, order="tp-cp-ep-dp-pp")
        assert sorted(ours["ep"]) == sorted(tuple(ranks) for ranks in experts.get_ranks("ep"))


def test_b8_torchtitan_splits_a_model_into_our_parts():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: torchtitan's split was not run")
    reason = "torchtitan is not installed: its split was not run"
    split = pytest.importorskip("torchtitan.distributed.pipeline_parallel", reason=reason)

    class Stand(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.tok_embeddings = torch.nn.Identity()
            self.layers = torch.nn.ModuleDict({str(i): torch.nn.Identity() for i in range(80)})
            self.norm = torch.nn.Identity()
            self.lm_head = torch.nn.Identity()

    for schedule in ("1f1b", "zb-v"):
        shape = replace(plan([("a", "B200", [52]), ("b", "H100", [28])], dp=8), schedule=schedule)
        kept = []
        for names in model_parts(shape):
            part = split._split_module(Stand(), names)
            kept += [f"layers.{key}" for key in part.layers]
            kept += [n for n in ("tok_embeddings", "norm", "lm_head") if getattr(part, n) is not None]
        assert sorted(kept) == sorted(["tok_embeddings", *(f"layers.{i}" for i in range(80)), "norm", "lm_head"])
