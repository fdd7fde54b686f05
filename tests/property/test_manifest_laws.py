"""Laws of lowering and rendering over random jobs and hostile texts."""

import itertools

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperflow.ir.resolved import ResolvedTier
from hyperflow.lower.comm_contract import rank_groups
from hyperflow.lower.lower_job import lower
from hyperflow.lower.megatron_layout import read_layout, write_layout
from hyperflow.render.render_bundle import render
from hyperflow.render.scalars import block, scalar, text_block
from hyperflow.spec.fleet import Tier
from hyperflow.spec.launch import MegatronLaunch, TorchrunLaunch
from hyperflow.spec.training_job import Environment
from hyperflow.validate.check_bundle import check
from tests.manifest_cases import cluster, fleet, job, model, plan, two_cities

hostile = st.one_of(
    st.text(max_size=40),
    st.text(alphabet="'\"{}[]:#&*!|>%@`-?,\n\t\r \\$~=<", max_size=30),
    st.sampled_from(
        ["{{ x }}", "{% raw %}", "---\nkind: Job", "a: b\nc: d", "x" * 2_000, "\x85\u2028", "$(HOME)", "null"]
    ),
).filter(lambda text: not any("\ud800" <= c <= "\udfff" for c in text))


@given(hostile)
@settings(max_examples=150, derandomize=True, deadline=None)
def test_text_never_becomes_structure(text):
    assert yaml.load(scalar(text), Loader=yaml.CSafeLoader) == text
    tree = {"k": text, text: [text, {"k": [text]}], "z": "end"}
    assert yaml.load(block(tree, 0) + "\n", Loader=yaml.CSafeLoader) == tree
    assert yaml.load(f"k: {text_block(text, 2)}\nz: end\n", Loader=yaml.CSafeLoader) == {"k": text, "z": "end"}


def test_text_of_a_megabyte_comes_back_as_itself():
    for text in ("x" * 1_000_000, "a: b\n" * 200_000, "{{" * 500_000):
        tree = {"k": [text, {text: text}]}
        assert yaml.load(block(tree, 0) + "\n", Loader=yaml.CSafeLoader) == tree


@given(hostile, hostile, hostile)
@settings(max_examples=25, derandomize=True, deadline=None)
def test_hostile_values_come_back_as_values(image, argument, value):
    launch = TorchrunLaunch(script="t.py", args=(argument,))
    case = two_cities(image=image or "x", launch=launch, env=Environment(variables={"V": value}))
    manifests = lower(*case)
    bundle = render(manifests)
    assert [f for f in check(manifests, bundle) if f.code in ("HF416", "HF417", "HF420")] == []
    parsed = yaml.load(bundle.files[-1].text, Loader=yaml.CSafeLoader)
    container = parsed["spec"]["replicatedJobs"][1]["templateSpec"]["tasks"][0]["template"]["spec"]["containers"][0]
    assert container["image"] == (image or "x")
    assert container["args"][-1].replace("$$", "$") == argument
    assert next(e["value"] for e in container["env"] if e["name"] == "V").replace("$$", "$") == value


@st.composite
def shapes(draw):
    """Random splits over one to three clusters with random degrees."""
    names = draw(st.lists(st.sampled_from(["a1", "b-2", "c" * 30]), min_size=1, max_size=3, unique=True))
    tp, dp, cp = draw(st.sampled_from([(1, 8, 1), (8, 1, 1), (4, 4, 1), (2, 4, 2), (8, 3, 1)]))
    split = [(name, "B200", draw(st.lists(st.integers(1, 6), min_size=1, max_size=3))) for name in names]
    tiers = (Tier(tier=1, name="rack", domain_nodes=(32,)),) if draw(st.booleans()) else ()
    where = fleet(*(cluster(name, nodes=64, tiers=tiers) for name in names))
    layers = sum(count for _, _, counts in split for count in counts)
    hard = ResolvedTier(mode="hard", name="rack", number_by_cluster=dict.fromkeys(names, 1))
    stage_tier = hard if tiers and draw(st.booleans()) else None
    launch = draw(st.sampled_from([MegatronLaunch(), TorchrunLaunch(script="t.py")]))
    resolved = job(where, shape=model(layers), stage_tier=stage_tier, launch=launch, name="j")
    return resolved, plan(split, tp=tp, dp=dp, cp=cp)


@given(shapes(), st.sampled_from(["auto", "direct"]))
@settings(max_examples=25, derandomize=True, deadline=None)
def test_every_bundle_round_trips_obeys_its_laws_and_is_never_denied(case, mode):
    manifests = lower(*case, mode)
    assert [finding.as_text() for finding in check(manifests, render(manifests))] == []
    assert lower(*case, mode) == manifests
    spans = [(c.node_rank_offset, c.node_rank_offset + c.nodes) for c in manifests.children]
    assert spans[0][0] == 0
    assert all(end == start for (_, end), (start, _) in itertools.pairwise(spans))


@given(shapes())
@settings(max_examples=25, derandomize=True, deadline=None)
def test_f2_no_tensor_parallel_group_spans_a_partition_and_groups_cover_all_ranks(case):
    resolved, shape = case
    manifests = lower(resolved, shape)
    groups = rank_groups(shape)
    for kind in groups:
        assert sorted(rank for ranks in groups[kind] for rank in ranks) == list(range(shape.degrees.world_size))
    per_node = manifests.children[0].devices_per_node
    jobs = [item for item in manifests.objects if item.kind_name == "Job"]
    for child, item in zip(manifests.children, jobs, strict=False):
        policy = item.spec.tasks[0].partition_policy
        if policy is None:
            continue
        size = policy.partition_size * per_node
        first = child.node_rank_offset * per_node
        for ranks in groups.get("tp", []):
            if first <= ranks[0] < first + child.nodes * per_node:
                assert (ranks[0] - first) // size == (ranks[-1] - first) // size


@given(st.lists(st.integers(0, 90), min_size=1, max_size=20), st.integers(0, 3))
@settings(max_examples=100, derandomize=True, deadline=None)
def test_b8_layout_reads_back_as_its_counts(parts, mtp):
    assert read_layout(write_layout(parts, mtp)) == parts


@given(st.permutations(["lr", "train-iters", "seed"]))
@settings(max_examples=6, derandomize=True, deadline=None)
def test_content_decides_the_name_and_any_change_changes_it(order):
    values = {"lr": 0.1, "train-iters": 10, "seed": 1}
    names = {lower(*two_cities(launch=MegatronLaunch(args={k: values[k] for k in order}))).name for _ in range(2)}
    assert len(names) == 1
    other = lower(*two_cities(launch=MegatronLaunch(args={k: values[k] + 1 for k in order}))).name
    assert other not in names
