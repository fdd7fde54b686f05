"""The plan as each framework's own arguments, read back by the frameworks' rules."""

import json
import types
from dataclasses import replace

import pytest

from hyperflow.lower.launch_script import launch_recipe
from hyperflow.lower.launch_torchtitan import model_parts
from hyperflow.lower.lower_job import lower
from hyperflow.lower.megatron_layout import read_layout, write_layout
from hyperflow.lower.virtual_stages import schedule_key, split_into_parts
from hyperflow.spec.launch import FunctionLaunch, MegatronLaunch, TorchrunLaunch, TorchtitanLaunch
from hyperflow.spec.model import Attention, FeedForward, Layer, LayerRun
from hyperflow.spec.training_job import Checkpoint, Data
from tests.manifest_cases import MIXTURE, TWO_CITIES, job, model, plan, two_cities

SEVENTY = plan([("beijing", "B200", [52]), ("shanghai", "H100", [28])], dp=8)
TITAN = TorchtitanLaunch(config="llama3_70b")


def flags(case):
    """Flag -> value of the recipe; a bare flag is True."""
    arguments = launch_recipe(*case).arguments
    found = {}
    for index, argument in enumerate(arguments):
        if argument.startswith("--"):
            following = arguments[index + 1] if index + 1 < len(arguments) else "--"
            found[argument[2:]] = True if following.startswith("--") else following
    return found


def seventy(**settings):
    return job(TWO_CITIES, shape=model(80), **settings), SEVENTY


@pytest.mark.parametrize(
    ("layout", "parts"),
    [
        ("Et*52|t*28L", [52, 28]),
        ("E,(t)*52|(t)*28,L", [52, 28]),
        ("Et*26|t*14|t*26|t*14L", [26, 14, 26, 14]),
        ("Et*13|(t*13|)*3(t*7|)*3t*7L", [13] * 4 + [7] * 4),
        ("Et|tL", [1, 1]),
        ("Et*3|t*2mL", [3, 2]),
        ("E|t*4L", [0, 4]),
    ],
)
def test_b8_layout_reads_as_megatron_reads_it(layout, parts):
    assert read_layout(layout) == parts


@pytest.mark.parametrize("layout", ["Et*52|t*28", "t*52|Et*28L", "Ex|tL", "EtE|tL", "Etm|tmL", ""])
def test_b8_layout_that_megatron_refuses_is_refused(layout):
    with pytest.raises(ValueError, match="layout"):
        read_layout(layout)


@pytest.mark.parametrize(("parts", "mtp"), [([6, 2], 0), ([1, 1], 1), ([0, 4], 0), ([2, 3, 3, 2], 2), ([80], 0)])
def test_b8_written_layout_reads_back_as_its_counts(parts, mtp):
    assert read_layout(write_layout(parts, mtp)) == parts


def test_b8_megatron_gets_the_70b_split_of_the_worked_example():
    assert flags(seventy()) | {
        "tensor-model-parallel-size": "8",
        "pipeline-model-parallel-size": "2",
        "sequence-parallel": True,
        "num-layers": "80",
        "pipeline-model-parallel-layout": "Et*52|t*28L",
        "hidden-size": "8192",
        "ffn-hidden-size": "28672",
        "num-attention-heads": "64",
        "group-query-attention": True,
        "num-query-groups": "8",
        "swiglu": True,
        "untie-embeddings-and-output-weights": True,
        "micro-batch-size": "1",
        "global-batch-size": "256",
        "use-distributed-optimizer": True,
        "bf16": True,
    } == flags(seventy())


def test_middle_heavy_split_that_first_and_last_flags_cannot_express_is_a_layout():
    shape = plan([("beijing", "B200", [2, 3]), ("shanghai", "H100", [3, 2])])
    assert flags((job(TWO_CITIES, shape=model(10)), shape))["pipeline-model-parallel-layout"] == "Et*2|t*3|t*3|t*2L"


def test_one_stage_has_no_layout_and_tied_embeddings_stay_tied():
    found = flags((job(TWO_CITIES, shape=model(tied_embeddings=True)), plan([("beijing", "B200", [8])])))
    assert "pipeline-model-parallel-layout" not in found
    assert "untie-embeddings-and-output-weights" not in found


def test_mtp_layers_stand_with_the_loss():
    found = flags((job(TWO_CITIES, shape=model(mtp_layers=1)), two_cities()[1]))
    assert (found["pipeline-model-parallel-layout"], found["mtp-num-layers"]) == ("Et*6|t*2mL", "1")


def test_mixture_of_experts_and_its_dense_first_layers():
    shape = model(6, MIXTURE).model_copy(update={"runs": (*model(2).runs, LayerRun(count=6, layer=MIXTURE))})
    found = flags(
        (job(TWO_CITIES, shape=shape), plan([("beijing", "B200", [6]), ("shanghai", "H100", [2])], dp=2, ep=2))
    )
    assert {k: found[k] for k in found if "moe" in k or "expert" in k} == {
        "num-experts": "128",
        "moe-router-topk": "8",
        "moe-ffn-hidden-size": "1536",
        "moe-layer-freq": "([0]*2+[1]*6)",
        "expert-model-parallel-size": "2",
        "expert-tensor-parallel-size": "8",
    }
    wide = plan([("beijing", "B200", [8])], dp=1, ep=8)
    assert flags((job(TWO_CITIES, shape=shape), wide))["expert-tensor-parallel-size"] == "1"


def test_latent_attention_has_its_own_flags():
    attention = Attention(
        kind="mla", heads=128, kv_heads=128, head_dim=192, value_head_dim=128, query_lora_rank=1536, kv_lora_rank=512,
        rope_head_dim=64,
    )  # fmt: skip
    layer = Layer(attention=attention, feed_forward=FeedForward(width=18432))
    found = flags((job(TWO_CITIES, shape=model(8, layer)), two_cities()[1]))
    assert {k: found[k] for k in found if "lora" in k or "head-dim" in k or "latent" in k or "emb-head" in k} == {
        "multi-latent-attention": True,
        "q-lora-rank": "1536",
        "kv-lora-rank": "512",
        "qk-head-dim": "128",
        "qk-pos-emb-head-dim": "64",
        "v-head-dim": "128",
    }


def test_g1_hierarchical_reduction_is_megatrons_flag_with_one_instance_per_cluster():
    shape = plan([("beijing", "B200", [8])], dp=2)
    near, far = shape.stages[0], replace(shape.stages[0], cluster="shanghai", device="H100", replica=1)
    crossing = replace(
        shape,
        shape="data-parallel",
        allreduce="hierarchical",
        stages=(replace(near, nodes=1), replace(far, nodes=1, node_rank_offset=1)),
    )
    case = (job(TWO_CITIES), crossing)
    assert flags(case)["num-distributed-optimizer-instances"] == "2"
    assert "num-distributed-optimizer-instances" not in flags((case[0], replace(crossing, allreduce="flat")))
    children = lower(*case).children
    assert [(child.cluster, child.node_rank_offset, child.nodes) for child in children] == [
        ("beijing", 0, 1),
        ("shanghai", 1, 1),
    ]
    titan = job(TWO_CITIES, launch=TITAN)
    assert flags((titan, crossing))["parallelism.data_parallel_replicate_degree"] == "2"


def test_recompute_precision_data_and_checkpoints_become_flags():
    settings = {
        "data": Data(path="pvc://corpus/tokens"),
        "checkpoint": Checkpoint(to="s3://ckpt/x", every_seconds=60.0),
    }
    found = flags((two_cities(**settings)[0], replace(two_cities()[1], recompute="full", zero=0)))
    assert {k: found[k] for k in ("recompute-granularity", "data-path", "save", "load", "save-interval")} == {
        "recompute-granularity": "full",
        "data-path": "/hyperflow/data/tokens",
        "save": "s3://ckpt/x",
        "load": "s3://ckpt/x",
        "save-interval": "53",
    }
    assert "use-distributed-optimizer" not in found
    own = two_cities(launch=MegatronLaunch(args={"data-path": "blend.txt"}), **settings)
    assert flags(own)["data-path"] == "blend.txt"


def test_f5_one_city_and_two_differ_only_in_layout_and_ranks():
    one = (job(TWO_CITIES), plan([("beijing", "B200", [4, 4])]))
    differing = {k for k in flags(one) if flags(one)[k] != flags(two_cities())[k]}
    assert differing == {"pipeline-model-parallel-layout"}
    assert flags(one).keys() == flags(two_cities()).keys()


@pytest.mark.parametrize(
    ("written", "key"),
    [
        ("1F1B", "1f1b"),
        ("zb-h1", "zero-bubble"),
        ("ZB_V", "zb-v"),
        ("Interleaved1F1B", "interleaved-1f1b"),
        ("x-y", "x-y"),
    ],
)
def test_b5_spellings_of_schedules_mean_one_thing(written, key):
    assert schedule_key(written) == key


def test_b5_zero_bubble_is_torchtitans_schedule_and_v_placed_parts_come_back_to_rank_0():
    case = (seventy(launch=TITAN)[0], replace(SEVENTY, schedule="zero-bubble"))
    assert flags(case)["parallelism.pipeline_parallel_schedule"] == "InterleavedZeroBubble"
    assert split_into_parts([52, 28], "zb-v", "") == [26, 14, 14, 26]
    assert split_into_parts([5, 3], "interleaved-1f1b", "") == [3, 2, 2, 1]
    case = (seventy()[0], replace(SEVENTY, schedule="interleaved-1f1b"))
    assert flags(case)["pipeline-model-parallel-layout"] == "Et*26|t*14|t*26|t*14L"


@pytest.mark.parametrize("schedule", ["1f1b", "zb-v", "interleaved-1f1b"])
def test_b8_torchtitan_parts_hold_every_module_exactly_once(schedule):
    parts = model_parts(replace(SEVENTY, schedule=schedule))
    assert sorted(name for part in parts for name in part) == sorted(
        ["tok_embeddings", *(f"layers.{i}" for i in range(80)), "norm", "lm_head"]
    )
    assert (parts[0][0], parts[-1][-2:]) == ("tok_embeddings", ["norm", "lm_head"])
    if schedule == "1f1b":
        assert [len(part) for part in parts] == [53, 30]


def test_torchtitan_flags_follow_the_version():
    assert {
        "parallelism.tensor_parallel_degree": "8",
        "parallelism.data_parallel_shard_degree": "8",
        "parallelism.data_parallel_replicate_degree": "1",
        "parallelism.pipeline_parallel_degree": "2",
        "parallelism.pipeline_parallel_schedule": "1F1B",
        "parallelism.pipeline_parallel_microbatch_size": "1",
        "training.local_batch_size": "32",
        "training.disable_cuda_graphs": True,
    }.items() <= flags(seventy(launch=TITAN)).items()
    newer = flags(seventy(launch=TorchtitanLaunch(config="llama3_70b", version="main")))
    assert newer["parallelism.num_pp_microbatches"] == "32"
    assert "parallelism.pipeline_parallel_microbatch_size" not in newer


def test_torchtitan_config_module_sets_the_parts_and_nothing_else(tmp_path, monkeypatch):
    recipe = launch_recipe(*seventy(launch=TorchtitanLaunch(module="acme_models", config="seventy")))
    for name, text in recipe.pod_files.items():
        (tmp_path / name).write_text(text)
    registry = types.ModuleType("acme_models.config_registry")
    parallelism = types.SimpleNamespace(module_fqns_per_model_part=None)
    registry.seventy = lambda: types.SimpleNamespace(parallelism=parallelism, seed=7)
    monkeypatch.setitem(__import__("sys").modules, "acme_models", types.ModuleType("acme_models"))
    monkeypatch.setitem(__import__("sys").modules, "acme_models.config_registry", registry)
    names = __import__("runpy").run_path(str(tmp_path / "hyperflow_config.py"))
    config = names["planned"]()
    assert config.parallelism.module_fqns_per_model_part == model_parts(SEVENTY)
    assert config.seed == 7
    (tmp_path / "model_parts.json").write_text(json.dumps({"module": "no_such_thing", "config": "x", "parts": []}))
    with pytest.raises(ImportError, match="no config registry for module no_such_thing; tried torchtitan"):
        names["planned"]()


def test_torchtitan_without_a_pipeline_takes_the_users_config_as_it_is():
    recipe = launch_recipe(job(TWO_CITIES, launch=TITAN), plan([("beijing", "B200", [8])]))
    assert recipe.arguments[:6] == ("-m", "torchtitan.train", "--module", "llama3", "--config", "llama3_70b")
    assert recipe.pod_files == {}


def test_torchrun_and_packed_functions_read_the_plan_from_variables_and_a_file():
    for launch in (TorchrunLaunch(script="t.py"), FunctionLaunch(name="train", source="def train(): ...\n")):
        manifests = lower(*two_cities(launch=launch))
        found = manifests.objects[-1].spec.replicated_jobs[1].template_spec.tasks[0].template.spec["containers"][0]
        env = {item["name"]: item.get("value") for item in found["env"]}
        assert {"HF_LAYERS": "6,2", "HF_PP": "2", "HF_TP": "8", "HF_NODE_RANK_OFFSET": "1"}.items() <= env.items()
        config = next(item for item in manifests.objects if item.kind_name == "ConfigMap")
        stages = json.loads(config.data["plan.json"])["stages"]
        assert [(s["cluster"], s["layers"], s["first_layer"]) for s in stages] == [
            ("beijing", 6, 0),
            ("shanghai", 2, 6),
        ]


def test_replicas_with_different_splits_are_refused():
    shape = plan([("beijing", "B200", [8])], dp=2)
    far = replace(shape.stages[0], cluster="shanghai", replica=1, layers=7, nodes=1, node_rank_offset=1)
    uneven = replace(shape, shape="data-parallel", stages=(replace(shape.stages[0], nodes=1), far))
    with pytest.raises(Exception, match=r"HF406.*8 layers in one replica and 7 in another"):
        lower(job(TWO_CITIES), uneven)


def test_warm_up_that_hides_a_link_is_shipped_as_a_file():
    hiding = replace(SEVENTY, warmup=(4, 1), microbatches=6)
    case = (seventy(launch=TITAN)[0], hiding)
    assert flags(case)["parallelism.pipeline_parallel_schedule_csv"] == "/hyperflow/launch/schedule.csv"
    assert flags(case)["parallelism.pipeline_parallel_schedule"] == "PipelineScheduleSingle"
    manifests = lower(*case)
    config = next(item for item in manifests.objects if item.kind_name == "ConfigMap")
    rows = config.data["schedule.csv"].split()
    assert rows[0].split(",")[:6] == ["0F0", "0F1", "0F2", "0F3", "0B0", "0F4"]
    assert rows[1].split(",")[:4] == ["1F0", "1B0", "1F1", "1B1"]
    env = manifests.objects[-1].spec.replicated_jobs[1].template_spec.tasks[0].template.spec["containers"][0]["env"]
    assert {"name": "HF_SCHEDULE_FILE", "value": "/hyperflow/launch/schedule.csv"} in env
    for standard in ((), (2, 1)):
        plain = lower(case[0], replace(hiding, warmup=standard))
        assert "schedule.csv" not in next(item for item in plain.objects if item.kind_name == "ConfigMap").data
