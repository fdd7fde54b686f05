import pytest

from hyperflow.dsl.discover import load_job
from hyperflow.errors import InputError

TWO_JOBS = """
import hyperflow as hf

def declare(name):
    @hf.job(name=name, image="x")
    def train():
        return hf.torchrun("train.py")
    return train

small, large = declare("small-job"), declare("large-job")
"""


def test_a_file_that_raises_shows_the_users_frames_only(write_job):
    path = write_job(text="def boom():\n    return 1 / 0\n\n\nboom()\n")
    with pytest.raises(InputError) as caught:
        load_job(str(path))
    assert str(caught.value) == (
        "error[HF103] job.py raised ZeroDivisionError: division by zero\n"
        "    job.py:5 in <module>: boom()\n"
        "    job.py:2 in boom: return 1 / 0\n"
        "  --> job.py:2\n"
        "  got ZeroDivisionError, expected a file that runs to its end when imported\n"
        "  hint: mend the file; run it with python to see the whole traceback"
    )


@pytest.mark.parametrize("text", ["raise SystemExit(3)", "import absent_module_xyz", "def f(:"])
def test_any_way_to_fail_while_imported_is_a_finding(write_job, text):
    with pytest.raises(InputError) as caught:
        load_job(str(write_job(text=text)))
    assert [finding.code for finding in caught.value.findings] == ["HF103"]


def test_a_file_without_a_job_says_so(write_job):
    with pytest.raises(InputError) as caught:
        load_job(str(write_job(text="x = 1\n")))
    assert str(caught.value) == (
        "error[HF104] job.py declares no job\n  --> job.py\n  expected none\n  hint: put @hf.job(...) on a function"
    ).replace("  expected none\n", "  expected at least one\n")


def test_several_jobs_need_a_name(write_job):
    path = write_job(text=TWO_JOBS)
    with pytest.raises(InputError) as caught:
        load_job(str(path))
    assert str(caught.value) == (
        "error[HF105] job.py declares 2 jobs\n"
        "  --> job.py\n"
        "  got small, large, expected one job, or FILE:NAME\n"
        "  hint: say which: job.py:small"
    )
    assert load_job(f"{path}:large").name == "large-job"
    assert load_job(f"{path}:small-job").name == "small-job"


def test_a_misspelt_job_name_is_answered_with_the_nearest(write_job):
    with pytest.raises(InputError) as caught:
        load_job(f"{write_job(text=TWO_JOBS)}:larg")
    assert caught.value.findings[0].hint == 'did you mean "large"?'
