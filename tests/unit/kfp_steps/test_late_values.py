"""Late values are bound like settings of the command line: typed, checked, planned again."""

import pytest
import yaml

from hyperflow.errors import HyperFlowError, UsageError
from hyperflow.kfp_steps.late_values import from_struct, variable_text, yaml_text
from hyperflow.kfp_steps.pack_job import pack_job
from hyperflow.kfp_steps.prepare import JobInputs, compiled
from hyperflow.kfp_steps.run_names import name_in_run, run_key
from tests.kfp_cases import write_tiny

NASTY = [
    '{"a": "b"}',
    'it\'s "quoted"',
    "a: b # no",
    "ünï 😀",
    "line\nbreak\ttab",
    "$(HOME) ${X}",
    "{{$.inputs}}",
    "",
    "yes",
    "4",
]


@pytest.fixture
def packed(tmp_path):
    return pack_job(write_tiny(tmp_path))


def environment(done):
    document = done.needed_manifests.objects[-1].document()
    container = document["spec"]["replicatedJobs"][0]["templateSpec"]["tasks"][0]["template"]["spec"]["containers"][0]
    return {item["name"]: item.get("value") for item in container["env"]}


@pytest.mark.parametrize("text", NASTY)
def test_text_reaches_the_training_process_as_it_was_given(packed, text):
    done = compiled(JobInputs(packed=packed, values={"env.GIVEN": text}))
    variables = environment(done)
    assert variables["GIVEN"].replace("$$", "$") == text
    assert variables["MODE"] == "declared"
    written = next(file.text for file in done.needed_bundle.files if "hyperjob" in file.path)
    assert yaml.safe_load(written) == done.needed_manifests.objects[-1].document()


def test_a_value_that_changes_the_plan_is_planned_again(packed):
    before = compiled(JobInputs(packed=packed))
    after = compiled(JobInputs(packed=packed, values={"parallel.layers": {"north": 2, "south": 6}}))
    assert [stage.layers for stage in after.needed_plan.stages] == [2, 6]
    assert [stage.layers for stage in before.needed_plan.stages] != [2, 6]
    assert before.needed_bundle.name != after.needed_bundle.name


def test_whole_numbers_of_a_struct_are_whole_again(packed):
    done = compiled(JobInputs(packed=packed, values=from_struct({"parallel.global_batch_size": 32.0, "env.N": 4.0})))
    assert done.needed_plan.global_batch_size == 32
    assert environment(done)["N"] == "4"


def shown(packed, values):
    with pytest.raises(HyperFlowError) as caught:
        compiled(JobInputs(packed=packed, values=values))
    return "\n".join(finding.as_text() for finding in caught.value.findings)


def test_an_unknown_path_is_refused_with_the_nearest_one(packed):
    assert "error[HF118] cannot set 'parallel.pt=2': unknown path 'parallel.pt'" in shown(packed, {"parallel.pt": 2})


def test_a_value_of_the_wrong_type_is_refused_by_its_path(packed):
    text = shown(packed, {"parallel.global_batch_size": "many"})
    assert "error[HF112] @hf.parallel(global_batch_size=): 'many' does not fit\n  --> --set:1:" in text


@pytest.mark.parametrize(
    ("target", "value", "reason", "expected"),
    [
        ("nodes.north", 2, "it has 1 nodes", "1 to 1"),
        ("nodes.north", "all", "it has 1 nodes", "1 to 1"),
        ("nodes.nrth", 1, "there is no cluster 'nrth'", "one of north, south"),
    ],
)
def test_a_number_of_nodes_that_does_not_fit_is_refused(packed, target, value, reason, expected):
    assert shown(packed, {target: value}) == (
        f"error[HF554] cannot take {value!r} nodes of cluster {target[6:]!r}: {reason}\n"
        f"  --> {target}\n"
        f"  got {value!r}, expected {expected}\n"
        "  hint: nodes.CLUSTER takes a whole number of the cluster's usable nodes"
    )


def test_fewer_nodes_give_a_smaller_plan(tmp_path):
    job = write_tiny(tmp_path)
    wide = (tmp_path / "job.py").read_text().replace("nodes=1", "nodes=2").replace("dp=1", 'dp="auto"')
    job = write_tiny(tmp_path, job=wide)
    small = compiled(JobInputs(packed=pack_job(job), values={"nodes.north": 1, "nodes.south": 1}))
    assert small.needed_plan.degrees.world_size == 2
    assert compiled(JobInputs(packed=pack_job(job))).needed_plan.degrees.world_size == 4


def test_the_name_follows_from_the_run_and_the_label_finds_it_again(packed):
    first, again = (compiled(JobInputs(packed=packed, run_id="run-1")) for _ in range(2))
    other = compiled(JobInputs(packed=packed, run_id="run-2"))
    assert first.needed_bundle.name == again.needed_bundle.name != other.needed_bundle.name
    turns = [compiled(JobInputs(packed=packed, run_id="run-1", values={"env.TURN": turn})) for turn in "ab"]
    assert len({done.job.name for done in [first, *turns]}) == 3
    assert first.job.name == name_in_run("tiny", "run-1", {})
    assert first.needed_manifests.objects[-1].metadata.labels["kfp-run"] == run_key("run-1")


def test_a_plan_at_another_time_is_refused(packed):
    with pytest.raises(UsageError) as caught:
        compiled(JobInputs(packed=packed, plan="later"))
    assert caught.value.findings[0].as_text() == (
        "error[HF559] plan cannot be 'later'\n"
        "  --> plan\n"
        "  got 'later', expected compile or runtime\n"
        "  hint: runtime reads the fleet when the step runs"
    )


def test_runtime_plans_for_the_fleet_as_it_is_then(packed, tmp_path):
    from hyperflow.inventory.fleet import write_fleet
    from hyperflow.spec.fleet import Cluster, Fleet, Link, NodeGroup

    def cluster(name, device):
        return Cluster(name=name, groups=(NodeGroup(device=device, count=1, devices_per_node=1),), nodes_total=1)

    links = (Link(a="north", b="west", bytes_per_second=1e9, round_trip_seconds=0.01),)
    fleet = Fleet(clusters=(cluster("north", "A100"), cluster("west", "B200")), links=links)
    (tmp_path / "fleet.yaml").write_text(write_fleet(fleet))
    done = compiled(JobInputs(packed=packed, plan="runtime", fleet_file=str(tmp_path / "fleet.yaml")))
    assert set(done.needed_plan.clusters) == {"north", "west"}


def test_variables_are_text_and_yaml_reads_back_what_was_written():
    assert [variable_text(value) for value in (True, 1.0, 3, None, ["a", 1], 'q"')] == [
        "true",
        "1.0",
        "3",
        "null",
        '["a",1]',
        'q"',
    ]
    for value in [*NASTY, 1e22, -0.0, 10**20, {"a": NASTY}, [None, True]]:
        assert yaml.safe_load(yaml_text(value)) == value
