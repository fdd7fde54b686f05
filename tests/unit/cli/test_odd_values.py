"""Values that Python or YAML would take without a word, and that nobody can have meant, are told at their place."""

import subprocess
import sys
from pathlib import Path

import pytest

from hyperflow.cli import main

GOOD = """import hyperflow as hf
beijing = hf.Cluster("beijing", nodes=1, gpu="B200:8")
shanghai = hf.Cluster("shanghai", nodes=1, gpu="H100:8")
@hf.job(name="toy", image="registry.example.com/train:1", queue="llm")
@hf.model(layers=8, hidden=8192, ffn=28672, heads=64, kv_heads=8, vocab=128256, seq=8192)
@hf.parallel(tp=8, pp="auto", dp=1, global_batch_size=32)
@hf.checkpoint(to="s3://bucket/toy", every="20m")
@hf.on(beijing, shanghai, links=[hf.link("beijing", "shanghai", gbps=100, rtt_ms=25)])
def train():
    return hf.megatron(args={"lr": 3e-4})
"""


@pytest.fixture
def errors(tmp_path, monkeypatch, capsys):
    """Compile the good job with one text replaced and give what is told on stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))

    def told(old, new, *arguments):
        assert old in GOOD
        Path("job.py").write_text(GOOD.replace(old, new))
        assert main(["compile", "job.py", "--check", *arguments]) == 1
        return capsys.readouterr().err

    return told


CHECKS = "smi, nvidia-smi, rocm-smi, npu-smi, dcgm, nccl, or an image with its registry or tag"


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        (
            "@hf.parallel",
            '@hf.guard(health="nope")\n@hf.parallel',
            "error[HF112] @hf.guard(health=): 'nope' does not fit\n  --> job.py:6:18\n"
            '  6 | @hf.guard(health="nope")\n'
            f"    |                  ^^^^^^ needs {CHECKS}\n  hint: give health= {CHECKS}\n",
        ),
        (
            "@hf.parallel",
            '@hf.fallback(shanghai=["shanghai"])\n@hf.parallel',
            'error[HF128] cluster "shanghai" is its own fallback\n  --> job.py:6:23\n'
            '  6 | @hf.fallback(shanghai=["shanghai"])\n'
            "    |                       ^^^^^^^^^^^^ another cluster\n"
            "  hint: name the clusters that may take the place of shanghai, or leave it out\n",
        ),
        (
            "s3://bucket/toy",
            "ftp://x",
            "error[HF426] checkpoint.to is no place that pods can reach\n  --> checkpoint.to\n"
            "  got 'ftp://x', expected pvc://CLAIM/PATH, an absolute path on the nodes, or a URI such as "
            "s3://bucket/path; the stores are s3, s3a, gs, gcs, az, abfs, abfss, hdfs, oss, obs, cos, tos, swift, oci, "
            "msc\n  hint: name the claim or bucket that holds it\n",
        ),
        (
            "@hf.parallel",
            '@hf.env(A="x\\0y")\n@hf.parallel',
            "error[HF409] the value of the variable 'A' holds a null byte, which no process can be given\n"
            '  --> job.py:6:11\n  6 | @hf.env(A="x\\0y")\n    |           ^^^^^^ text without null bytes\n'
            "  hint: pass binary data as a file, or encode it\n",
        ),
        (
            "rtt_ms=25",
            "rtt_ms=1e300",
            "error[HF112] hf.link(rtt_ms=): 1e+300 does not fit\n  --> job.py:8:82\n"
            '  8 | @hf.on(beijing, shanghai, links=[hf.link("beijing", "shanghai", gbps=100, rtt_ms=1e300)])\n'
            f"    | {' ' * 81}^^^^^ needs at most 3600000\n  hint: give rtt_ms= at most 3600000\n",
        ),
        (
            "tp=8",
            "tp=True",
            "error[HF112] @hf.parallel(tp=): True does not fit\n  --> job.py:6:17\n"
            '  6 | @hf.parallel(tp=True, pp="auto", dp=1, global_batch_size=32)\n'
            "    |                 ^^^^ needs a whole number or 'auto'\n  hint: give tp= a whole number or 'auto'\n",
        ),
        (
            "nodes=1, gpu=\"B200",
            "nodes=True, gpu=\"B200",
            "error[HF112] hf.Cluster(nodes=): True does not fit\n  --> job.py:2:39\n"
            '  2 | beijing = hf.Cluster("beijing", nodes=True, gpu="B200:8")\n'
            "    |                                       ^^^^ needs a whole number\n"
            "  hint: give nodes= a whole number\n",
        ),
        (
            "gbps=100",
            "gbps=False",
            "error[HF112] hf.link(gbps=): False does not fit\n  --> job.py:8:70\n"
            '  8 | @hf.on(beijing, shanghai, links=[hf.link("beijing", "shanghai", gbps=False, rtt_ms=25)])\n'
            f"    | {' ' * 69}^^^^^ needs a number\n  hint: give gbps= a number\n",
        ),
        (
            "layers=8, hidden=8192, ffn=28672, heads=64, kv_heads=8, vocab=128256, ",
            'preset="llama-3.1-8b", hidden=4096, tied=True, ',
            "error[HF170] hidden=, tied= beside preset='llama-3.1-8b', which states all shapes itself\n"
            "  --> @hf.model(hidden=)\n"
            "  got hidden=4096, tied=True, expected preset= with seq= and precision= at most, or layers= with the "
            "shapes\n"
            "  hint: leave hidden, tied out, or give the model by hand: hf.model(layers=..., hidden=..., ...)\n",
        ),
    ],
    ids=["health", "fallback", "checkpoint", "null-byte", "round-trip", "degree", "nodes", "speed", "shape"],
)  # fmt: skip
def test_a_value_that_nobody_meant_is_told_at_its_place(errors, old, new, text):
    assert errors(old, new) == text


def test_a_setting_of_the_command_line_is_no_truth_value_either(errors):
    assert errors("lr", "lr", "--set", "job.retries=yes").startswith(
        "error[HF112] @hf.job(retries=): True does not fit\n  --> --set:1:13\n"
    )


@pytest.mark.parametrize("check", ["dcgm", "ghcr.io/acme/check", "check:1"])
def test_a_built_in_check_and_an_image_are_taken(tmp_path, monkeypatch, capsys, check):
    monkeypatch.chdir(tmp_path)
    Path("job.py").write_text(GOOD.replace("@hf.parallel", f'@hf.guard(health="{check}")\n@hf.parallel'))
    assert main(["compile", "job.py", "--check"]) == 0


def test_a_named_policy_that_raises_is_told_with_its_own_line(errors, tmp_path):
    (tmp_path / "odd_policies.py").write_text("def split(layers, stages):\n    return 1 / 0\n")
    (tmp_path / "odd_module.py").write_text("1 / 0\n")
    expected = (
        "  got ZeroDivisionError, expected a function of the number of layers and the stages, that gives the layers of "
        "each\n  hint: mend the file; run it with python to see the whole traceback\n"
    )
    assert errors("dp=1", 'dp=1, policy="odd_policies:split"') == (
        "error[HF119] the policy odd_policies:split raised ZeroDivisionError: division by zero\n"
        "    odd_policies.py:2 in split: return 1 / 0\n  --> odd_policies.py:2\n" + expected
    )
    assert errors("dp=1", 'dp=1, policy="odd_module:split"') == (
        "error[HF119] the policy odd_module:split raised ZeroDivisionError: division by zero\n"
        "    odd_module.py:1 in <module>: 1 / 0\n  --> odd_module.py:1\n" + expected
    )
    assert errors("dp=1", 'dp=1, policy="nowhere:split"').startswith(
        'error[HF219] there is no split policy "nowhere:split": there is no module nowhere\n  --> job.py:6:44\n'
    )
    assert errors("dp=1", 'dp=1, policy="odd_policies:splt"').startswith(
        'error[HF219] there is no split policy "odd_policies:splt": module odd_policies has no splt\n'
    )


@pytest.mark.parametrize(
    "line",
    [
        "import sys; sys.stdout.close(); sys.stderr.close()",
        "import sys; sys.__stdout__.close()",
        "import os; os.close(1)",
        "import sys; sys.stdout = None",
    ],
)
def test_a_job_file_that_closes_its_output_leaves_ours_open(tmp_path, line):
    (tmp_path / "job.py").write_text(GOOD.replace("import hyperflow as hf\n", f"import hyperflow as hf\n{line}\n"))
    command = [sys.executable, "-m", "hyperflow", "compile", "job.py", "--stop-after", "resolve", "--format", "json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout[:1], done.stderr.count("Traceback")) == (0, "{", 0)


SOURCES = (
    "Kubernetes Node, Pod or HyperNode objects, Karmada Clusters, a fleet.yaml, a topograph model, Slurm "
    "topology.conf, UFM ports, NMX compute nodes, or ibnetdiscover output"
)


def test_a_fleet_file_that_does_not_parse_is_told_with_line_column_and_what_is_expected(errors, tmp_path):
    (tmp_path / "fleet.yaml").write_text("{{{")
    assert errors("lr", "lr", "--fleet", "fleet.yaml") == (
        "error[HF102] cannot parse: this is no document, or a template of one\n  --> fleet.yaml:1:1\n"
        f"  got {{{{{{, expected {SOURCES}\n  hint: close what is opened; of a template, give what it renders to\n"
    )
    (tmp_path / "fleet.yaml").write_text("clusters: [1,\nb: }")
    assert errors("lr", "lr", "--fleet", "fleet.yaml") == (
        "error[HF102] cannot parse: did not find expected node content\n  --> fleet.yaml:2:4\n"
        f"  expected {SOURCES}\n  hint: the file must be YAML or JSON\n"
    )
    (tmp_path / "fleet.yaml").write_text(
        "schema_version: hyperflow.fleet/v1\nclusters: []\nlinks: [{a: x, b: y, gbps: 1, rtt_ms: 1e200}]\n"
    )
    assert "error[HF301] rtt_ms is not at most 3,600,000" in errors("lr", "lr", "--fleet", "fleet.yaml")
