"""Objects as text: what templates may and may not do."""

from pathlib import Path

import pytest
import yaml

from hyperflow.errors import HyperFlowError
from hyperflow.lower.lower_job import lower
from hyperflow.render.render_bundle import render, template_name
from hyperflow.render.scalars import block, scalar, text_block
from hyperflow.render.templates import template_folder
from hyperflow.validate.check_bundle import check
from tests.crd_schemas import schema_of, unknown_fields
from tests.manifest_cases import one_city, two_cities

CASES = {"two cities": (two_cities, "auto"), "direct": (two_cities, "direct"), "one city": (one_city, "auto")}


@pytest.mark.parametrize("name", CASES)
def test_a1_text_parses_to_what_was_lowered_and_the_schemas_know_every_field(name):
    case, mode = CASES[name]
    manifests = lower(*case(), mode)
    bundle = render(manifests)
    assert check(manifests, bundle) == ()
    for file, item in zip(bundle.files, manifests.objects, strict=True):
        document = yaml.safe_load(file.text)
        assert item.document() == document
        schema = schema_of(document["kind"], document["apiVersion"])
        if schema:
            assert unknown_fields(document, schema) == []


def test_second_render_is_byte_identical():
    assert render(lower(*two_cities())) == render(lower(*two_cities()))


def test_checkout_is_read_and_not_an_installed_copy():
    assert template_folder() == Path(__file__).parents[3] / "templates"


def test_every_emitted_kind_has_its_template():
    kinds = {item.kind_name for case in (two_cities, one_city) for item in lower(*case()).objects}
    assert [k for k in kinds if not (template_folder() / template_name(k)).is_file()] == []


def own_template(tmp_path, text):
    (tmp_path / "service.yaml.j2").write_text(text)
    manifests = lower(*two_cities())
    return manifests, render(manifests, tmp_path)


def test_template_that_adds_is_listed_and_one_that_drops_is_refused(tmp_path):
    good = (template_folder() / "service.yaml.j2").read_text()
    findings = check(*own_template(tmp_path, good + "  internalTrafficPolicy: Cluster\n"))
    assert [f.as_text() for f in findings] == [
        "note[HF417] the template adds spec.internalTrafficPolicy\n"
        f"  --> {next(f.path for f in own_template(tmp_path, good)[1].files if 'service' in f.path)}"
    ]
    findings = check(
        *own_template(tmp_path, good.replace("  publishNotReadyAddresses: {{ object.spec", "  x: {{ object.spec"))
    )
    assert findings[0].as_text().split("\n")[0] == "error[HF416] spec.publishNotReadyAddresses is lost"
    assert (
        findings[0]
        .as_text()
        .endswith(
            "  expected every lowered field, unchanged\n"
            "  hint: a template may add fields, not drop or change them; compare it with templates/"
        )
    )
    findings = check(*own_template(tmp_path, good.replace("type: {{ object.spec.type }}", "type: NodePort")))
    assert findings[0].message == "spec.type is 'NodePort', not 'ClusterIP'"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kind: {{ object.kind", "the template cannot be rendered: unexpected end of template, expected 'end of print"),
        ("{{ nobody }}", "the template cannot be rendered: 'nobody' is undefined"),
        ("{{ object.spec.nothing }}", "the template cannot be rendered: 'dict object' has no attribute 'nothing'"),
        (
            "{{ ''.__class__.__mro__ }}",
            "the template cannot be rendered: access to attribute '__class__' of 'str' object",
        ),
        ("{% include 'absent' %}", "the template cannot be rendered: there is no template absent"),
    ],
)
def test_faulty_template_is_refused_by_name(tmp_path, text, message):
    with pytest.raises(HyperFlowError) as caught:
        own_template(tmp_path, text)
    finding = caught.value.findings[0]
    assert (finding.code, finding.message[: len(message)]) == ("HF418", message)
    assert finding.where.startswith("service.yaml.j2")
    assert finding.hint == "compare it with the template of the same name in templates/"


def test_template_that_is_no_yaml_is_refused(tmp_path):
    findings = check(*own_template(tmp_path, "a: [\n"))
    assert (findings[0].code, findings[0].severity) == ("HF416", "error")
    assert findings[0].message.startswith("the text is no YAML: while parsing")


def test_object_over_the_limit_of_the_store_is_named():
    manifests = lower(*two_cities(annotations={"note": "x" * 1_500_000}))
    found = [f for f in check(manifests, render(manifests)) if f.code == "HF419"]
    assert found[0].as_text().split("\n")[2:] == [
        f"  got {found[0].got}, expected at most 1500000 bytes",
        "  hint: shorten arguments and variables, or use mode direct: one object a child",
    ]
    assert found[0].message.endswith("bytes, the store takes 1500000")


WORDS = "y,No,null,~,1:30,1e3,.5,0x1f,- a,-,--,---,a: b,a #b,#a,, a,a ,{a,[a,&a,*a,!a,|,>,%a,@a,`a,',=,<<,?,? a,a:,:a"
MARKS = ('"', "\x85", "\u2028", "\ufeff", "\x00", "\x7f", "😀", "{{ x }}", "a\\b", "-inf", ".inf", ".nan", "2026-11-30")
LINES = ("\n", "\n\n", "a\tb", "a\nb", "a\n", "a\n\n", " a\nb\n", "a \nb\n", "a\n\nb\n", "#a\nb\n", "- a\n- b\n")
HARD_TEXTS = (*WORDS.split(","), *MARKS, *LINES)


@pytest.mark.parametrize("text", HARD_TEXTS)
def test_every_text_comes_back_as_itself(text):
    assert yaml.safe_load(scalar(text)) == text
    assert yaml.safe_load("k: " + text_block(text, 2) + "\n") == {"k": text}
    assert yaml.safe_load(block({text: [text, {"k": text}]}, 0) + "\n") == {text: [text, {"k": text}]}


def test_script_text_stands_as_literal_block():
    assert text_block("#!/bin/sh\nset -eu\n", 2) == "|\n  #!/bin/sh\n  set -eu"
