"""`compile` and `explain` as a stranger calls them: one JSON document, whatever the job file does."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hyperflow.cli import main

HEAD = "import hyperflow as hf, os, sys\n"
GOOD = """
@hf.job(image="r/t:1")
@hf.model(layers=8, hidden=1024, ffn=4096, heads=8, vocab=32000, seq=1024)
@hf.parallel(tp=8, dp=1)
@hf.on(hf.Cluster("beijing", gpu="B200:8", nodes=1))
"""
BODY = 'def train():\n    return hf.torchtitan(module="llama3", config="x")\n'


@pytest.fixture
def call(tmp_path, monkeypatch, capsys):
    """Write job.py, run the verb with --format json, give exit code, document and stderr."""
    monkeypatch.chdir(tmp_path)

    def run(text: str, *argv: str, verb: str = "compile"):
        Path("job.py").write_text(text)
        code = main([verb, "job.py", "--format", "json", *argv])
        out, err = capsys.readouterr()
        return code, json.loads(out), err

    return run


def test_what_the_job_file_prints_goes_to_stderr(call):
    text = HEAD + "print('at import')\n" + GOOD + BODY.replace("    return", "    print('in train')\n    return")
    code, document, err = call(text, "--check")
    assert code == 0
    assert document["mode"] == "single"
    assert "at import\n" in err
    assert "in train\n" in err


def test_what_a_child_of_the_job_file_prints_stays_out_of_stdout_too(tmp_path):
    (tmp_path / "job.py").write_text(HEAD + "os.system('echo from a child')\n" + GOOD + BODY)
    command = [sys.executable, "-m", "hyperflow.compile", "job.py", "--check", "--format", "json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert json.loads(done.stdout)["mode"] == "single"
    assert "from a child\n" in done.stderr


def test_a_job_file_that_changes_the_folder_moves_no_other_path(call, tmp_path):
    code, document, _ = call(HEAD + "os.chdir('/')\n" + GOOD + BODY, "-o", "bundle")
    assert code == 0
    assert (tmp_path / "bundle" / "bundle.json").is_file()
    assert document["files"][-1] == "bundle/bundle.json"


@pytest.mark.parametrize("end", ["sys.exit(0)", "sys.exit('no')", "raise RuntimeError('no')", "1/0", "import job.nope"])
def test_a_job_file_that_does_not_run_to_its_end_is_a_finding_at_its_line(call, end):
    code, document, err = call(HEAD + end + "\n" + GOOD + BODY)
    (finding,) = document["findings"]
    assert (code, finding["code"], finding["where"]) == (1, "HF103", "job.py:2")
    assert "Traceback" not in err


def test_a_decorated_function_that_raises_is_a_finding_at_its_line(call):
    code, document, _ = call(HEAD + GOOD + "def train():\n    return {}['lr']\n")
    (finding,) = document["findings"]
    assert code == 1
    assert finding == {
        "code": "HF119",
        "severity": "error",
        "message": "train() raised KeyError: 'lr'\n    job.py:8 in train: return {}['lr']",
        "where": "job.py:8",
        "got": "KeyError",
        "expected": "a function that returns an entry point",
        "hint": "mend the file; run it with python to see the whole traceback",
    }


@pytest.mark.parametrize("policy", ["lambda: 1", "lambda *given: 1 / 0"])
def test_a_policy_that_raises_is_a_finding(call, policy):
    text = (HEAD + GOOD + BODY).replace("dp=1", f"dp=1, policy={policy}")
    code, document, _ = call(text)
    assert (code, document["findings"][0]["code"]) == (1, "HF119")
    assert "the policy <lambda> raised" in document["findings"][0]["message"]


@pytest.mark.parametrize(
    "argv",
    [
        ("--mode", "nonsense"),
        ("--nope",),
        ("--set",),
        ("--stop-after", "middle"),
    ],
)
def test_a_usage_error_is_one_json_document_too(tmp_path, monkeypatch, capsys, argv):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as left:
        main(["compile", "job.py", *argv, "--format", "json"])
    out, err = capsys.readouterr()
    (finding,) = json.loads(out)["findings"]
    assert left.value.code == 2
    assert (finding["code"], finding["hint"]) == ("HF100", "see hyperflow compile --help")
    assert finding["message"] in err


def test_an_unknown_verb_is_a_finding(capsys):
    assert main(["complie", "job.py", "--format=json"]) == 2
    out, err = capsys.readouterr()
    assert json.loads(out)["findings"][0]["message"] == "unknown verb 'complie'; did you mean \"compile\"?"
    assert err == "hyperflow: unknown verb 'complie'; did you mean \"compile\"?\n"


def test_a_usage_error_without_json_leaves_stdout_empty(capsys):
    with pytest.raises(SystemExit):
        main(["compile"])
    assert capsys.readouterr().out == ""


def test_each_record_of_stop_after_is_json_with_findings(call):
    for name in ("resolve", "plan", "lower", "render", "validate"):
        code, document, _ = call(HEAD + GOOD + BODY, "--stop-after", name)
        assert code == 0
        assert isinstance(document["findings"], list)


def test_strict_counts_warnings_and_stops_with_4(call):
    code, document, _ = call(HEAD + GOOD + BODY, "--check", "--strict")
    assert {finding["severity"] for finding in document["findings"]} >= {"warning"}
    assert code == 4


def test_explain_gives_plan_and_findings_and_writes_nothing(call, tmp_path):
    code, document, err = call(HEAD + GOOD + BODY, verb="explain")
    assert code == 0
    assert document["plan"]["stages"][0]["cluster"] == "beijing"
    assert all(finding["code"] in err for finding in document["findings"])
    assert not (tmp_path / "out").exists()


def test_notes_of_reading_a_fleet_are_among_the_findings(call, tmp_path):
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n1", "labels": {"nvidia.com/gpu.product": "NVIDIA-B200"}},
        "status": {
            "allocatable": {"cpu": "64", "memory": "512Gi", "nvidia.com/gpu": "8"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }
    (tmp_path / "nodes.json").write_text(json.dumps(node))
    by_option_code, by_option, _ = call(HEAD + GOOD + BODY, "--check", "--fleet", "nodes.json")
    text = (HEAD + GOOD + BODY).replace('hf.Cluster("beijing", gpu="B200:8", nodes=1)', 'hf.Fleet.load("nodes.json")')
    by_code_code, by_code, _ = call(text, "--check")
    assert (by_option_code, by_code_code) == (0, 0)
    assert "HF347" in {finding["code"] for finding in by_option["findings"]}
    assert by_option["findings"] == by_code["findings"]


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (("-o", "a" * 300), "HF106"),
        (("-o", "a\0b"), "HF106"),
        (("-o", "job.py"), "HF106"),
        (("-o", "job.py/out"), "HF106"),
        (("--templates", "nowhere"), "HF101"),
        (("--fleet", "nowhere.yaml"), "HF101"),
        (("--set", "parallel.tp"), "HF118"),
        (("--set", "on.fleet=3"), "HF118"),
        (("--set", "job.labels={a: {b: 1}}"), "HF112"),
    ],
)
def test_an_argument_that_cannot_be_used_is_a_finding(call, argv, code):
    exit_code, document, _ = call(HEAD + GOOD + BODY, *argv)
    assert (exit_code, document["findings"][0]["code"]) == (1, code)


def test_a_setting_without_a_value_says_so(call):
    _, document, _ = call(HEAD + GOOD + BODY, "--set", "parallel.tp")
    (finding,) = document["findings"]
    assert finding["message"] == "cannot set 'parallel.tp': there is no =VALUE"
    assert finding["hint"] == "write parallel.tp=VALUE"


def test_a_decorated_class_is_a_finding(call):
    code, document, _ = call(HEAD + GOOD + "class Train:\n    pass\n")
    assert (code, document["findings"][0]["code"], document["findings"][0]["where"]) == (1, "HF115", "Train")


def test_a_job_file_that_takes_stdout_away_does_not_take_the_result(call):
    code, document, _ = call(HEAD + "sys.stdout = None\n" + GOOD + BODY, "--check")
    assert (code, document["mode"]) == (0, "single")


def test_decorators_above_the_job_count_too(call):
    lines = GOOD.strip().splitlines()
    text = HEAD + "\n".join([*lines[1:], lines[0]]) + "\n" + BODY
    code, document, _ = call(text, "--check")
    assert (code, document["mode"]) == (0, "single")


def test_an_interrupted_compile_leaves_the_old_bundle_whole(call, tmp_path, monkeypatch):
    call(HEAD + GOOD + BODY)
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    written = Path.write_text

    def interrupted(self, *args, **kwargs):
        if self.name == "plan.json":
            raise KeyboardInterrupt
        return written(self, *args, **kwargs)

    text = (HEAD + GOOD + BODY).replace("layers=8", "layers=4")
    Path("job.py").write_text(text)
    monkeypatch.setattr(Path, "write_text", interrupted)
    with pytest.raises(KeyboardInterrupt):
        main(["compile", "job.py"])
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
