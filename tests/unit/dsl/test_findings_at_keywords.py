"""Mistakes in a declaration point at the very keyword, all of them in one run."""

import pytest

from hyperflow.dsl.discover import load_job
from hyperflow.errors import InputError


def findings_of(path):
    with pytest.raises(InputError) as caught:
        load_job(str(path)).training_job()
    return caught.value.findings


def test_an_unknown_keyword_points_at_its_value_and_names_the_nearest(write_job):
    (finding,) = findings_of(write_job(parallel="tp=8, globl_batch_size=32"))
    assert finding.as_text() == (
        "error[HF110] @hf.parallel has no keyword 'globl_batch_size'\n"
        "  --> job.py:6:37\n"
        "  6 | @hf.parallel(tp=8, globl_batch_size=32)\n"
        "    |                                     ^^ one of allreduce, cp, dp, ep, global_batch_size, layers, "
        "micro_batch_size, policy, pp, recompute, schedule, tp, zero\n"
        '  hint: did you mean "global_batch_size"?'
    )


def test_a_repeated_decorator_is_told(write_job):
    (finding,) = findings_of(write_job(more="@hf.parallel(pp=2)"))
    assert finding.code == "HF111"
    assert finding.message == "@hf.parallel is given twice"
    assert finding.hint == "keep one @hf.parallel with all its keywords"


def test_wrong_types_are_told_together_each_at_its_place(write_job):
    path = write_job(parallel='tp="many", micro_batch_size=[1]', more='@hf.checkpoint(to=3, every="soon")')
    found = findings_of(path)
    assert {finding.code for finding in found} == {"HF112"}
    marked = sorted(finding.span.text[finding.span.column - 1 :][: finding.span.width] for finding in found)
    assert marked == ['"many"', '"soon"', "3", "[1]"]


def test_a_value_that_fits_no_type_is_one_finding_that_names_all_types(write_job):
    (finding,) = findings_of(write_job(parallel='tp="many"'))
    assert finding.as_text() == (
        "error[HF112] @hf.parallel(tp=): 'many' does not fit\n"
        "  --> job.py:6:17\n"
        '  6 | @hf.parallel(tp="many")\n'
        "    |                 ^^^^^^ needs a whole number or 'auto'\n"
        "  hint: give tp= a whole number or 'auto'"
    )


def test_a_wrong_duration_says_what_a_duration_is(write_job):
    (finding,) = findings_of(write_job(more='@hf.checkpoint(to="s3://c", every="soon")'))
    assert finding.as_text() == (
        "error[HF112] @hf.checkpoint(every=): 'soon' is not a duration such as 15m, 1h30m or 45s\n"
        "  --> job.py:8:35\n"
        '  8 | @hf.checkpoint(to="s3://c", every="soon")\n'
        "    |                                   ^^^^^^ a duration such as 20m\n"
        '  hint: write "20m", "1h30m" or "45s"'
    )


def test_missing_decorators_are_told_with_the_line_that_mends_them(write_job):
    path = write_job(
        text="""
        import hyperflow as hf

        @hf.job(name="toy", image="x")
        def train():
            return hf.torchrun("train.py")
        """
    )
    found = findings_of(path)
    assert [(finding.code, finding.message) for finding in found] == [
        ("HF113", "the job declares no @hf.model"),
        ("HF113", "the job declares no @hf.on"),
    ]
    assert found[1].hint == "add @hf.on(fleet) or pass --fleet FILE"


def test_something_that_is_no_cluster_is_refused(write_job):
    path = write_job(
        text="""
        import hyperflow as hf

        @hf.job(name="toy", image="x")
        @hf.model(layers=2, hidden=64, ffn=64, heads=1, vocab=64, seq=64)
        @hf.on("beijing")
        def train():
            return hf.torchrun("train.py")
        """
    )
    (finding,) = findings_of(path)
    assert finding.code == "HF114"
    assert finding.message == "@hf.on: 'beijing' is no fleet or cluster"


def test_a_gpu_text_that_cannot_be_read_is_refused(write_job):
    with pytest.raises(InputError) as caught:
        load_job(str(write_job(text='import hyperflow as hf\nc = hf.Cluster("a", nodes=1, gpu="H100:")\n')))
    assert str(caught.value) == (
        "error[HF120] cluster 'a': cannot read gpu='H100:'\n"
        "  --> job.py:2:34\n"
        '  2 | c = hf.Cluster("a", nodes=1, gpu="H100:")\n'
        '    |                                  ^^^^^^^ DEVICE:COUNT with a count of 1 to 9999, such as "H100:8"\n'
        '  hint: write gpu="H100:8"'
    )
