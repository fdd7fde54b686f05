import pytest

from hyperflow.dsl.discover import load_job
from hyperflow.errors import InputError


def test_set_changes_a_typed_value(write_job):
    job = load_job(str(write_job())).with_settings(["parallel.tp=4", "job.queue=other", "guard.rendezvous_timeout=5m"])
    declared = job.training_job()
    assert (declared.parallel.tp, declared.queue, declared.guard.rendezvous_timeout_seconds) == (4, "other", 300.0)


def test_set_with_an_unknown_path_names_the_nearest(write_job):
    with pytest.raises(InputError) as caught:
        load_job(str(write_job())).with_settings(["paralel.tp=4"])
    assert str(caught.value) == (
        "error[HF118] cannot set 'paralel.tp=4': unknown path 'paralel.tp'\n"
        "  --> --set paralel.tp=4\n"
        "  got paralel.tp, expected PATH=VALUE with a path such as parallel.tp\n"
        '  hint: did you mean "parallel.tp"?'
    )


def test_set_with_a_wrong_type_is_refused(write_job):
    with pytest.raises(InputError) as caught:
        load_job(str(write_job())).with_settings(["parallel.tp=lots"]).training_job()
    assert {finding.code for finding in caught.value.findings} == {"HF112"}
    assert caught.value.findings[0].place == "--set:1:13"
