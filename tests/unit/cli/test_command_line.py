"""The command: exit codes, one JSON document on stdout, findings on stderr, nothing written on failure."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hyperflow.cli import VERBS, main


@pytest.fixture
def run(capsys):
    def call(*argv):
        try:
            code = main([str(word) for word in argv])
        except SystemExit as stop:  # argparse ends so
            code = stop.code
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return call


def test_help_lists_every_verb_with_exit_0(run):
    code, out, _ = run("--help")
    assert code == 0
    assert all(f"  {verb} " in out for verb in VERBS)


def test_no_verb_is_a_usage_error(run):
    assert run()[0] == 2


def test_an_unknown_verb_is_answered_with_the_nearest(run):
    code, out, err = run("complie", "x.py")
    assert (code, out) == (2, "")
    assert err == "hyperflow: unknown verb 'complie'; did you mean \"compile\"?\n"


def test_an_unknown_option_is_a_usage_error(run):
    assert run("compile", "x.py", "--frobnicate")[0] == 2


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_every_verb_has_help_and_takes_format_json(run, verb):
    code, out, _ = run(verb, "--help")
    assert code == 0
    assert "--format" in out and "json" in out


def test_a_missing_job_file_is_exit_1_with_findings_as_json(run, tmp_path):
    code, out, err = run("compile", tmp_path / "absent.py", "-o", tmp_path / "out", "--format", "json")
    assert code == 1
    assert [finding["code"] for finding in json.loads(out)["findings"]] == ["HF101"]
    assert "error[HF101]" in err
    assert not (tmp_path / "out").exists()


def test_a_job_file_that_is_not_utf8_is_a_finding(run, tmp_path):
    path = tmp_path / "latin.py"
    path.write_bytes(b"# caf\xe9\n")
    code, _, err = run("compile", path)
    assert code == 1
    assert "byte 5 is not UTF-8" in err


def test_a_closed_pipe_ends_quietly():
    program = "import sys; from hyperflow.cli import entry; sys.argv = ['hyperflow', '--help']; entry()"
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout and process.stderr
        process.stdout.close()
        assert process.stderr.read() == b""


def test_a_stdout_that_was_closed_before_gets_nothing_and_is_no_fault():
    program = "import sys; from hyperflow.cli import entry; sys.argv = ['hyperflow', '--help']; entry()"
    ended = subprocess.run(["sh", "-c", 'exec "$0" -c "$1" >&-', sys.executable, program], capture_output=True)
    assert (ended.returncode, ended.stderr) == (0, b"")


def test_a_full_disk_behind_stdout_is_one_finding_and_exit_1():
    program = "import sys; from hyperflow.cli import entry; sys.argv = ['hyperflow', '--help']; entry()"
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run([sys.executable, "-c", program], stdout=full, stderr=subprocess.PIPE, text=True)
    assert ended.returncode == 1
    assert ended.stderr == (
        "error[HF107] the output cannot be written: No space left on device\n"
        "  --> stdout\n"
        "  hint: what the verb did is done; send its output where there is room\n"
    )


def test_compile_writes_the_bundle_and_prints_one_json_document(run, write_job, tmp_path):
    code, out, _ = run("compile", write_job(), "-o", "bundle", "--format", "json")
    document = json.loads(out)
    assert code == 0
    assert document["mode"] == "hyperjob"
    assert document["plan"]["schema"] == "hyperflow.plan/v1"
    written = sorted(str(path.relative_to(tmp_path)) for path in (tmp_path / "bundle").rglob("*") if path.is_file())
    assert written == sorted(document["files"])
    assert {"bundle/plan.json", "bundle/comm.json", "bundle/bundle.json", "bundle/report.html"} <= set(written)


def test_check_writes_nothing(run, write_job, tmp_path):
    code, out, _ = run("compile", write_job(), "-o", "bundle", "--check")
    assert code == 0
    assert "checked, nothing written" in out
    assert not (tmp_path / "bundle").exists()


@pytest.mark.parametrize("name", ["resolve", "plan", "lower", "render"])
def test_stop_after_prints_the_record_of_that_pass_as_json(run, write_job, name):
    code, out, _ = run("compile", write_job(), "--stop-after", name)
    assert code == 0
    assert isinstance(json.loads(out), dict)


def test_every_mistake_is_told_in_one_run_and_nothing_is_written(run, write_job, tmp_path):
    path = write_job(parallel="tp=8, typo=1", more='@hf.checkpoint(to="s3://c", every="soon")\n@hf.guard(helth=1)')
    code, _, err = run("compile", path, "-o", "bundle")
    assert code == 1
    assert err.count("error[HF110]") == 2
    assert err.count("error[HF112]") == 1
    assert not (tmp_path / "bundle").exists()


EMPTY_CLUSTER = """
import hyperflow as hf

@hf.job(name="toy", image="registry.example.com/train:1")
@hf.model(layers=8, hidden=8192, ffn=28672, heads=64, kv_heads=8, vocab=128256, seq=8192)
@hf.parallel(tp=8)
@hf.checkpoint(to="s3://checkpoints/toy", every="20m")
@hf.on(hf.Cluster("beijing", nodes=1, gpu="B200:8"), hf.Cluster("empty", nodes=0, gpu="H100:8"))
def train():
    return hf.megatron()
"""


def test_strict_turns_warnings_into_exit_4(run, write_job):
    path = write_job(text=EMPTY_CLUSTER)
    assert run("compile", path, "-o", "bundle")[0] == 0
    code, _, err = run("compile", path, "-o", "bundle", "--strict")
    assert code == 4
    assert "warning[HF125]" in err
