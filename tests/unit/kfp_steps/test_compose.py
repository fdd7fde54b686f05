"""Steps in pipelines: typed at compose time, golden when compiled, never cached; kfp is needed here and only here."""

import subprocess
import sys

import pytest
import yaml

kfp = pytest.importorskip("kfp", reason="not tested: pipelines, since kfp is absent")

from kfp import dsl  # noqa: E402

import hyperflow.kfp_steps as hfk  # noqa: E402
from hyperflow.errors import HyperFlowError, InputError, UsageError  # noqa: E402
from hyperflow.kfp_steps.prepare import JobInputs, compiled  # noqa: E402
from hyperflow.kfp_steps.train_step import task_fields  # noqa: E402
from tests import kfp_golden  # noqa: E402
from tests.kfp_cases import EXAMPLE, ROOT, write_tiny  # noqa: E402


def test_compiled_components_and_pipelines_are_as_they_were():
    for path, text in kfp_golden.golden_texts().items():
        assert path.read_text(encoding="utf-8") == text, f"{path.relative_to(ROOT)}: run make golden and read the diff"


def test_i3_the_pipeline_has_its_executors_and_data_edges():
    spec = yaml.safe_load((EXAMPLE / "compiled" / "pipeline.yaml").read_text())
    executors = spec["deploymentSpec"]["executors"]
    assert sorted(executors) == ["exec-evaluate", "exec-hyperflow-cleanup", "exec-prep", "exec-train-line"]
    tasks = spec["components"]["comp-exit-handler-1"]["dag"]["tasks"]
    source = tasks["train-line"]["inputs"]["artifacts"]["tokens"]["taskOutputArtifact"]
    assert source == {"producerTask": "prep", "outputArtifactKey": "tokens"}
    source = tasks["evaluate"]["inputs"]["artifacts"]["checkpoint"]["taskOutputArtifact"]
    assert source == {"producerTask": "train-line", "outputArtifactKey": "checkpoint"}
    assert tasks["train-line"]["cachingOptions"] == {}
    run_id = tasks["train-line"]["inputs"]["parameters"]["run_id"]
    assert run_id == {"runtimeValue": {"constant": "{{$.pipeline_job_uuid}}"}}


def test_a_second_compile_gives_the_same_bytes():
    module = kfp_golden.load(EXAMPLE / "sweep.py")
    assert kfp_golden.ir_text(module.pipeline) == kfp_golden.ir_text(module.pipeline)


@pytest.fixture
def job(tmp_path):
    return write_tiny(tmp_path)


def compose(step, **inputs):
    @dsl.pipeline(name="p")
    def pipeline(text: str = "x"):
        step(**{name: text if value is compose else value for name, value in inputs.items()})

    return pipeline


def test_a_value_of_another_type_is_refused_when_the_pipeline_is_composed(job):
    step = hfk.step(job, inputs={"tp": hfk.value("parallel.tp")})
    compose(step, tp=2)
    with pytest.raises(kfp.dsl.types.type_utils.InconsistentTypeException, match="NUMBER_INTEGER"):
        compose(step, tp=compose)


def test_an_unknown_or_missing_input_is_refused_when_the_pipeline_is_composed(job):
    step = hfk.step(job, inputs={"tp": hfk.value("parallel.tp")})
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        compose(step, tp=2, pt=3)
    with pytest.raises(TypeError, match="missing 1 required"):
        compose(step)


def test_types_of_inputs_follow_from_what_they_are_bound_to(job):
    inputs = {
        "tp": hfk.value("parallel.tp"),
        "every": hfk.value("checkpoint.every"),
        "labels": hfk.value("job.labels"),
        "nodes": hfk.value("nodes.north"),
        "rate": hfk.value("env.RATE", float, default=0.5),
        "layers": hfk.value("data.at"),
        "zero": hfk.value("parallel.zero"),
        "tied": hfk.value("model.tied"),
    }
    kinds = hfk.step(job, inputs=inputs).component.component_spec.inputs
    assert {name: kinds[name].type for name in inputs} == {
        "tp": "Integer",
        "every": "String",
        "labels": "Dict",
        "nodes": "Integer",
        "rate": "Float",
        "layers": "List",
        "zero": "Integer",
        "tied": "Boolean",
    }


def test_a_job_that_cannot_be_planned_fails_when_the_pipeline_is_composed(job):
    with pytest.raises(HyperFlowError):
        hfk.step(job.with_settings(["parallel.dp=64"]))
    hfk.step(job.with_settings(["parallel.dp=64"]), plan="runtime")


def test_settings_of_the_task_pass_on_only_where_asked(job):
    plain = hfk.step(job).component.component_spec
    passed = hfk.step(job, pass_on=["env", "tolerations", "volumes"]).component.component_spec
    assert "task_config" not in plain.inputs
    assert [item.field.name for item in passed.task_config_passthroughs] == [
        "ENV",
        "KUBERNETES_TOLERATIONS",
        "KUBERNETES_VOLUMES",
    ]


def test_i4_a_task_with_a_toleration_and_a_variable_compiles_only_where_they_are_passed_on(job):
    from kfp import kubernetes

    def composed(*pass_on):
        step = hfk.step(job, pass_on=pass_on)

        @dsl.pipeline(name="p")
        def pipeline():
            task = step()
            task.set_env_variable("FROM_TASK", "x")
            kubernetes.add_toleration(task, key="gpu", operator="Exists", effect="NoSchedule")

        return yaml.safe_load_all(kfp_golden.ir_text(pipeline))

    spec, _platform = composed("env", "tolerations")
    component = spec["components"]["comp-train-tiny"]
    assert component["taskConfigPassthroughs"] == [{"field": "ENV"}, {"field": "KUBERNETES_TOLERATIONS"}]
    with pytest.raises(ValueError, match="KUBERNETES_TOLERATIONS"):
        composed("env")


def test_i4_the_settings_that_kfp_hands_a_step_arrive_under_their_names():
    given = dsl.TaskConfig(env=[{"name": "A", "value": "b"}], node_selector={"pool": "train"})
    assert task_fields(given) == {"env": [{"name": "A", "value": "b"}], "node_selector": {"pool": "train"}}
    assert task_fields(None) == {}


def test_an_image_of_ones_own_installs_nothing(job):
    container = hfk.step(job, image="registry.example.com/step:1").component.component_spec.implementation.container
    assert container.image == "registry.example.com/step:1"
    assert not any("pip install" in part for part in container.command)


def refusals(error, call):
    with pytest.raises(error) as caught:
        call()
    return [finding.as_text() for finding in caught.value.findings]


def test_names_that_cannot_be_parameters_are_refused(job):
    inputs = {"learning rate": hfk.value("env.RATE"), "plan": hfk.value("env.PLAN")}
    assert refusals(InputError, lambda: hfk.step(job, inputs=inputs)) == [
        f"error[HF561] an input cannot be named {name!r}\n"
        f"  --> inputs[{name!r}]\n"
        f"  got {name!r}, expected a Python name that the step does not use itself\n"
        "  hint: input names become parameters of the component"
        for name in inputs
    ]


def test_unknown_options_are_refused(job):
    assert refusals(UsageError, lambda: hfk.step(job, plan="never", pass_on=["wings"], on_cancle="keep")) == [
        "error[HF562] a step has no plan 'never'\n"
        "  --> step(plan)\n  got 'never', expected one of compile, runtime\n  hint: see docs/kfp.md",
        "error[HF562] a step has no pass_on 'wings'\n"
        "  --> step(pass_on)\n"
        "  got 'wings', expected one of resources, env, affinity, tolerations, node_selector, volumes\n"
        "  hint: see docs/kfp.md",
        "error[HF562] a step has no options 'on_cancle'\n"
        "  --> step(options)\n"
        "  got 'on_cancle', expected one of backend, calibration, context, fleet_file, mode, must_complete, on_cancel, "
        "on_failure, poll_seconds, profile, queue_timeout_seconds, run_timeout_seconds, templates, work_dir\n"
        "  hint: see docs/kfp.md",
    ]


def test_an_unknown_mode_is_refused(job):
    assert refusals(UsageError, lambda: hfk.step(job, mode="sideways")) == [
        "error[HF562] a step has no mode 'sideways'\n"
        "  --> step(mode)\n  got 'sideways', expected one of auto, hyperjob, direct\n  hint: see docs/kfp.md"
    ]


def test_a_step_compiles_in_the_mode_it_was_given(job):
    step = hfk.step(job, mode="direct")
    done = compiled(JobInputs(packed=step.packed), stop_after="lower")
    kinds = [item.kind_name for item in done.needed_manifests.objects]
    assert (kinds.count("Job"), kinds.count("HyperJob")) == (2, 0)


def test_unknown_targets_are_refused(job):
    shown = refusals(InputError, lambda: hfk.step(job, inputs={"tp": hfk.value("parallel.pt", int)}))
    assert shown[0].startswith("error[HF118] cannot set 'parallel.pt=null': unknown path 'parallel.pt'")


def test_without_kfp_the_step_says_where_to_get_it(job, monkeypatch):
    monkeypatch.setitem(sys.modules, "kfp", None)
    assert refusals(UsageError, lambda: hfk.step(job)) == [
        "error[HF550] pipelines need kfp, which is not installed\n"
        "  --> hyperflow.kfp_steps\n"
        "  expected kfp 2.17 or later\n"
        "  hint: pip install 'hyperflow[kfp]'"
    ]


@pytest.mark.parametrize("module", ["component_body", "container_main"])
def test_what_runs_in_the_pod_does_not_import_kfp(module):
    program = f"import sys, hyperflow.kfp_steps.{module}; print('kfp' in sys.modules, 'kubernetes' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert shown.stdout.strip() == "False False"
