import pytest

from hyperflow.errors import InputError
from hyperflow.inventory.documents import parse_documents, read_documents


def test_a_missing_file_is_one_finding_with_its_path(tmp_path):
    path = tmp_path / "absent.yaml"
    with pytest.raises(InputError) as caught:
        read_documents(path)
    assert str(caught.value) == (
        f"error[HF101] cannot read {path}: No such file or directory\n  --> {path}\n  hint: give a readable text file"
    )


def test_broken_yaml_is_one_finding_with_line_and_column(tmp_path):
    path = tmp_path / "broken.yaml"
    path.write_text("a: 1\nb: [1, 2\n")
    with pytest.raises(InputError) as caught:
        read_documents(path)
    assert str(caught.value) == (
        "error[HF102] cannot parse: did not find expected ',' or ']'\n"
        f"  --> {path}:3:1\n"
        "  hint: the file must be YAML or JSON"
    )


def test_items_of_a_list_are_documents_of_their_own(tmp_path):
    path = tmp_path / "list.yaml"
    path.write_text("kind: NodeList\nitems: [{kind: Node}, {kind: Node}]\n---\nkind: Queue\n")
    assert [d.value["kind"] for d in read_documents(path)] == ["Node", "Node", "Queue"]


def test_a_large_truncated_json_file_is_refused_at_once_with_its_place():
    text = '{"items": [' + '{"kind": "Node"},\n' * 400_000
    with pytest.raises(InputError) as caught:
        parse_documents(text, "nodes.json")
    assert str(caught.value) == (
        "error[HF102] cannot parse: Expecting value\n  --> nodes.json:400001:1\n  hint: the file must be YAML or JSON"
    )
