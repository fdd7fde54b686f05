"""A bundle is written whole or not at all."""

from dataclasses import replace

import pytest

from hyperflow.errors import InputError
from hyperflow.inventory.bundle_files import write_bundle
from hyperflow.ir.bundle import Bundle, BundleFile


def bundle(**files):
    listed = tuple(BundleFile(path=name.replace("_", "."), text=text) for name, text in files.items())
    return Bundle(job="toy", name="toy", namespace="default", mode="single", mode_reason="", files=listed)


def contents(folder):
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_a_second_write_replaces_the_first_and_leaves_nothing_beside_it(tmp_path):
    write_bundle(bundle(bundle_json="1", old_yaml="x"), tmp_path / "out")
    write_bundle(bundle(bundle_json="2", new_yaml="y"), tmp_path / "out")
    assert contents(tmp_path / "out") == {"bundle.json": "2", "new.yaml": "y"}
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_an_aborted_write_leaves_the_old_bundle_whole(tmp_path):
    write_bundle(bundle(bundle_json="1"), tmp_path / "out")
    unwritable = BundleFile(path="bad.yaml", text="\ud800")  # a lone surrogate cannot be encoded
    with pytest.raises(UnicodeEncodeError):
        write_bundle(replace(bundle(), files=(unwritable,)), tmp_path / "out")
    assert contents(tmp_path / "out") == {"bundle.json": "1"}
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_folder_with_other_files_is_never_replaced(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").write_text("precious")
    with pytest.raises(InputError) as caught:
        write_bundle(bundle(bundle_json="1"), tmp_path / "out")
    assert str(caught.value) == (
        f"error[HF106] {tmp_path / 'out'} holds files that are not a bundle; nothing was written\n"
        f"  --> {tmp_path / 'out'}\n"
        "  expected an empty folder, or one with bundle.json\n"
        "  hint: choose another folder with -o"
    )
    assert contents(tmp_path / "out") == {"thesis.tex": "precious"}


def test_a_path_below_a_file_is_a_finding(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError) as caught:
        write_bundle(bundle(bundle_json="1"), tmp_path / "file" / "out")
    assert caught.value.findings[0].code == "HF106"
