"""A job that travels with a pipeline compiles to the same bundle where it arrives."""

import json

import pytest

from hyperflow.compiler import CompileOptions
from hyperflow.dsl.discover import load_job
from hyperflow.errors import InputError, UsageError
from hyperflow.kfp_steps.pack_job import pack_job
from hyperflow.kfp_steps.packed_job import open_packed, pack, unpack
from hyperflow.kfp_steps.prepare import JobInputs, compiled
from tests.kfp_cases import EXAMPLE, ROOT, SCRIPT_JOB, write_tiny


@pytest.mark.parametrize("name", ["01_two_cities", "02_llama70b", "03_tiny_local", "04_kfp_pipeline"])
def test_a_packed_example_gives_the_manifests_of_the_unpacked_one(name):
    declared = load_job(str(ROOT / "examples" / name / "job.py"))
    packed = json.loads(json.dumps(pack_job(declared)))
    pages = ("plan.json", "report.html", "bundle.json")  # these name places in the job's file
    there = {f.path: f.text for f in compiled(JobInputs(packed=packed)).needed_bundle.files if f.path not in pages}
    here = {f.path: f.text for f in declared.compilation(CompileOptions()).needed_bundle.files if f.path not in pages}
    assert here == there


def test_every_kind_of_value_survives_the_journey(tmp_path):
    extra = """
    @hf.patch("pod.spec.terminationGracePeriodSeconds", 30)
    @hf.patch("pod.spec.hostAliases", [{"ip": "10.0.0.1", "hostnames": ["a"]}])
    @hf.data(path="pvc://corpus/tokens", at=["north", "south"], cache="per-node")
    @hf.guard(on_partial_failure="keep", rendezvous_timeout="90s")
    @hf.topology(job=hf.soft())
    """
    text = SCRIPT_JOB.replace(
        "@hf.checkpoint", "".join(f"{line.strip()}\n" for line in extra.split("\n")) + "@hf.checkpoint"
    )
    text = text.replace('MODE="declared"', """MODE='say "hi" {"a": "b"} ünï $HOME {{$.x}}'""")
    text = text.replace(
        'hf.torchrun("script.py")', 'hf.megatron(args={"seed": 8, "lr": 1.0, "bf16": True, "save": None})'
    )
    job = write_tiny(tmp_path, job=text)
    content = open_packed(pack_job(job))
    there = unpack(content, tmp_path)
    wanted = job.training_job()
    assert there.training_job() == wanted.model_copy(update={"sources": there.training_job().sources})
    assert [type(value) for value in there.launch(None).args.values()] == [int, float, bool, type(None)]


def test_a_config_file_travels_inside(tmp_path):
    declared = load_job(str(ROOT / "examples" / "02_llama70b" / "job.py"))
    content = open_packed(pack_job(declared))
    assert content["job"]["model"]["config"] == "config.json"
    assert content["config"] == (ROOT / "examples" / "02_llama70b" / "config.json").read_text()


def refusal(call):
    with pytest.raises((InputError, UsageError)) as caught:
        call()
    return "\n".join(finding.as_text() for finding in caught.value.findings)


def test_a_policy_that_is_a_function_is_refused(tmp_path):
    text = SCRIPT_JOB.replace("dp=1,", "dp=1, policy=mine,").replace("@hf.job", "def mine():\n    pass\n\n\n@hf.job")
    job = write_tiny(tmp_path, job=text)
    declared = job.training_job()
    shown = refusal(lambda: pack(declared.model_copy(update={"sources": {}}), job.launch(None), tmp_path, None))
    assert shown == (
        "error[HF551] a split policy that is a function cannot travel with a pipeline\n"
        "  --> @hf.parallel(policy=)\n"
        "  got mine, expected the name of a policy, or layers=\n"
        "  hint: plan once here and give the split as layers="
    )


def test_a_declaration_too_large_for_an_argument_is_refused(tmp_path):
    text = SCRIPT_JOB.replace('MODE="declared"', 'MODE="x" * 100_000')
    shown = refusal(lambda: pack_job(write_tiny(tmp_path, job=text), plan="runtime"))
    size = shown.split("got ")[1].split(" ")[0]
    assert int(size) > 130_000
    assert shown == (
        "error[HF552] job 'tiny' is too large to travel as the input of a task\n"
        "  --> hyperflow.kfp_steps.step\n"
        f"  got {size} bytes, expected at most 98304\n"
        '  hint: read the fleet in the step with plan="runtime", name fewer clusters, or give fewer templates'
    )


@pytest.mark.parametrize(
    ("packed", "reason"),
    [
        ({}, "schema is None"),
        ({"schema": "hyperflow.packed-job/v1", "data": "%%%"}, "Only base64 data is allowed"),
        ({"schema": "hyperflow.packed-job/v1", "data": "bm90IGpzb24="}, "Expecting value: line 1 column 1 (char 0)"),
    ],
)
def test_what_was_not_packed_is_refused(packed, reason):
    assert refusal(lambda: open_packed(packed)) == (
        f"error[HF553] the input `job` is no packed job: {reason}\n"
        "  --> job\n"
        "  expected what hyperflow.kfp_steps.pack_job gives, schema hyperflow.packed-job/v1\n"
        "  hint: compile the pipeline with the version of HyperFlow that the step runs"
    )


def test_a_pack_of_another_version_is_refused(tmp_path):
    content = open_packed(pack_job(load_job(str(EXAMPLE / "job.py"))))
    content["job"]["wings"] = 2
    content["launch"] = {"kind": "rocket"}
    assert "error[HF553] the input `job` is no packed job: 1 validation error" in refusal(
        lambda: unpack(content, tmp_path)
    )


PLAN_TAKER = SCRIPT_JOB.replace("def train():", "def train(plan):").replace(
    'hf.torchrun("script.py")', 'hf.torchrun("script.py", [str(stage.layers) for stage in plan.stages])'
)


def test_an_entry_point_made_from_the_plan_holds_for_that_plan_only(tmp_path):
    packed = pack_job(write_tiny(tmp_path, job=PLAN_TAKER))
    assert compiled(JobInputs(packed=packed, values={"env.MODE": "late"})).plan is not None
    shown = refusal(lambda: compiled(JobInputs(packed=packed, values={"parallel.layers": {"north": 4, "south": 4}})))
    assert shown.startswith(
        "error[HF555] the late values change the plan, but the entry point was made from the plan of compile time\n"
        "  --> tiny(plan)\n  got stages: "
    )
    assert shown.endswith("hint: let the decorated function take no plan; the pods read it from HF_* and HF_PLAN_FILE")


def test_an_entry_point_made_from_the_plan_cannot_wait_for_run_time(tmp_path):
    assert refusal(lambda: pack_job(write_tiny(tmp_path, job=PLAN_TAKER), plan="runtime")) == (
        "error[HF555] tiny: an entry point made from the plan needs the plan at compile time\n"
        "  --> plan\n"
        '  got plan="runtime", expected plan="compile"\n'
        "  hint: let the decorated function take no plan; the pods read it from HF_* and HF_PLAN_FILE"
    )


def test_a_long_name_leaves_room_for_the_key_of_the_run_and_stays_apart_from_its_neighbours(tmp_path):
    names = [f"a-long-name-with-thirty-let-{end}" for end in ("aa", "bb")]
    made = []
    for name in names:
        job = write_tiny(tmp_path, job=SCRIPT_JOB.replace('name="tiny"', f'name="{name}"'))
        made.append(compiled(JobInputs(packed=pack_job(job), run_id="run-1")).job.name)
    assert [len(name) for name in made] == [30, 30]
    assert made[0][:21] == made[1][:21] == names[0][:21]
    assert made[0] != made[1]
