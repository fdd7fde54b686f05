"""A wrong call of a constructor or decorator is a finding at its place, never a TypeError or a ValidationError."""

import pytest

from hyperflow.dsl.discover import load_job
from hyperflow.errors import InputError

LINK = 'import hyperflow as hf\nhf.link("a", "b", {})\n'
CLUSTER = "import hyperflow as hf\nhf.Cluster({})\n"


def loading(write_job, text):
    with pytest.raises(InputError) as caught:
        load_job(str(write_job(text=text)))
    return caught.value.findings


@pytest.mark.parametrize(
    ("value", "need"),
    [
        ("0", "greater than 0"),
        ("-1", "greater than 0"),
        ("float('nan')", "a finite number"),
        ("1e400", "a finite number"),
        ("None", "a number"),
        ("[1]", "a number"),
    ],
)
def test_a_link_of_no_speed_is_told_in_the_users_own_unit(write_job, value, need):
    (finding,) = loading(write_job, LINK.format(f"gbps={value}"))
    assert (finding.code, finding.where, finding.place) == ("HF112", "hf.link(gbps=)", "job.py:2:24")
    assert finding.expected == f"needs {need}"


def test_a_negative_bandwidth_shows_the_value_under_its_source(write_job):
    (finding,) = loading(write_job, LINK.format("gbps=-5, rtt_ms=3"))
    assert finding.as_text() == (
        "error[HF112] hf.link(gbps=): -5 does not fit\n"
        "  --> job.py:2:24\n"
        '  2 | hf.link("a", "b", gbps=-5, rtt_ms=3)\n'
        "    |                        ^^ needs greater than 0\n"
        "  hint: give gbps= greater than 0"
    )


def test_all_wrong_values_of_one_call_are_told_together(write_job):
    found = loading(write_job, CLUSTER.format('"", gpu=5, nodes=1.5, nvlink_domain=0, price_per_gpu_hour=-1'))
    assert [(f.where, f.expected) for f in found] == [
        ("hf.Cluster(name=)", "needs a text that is not empty"),
        ("hf.Cluster(gpu=)", "needs a text"),
        ("hf.Cluster(nodes=)", "needs a whole number"),
        ("hf.Cluster(nvlink_domain=)", "needs greater than 0"),
        ("hf.Cluster(price_per_gpu_hour=)", "needs at least 0"),
    ]


def test_a_keyword_that_a_constructor_does_not_have_names_the_nearest(write_job):
    (finding,) = loading(write_job, LINK.format("gbps=1, rtt=25"))
    assert (finding.code, finding.message, finding.hint) == (
        "HF110",
        "hf.link has no keyword 'rtt'",
        'did you mean "rtt_ms"?',
    )


def test_a_missing_argument_is_a_finding_with_the_whole_signature(write_job):
    (finding,) = loading(write_job, "import hyperflow as hf\nhf.hard()\n")
    assert finding.as_text() == (
        "error[HF127] hf.hard is called wrongly: missing a required argument: 'tier'\n"
        "  --> job.py:2:1\n"
        "  2 | hf.hard()\n"
        "    | ^^^^^^^^^ hf.hard(tier=)\n"
        "  hint: write hf.hard(keyword=value, ...)"
    )


@pytest.mark.parametrize("name", ["job", "model", "parallel", "checkpoint", "env", "topology", "guard", "data"])
def test_a_decorator_without_parentheses_is_a_finding(write_job, name):
    (finding,) = loading(write_job, f"import hyperflow as hf\n\n@hf.{name}\ndef train(): ...\n")
    assert (finding.code, finding.message) == (
        "HF127",
        f"hf.{name} is called wrongly: it is used without parentheses",
    )
    assert finding.hint == f"write @hf.{name}(...)"
    assert finding.place == "job.py:3:2"


def test_positional_values_of_a_decorator_are_a_finding(write_job):
    (finding,) = loading(write_job, 'import hyperflow as hf\n\n@hf.checkpoint("s3://x")\ndef train(): ...\n')
    assert finding.message == "hf.checkpoint is called wrongly: too many positional arguments"
    assert (finding.got, finding.expected) == ("1 positional", "hf.checkpoint(to=, every=, mtbf=)")


@pytest.mark.parametrize("given", ["3", "shanghai=3", "{1: [2]}"])
def test_a_fallback_that_maps_nothing_is_a_finding(write_job, given):
    with pytest.raises(InputError) as caught:
        load_job(str(write_job(more=f"@hf.fallback({given})"))).training_job()
    assert {finding.code for finding in caught.value.findings} == {"HF112"}


def test_one_fallback_may_be_given_as_a_plain_name(write_job):
    job = load_job(str(write_job(more='@hf.fallback(shanghai="beijing")'))).training_job()
    assert job.fallback == {"shanghai": ("beijing",)}


@pytest.mark.parametrize("links", ["3", '["a"]', "None"])
def test_links_that_are_none_are_a_finding(write_job, links):
    text = f"""
        import hyperflow as hf

        @hf.job(image="x")
        @hf.model(preset="llama-3.1-8b")
        @hf.on(hf.Cluster("a", gpu="B200:8", nodes=1), links={links})
        def train():
            return hf.megatron()
    """
    with pytest.raises(InputError) as caught:
        load_job(str(write_job(text=text))).training_job()
    (finding,) = caught.value.findings
    assert (finding.code, finding.expected) == ("HF114", "a list of links")


@pytest.mark.parametrize("degree", ["tp", "cp", "ep", "pp", "dp", "micro_batch_size"])
@pytest.mark.parametrize("value", ["0", "-1", "10**30"])
def test_a_degree_out_of_range_is_a_finding_at_its_value(write_job, degree, value):
    with pytest.raises(InputError) as caught:
        load_job(str(write_job(parallel=f"{degree}={value}"))).training_job()
    (finding,) = caught.value.findings
    assert (finding.code, finding.where) == ("HF112", f"@hf.parallel({degree}=)")
    assert finding.span.text[finding.span.column - 1 :][: finding.span.width] == value


def test_values_are_told_by_the_names_the_user_wrote(write_job):
    more = '@hf.checkpoint(every="0s")\n@hf.env(FOO=3)\n@hf.topology(stage="rack")'
    with pytest.raises(InputError) as caught:
        load_job(str(write_job(more=more))).training_job()
    assert [finding.message for finding in caught.value.findings] == [
        "@hf.topology(stage=): 'rack' does not fit",
        "@hf.checkpoint lacks to=",
        "@hf.checkpoint(every=): 0.0 does not fit",
        "@hf.env(FOO=): 3 does not fit",
    ]
    assert caught.value.findings[0].expected == 'needs hf.hard("rack") or hf.soft()'
