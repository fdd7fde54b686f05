"""Reading of any YAML or JSON: positions, repeated keys, aliases, templates, tabs, scalars as Kubernetes has them."""

import json

import pytest

from hyperflow.errors import InputError
from hyperflow.inventory.documents import Document, UnreadDocument, read_documents, scan_documents

YAML = """# a comment first
apiVersion: v1
kind: Job
spec:
  tasks:
    - name: a
      env: [{name: X, value: "1"}]
---
kind: List
items:
  - kind: Queue
    spec:
      weight: 0
"""


def write(tmp_path, text, name="file.yaml"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_every_field_of_yaml_has_its_line_and_column(tmp_path):
    path = write(tmp_path, YAML)
    job, queue = scan_documents(path)
    assert isinstance(job, Document) and isinstance(queue, Document)
    assert job.source and queue.source
    place = job.source.span("f", ("spec", "tasks", 0, "env", 0, "value"))
    assert (place.line, place.column, place.width, place.text) == (7, 23, 5, '      env: [{name: X, value: "1"}]')
    assert str(queue.source.span("f", ("spec", "weight"))) == "f:13:7"


def test_a_field_that_is_absent_points_at_its_parent(tmp_path):
    (job, _) = scan_documents(write(tmp_path, YAML))
    assert isinstance(job, Document) and job.source
    assert str(job.source.span("f", ("spec", "tasks", 0, "template", "spec"))) == "f:6:7"


def test_every_field_of_json_has_its_line_and_column(tmp_path):
    value = {"kind": "List", "items": [{"kind": "Job", "spec": {"a b": [1, {"queue": "x"}]}}]}
    (job,) = scan_documents(write(tmp_path, json.dumps(value, indent=2), "file.json"))
    assert isinstance(job, Document) and job.source
    place = job.source.span("f", ("spec", "a b", 1, "queue"))
    assert place.text[place.column - 1 : place.column - 1 + place.width] == '"queue"'


@pytest.mark.parametrize(
    ("name", "text"),
    [("f.yaml", "a: 1\nb:\n  c: 1\n  d: 2\n  c: 3\n"), ("f.json", '{"a": 1,\n"b": {\n"c": 1,\n"d": 2,\n"c": 3}}')],
)
def test_a_key_that_stands_twice_is_named_with_both_lines(tmp_path, name, text):
    path = write(tmp_path, text, name)
    (found,) = scan_documents(path)
    assert isinstance(found, UnreadDocument)
    lines = "3 and 5"
    assert found.finding.as_text() == (
        f"error[HF801] the key c stands twice, in lines {lines}: servers deny it, or take the last\n"
        f"  --> {path}:5:1\n"
        "  got c, expected each key once\n"
        "  hint: remove one of the two, or join what they hold in line 3"
    )


def test_an_alias_bomb_is_refused_before_it_unfolds(tmp_path):
    lines = ["a0: &a0 [x, x]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    path = write(tmp_path, "\n".join(lines))
    with pytest.raises(InputError) as caught:
        read_documents(path)
    assert str(caught.value) == (
        "error[HF802] aliases unfold to more than 2,000,000 values\n"
        f"  --> {path}:7:5\n"
        "  hint: write the values out, or fewer of them"
    )


def test_an_alias_to_itself_is_refused(tmp_path):
    with pytest.raises(InputError, match="HF802"):
        read_documents(write(tmp_path, "a: &a [1, *a]"))


def test_anchors_and_merge_keys_are_followed(tmp_path):
    text = "base: &b {x: 1, y: 2}\nuse:\n  <<: *b\n  y: 3\n"
    (found,) = scan_documents(write(tmp_path, text))
    assert isinstance(found, Document) and found.source
    assert found.value["use"] == {"x": 1, "y": 3}
    assert str(found.source.span("f", ("use", "x"))) == "f:1:11"


@pytest.mark.parametrize(
    "text",
    [
        "kind: Job\nmetadata: {name: {{ .Release.Name }}}\n",
        'kind: Job\nmetadata: {name: "{{ .Values.name }}"}\n',
        "{{- if .Values.on }}\nkind: Job\n{{- end }}\n",
        "{% for x in y %}\n- a: {{ x }}\n{% endfor %}\n",
    ],
)
def test_a_template_is_said_to_be_one(tmp_path, text):
    (found,) = scan_documents(write(tmp_path, text))
    assert isinstance(found, UnreadDocument)
    assert found.is_template
    assert found.finding.message == "this is a template, not a document: not judged"
    assert (found.finding.code, found.finding.severity) == ("HF803", "note")


@pytest.mark.parametrize("argument", ["--format={{.Names}}", "{{range .items}}{{end}}", "up {{ $labels.node }}"])
def test_braces_in_an_argument_make_no_template(tmp_path, argument):
    (found,) = scan_documents(write(tmp_path, f'args: ["{argument}"]\n'))
    assert isinstance(found, Document)


def test_a_byte_order_mark_and_windows_line_ends_do_no_harm(tmp_path):
    for text in (b"\xef\xbb\xbfa: 1\r\nb: 2\r\n", b'\xef\xbb\xbf{"a": 1,\r\n"b": 2}'):
        path = tmp_path / "file"
        path.write_bytes(text)
        (found,) = scan_documents(path)
        assert isinstance(found, Document) and found.source
        assert (found.value, str(found.source.span("f", ("b",)))) == ({"a": 1, "b": 2}, "f:2:1")


def test_a_tab_is_named_and_the_next_document_is_read_all_the_same(tmp_path):
    path = write(tmp_path, "a:\n\tb: 1\n---\nc: 2\n")
    broken, sound = scan_documents(path)
    assert isinstance(broken, UnreadDocument) and isinstance(sound, Document)
    assert broken.finding.as_text() == (
        "error[HF102] cannot parse: found character that cannot start any token\n"
        f"  --> {path}:2:1\n"
        "  hint: YAML is indented with blanks: replace the tabs"
    )
    assert (sound.index, sound.value) == (1, {"c": 2})


def test_scalars_are_what_kubernetes_reads(tmp_path):
    text = "date: 2026-11-30\ntime: 22:22\nbig: 1e3\noctal: 0644\non: yes\n2: two\nnull: x\nfloat: .5\n"
    (found,) = read_documents(write(tmp_path, text))
    assert found.value == {
        "date": "2026-11-30", "time": "22:22", "big": 1000.0, "octal": 420, "true": True, "2": "two", "null": "x",
        "float": 0.5,
    }  # fmt: skip


def test_deep_nesting_is_a_finding_not_a_crash(tmp_path):
    for text in ("[" * 50_000 + "]" * 50_000, "a: " + "{a: " * 20_000 + "1" + "}" * 20_000):
        with pytest.raises(InputError, match="HF102"):
            read_documents(write(tmp_path, text))


def test_an_empty_file_and_a_file_of_comments_hold_no_document(tmp_path):
    for text in ("", "---\n---\n", "# nothing\n---\n# at all\n"):
        assert read_documents(write(tmp_path, text)) == []
