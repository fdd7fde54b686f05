"""No declaration, however odd, ends in anything but a compilation or findings."""

import json
from pathlib import Path

import hypothesis.strategies as st
from hypothesis import given, settings

import hyperflow as hf
from hyperflow.cli import main
from hyperflow.dsl.declared_job import DeclaredJob
from hyperflow.errors import HyperFlowError

ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(min_value=-3, max_value=9),
    st.sampled_from([2**31, 10**30, -(10**400)]),
    st.floats(),
    st.text(max_size=5),
    st.sampled_from(["auto", "all", "beijing", "s3://b/x", "20m", "1f1b", "full", "hier\0", "\ud800", "上海"]),
    st.lists(st.integers(min_value=-1, max_value=9), max_size=3),
    st.dictionaries(st.sampled_from(["beijing", "shanghai", "", "x y"]), st.integers(-1, 8), max_size=2),
    st.just(object()),
    st.just(len),
)
KEYWORDS = {
    "job": ["name", "image", "queue", "priority", "namespace", "retries", "labels", "annotations"],
    "model": ["config", "preset", "layers", "hidden", "ffn", "heads", "kv_heads", "vocab", "seq", "precision", "tied"],
    "parallel": [
        *("tp", "cp", "ep", "pp", "dp", "micro_batch_size", "global_batch_size"),
        *("schedule", "recompute", "zero", "layers", "policy", "allreduce"),
    ],
    "data": ["path", "at", "cache"],
    "topology": ["job", "stage"],
    "checkpoint": ["to", "every", "mtbf"],
    "guard": ["on_partial_failure", "rendezvous_timeout", "health"],
    "env": ["nccl", "FOO", "RANK"],
    "on": ["links", "rendezvous", "prefer", "max_rtt_ms"],
    "fallback": ["clusters", "beijing", "shanghai"],
}
SOUND = {
    "job": {"image": "r/t:1"},
    "model": {"layers": 4, "hidden": 256, "ffn": 512, "heads": 8, "vocab": 1000, "seq": 128},
    "parallel": {"tp": 8, "global_batch_size": 8},
}
CHANGES = st.lists(
    st.sampled_from(sorted(KEYWORDS)).flatmap(
        lambda part: st.tuples(st.just(part), st.sampled_from(KEYWORDS[part]), ODD)
    ),
    min_size=1,
    max_size=3,
)


def declare(changes) -> DeclaredJob:
    """Make the sound job with the changes; raises HyperFlowError only."""
    parts = {name: dict(values) for name, values in SOUND.items()}
    for part, keyword, value in changes:
        parts.setdefault(part, {})[keyword] = value
    clusters = (hf.Cluster("beijing", gpu="B200:8", nodes=1), hf.Cluster("shanghai", gpu="H100:8", nodes=1))

    def train():
        return hf.megatron()

    for part, values in parts.items():
        if part not in ("job", "on"):
            train = getattr(hf, part)(**values)(train)
    train = hf.on(*clusters, **parts.get("on", {}))(train)
    return hf.job(**parts["job"])(train)


@settings(max_examples=80, deadline=None, derandomize=True)
@given(CHANGES)
def test_every_declaration_compiles_or_is_told_in_findings(changes):
    try:
        bundle = declare(changes).compilation().needed_bundle
    except HyperFlowError as error:
        told = error.findings
        assert told
        assert all(finding.message and finding.place for finding in told)
        json.dumps([finding.as_json() for finding in told], allow_nan=False)
        return
    assert bundle.files[-1].path == "bundle.json"


CALLS = st.sampled_from(
    [
        (hf.Cluster, ["name", "gpu", "nodes", "region", "nvlink_domain", "network_gbps", "price_per_gpu_hour"]),
        (hf.link, ["a", "b", "gbps", "rtt_ms", "kind"]),
        (hf.hard, ["tier"]),
        (hf.megatron, ["script", "args"]),
        (hf.torchtitan, ["module", "config", "args"]),
        (hf.torchrun, ["script", "args"]),
        (hf.function, ["fn", "x"]),
    ]
)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(CALLS.flatmap(lambda call: st.tuples(st.just(call[0]), st.dictionaries(st.sampled_from(call[1]), ODD))))
def test_every_constructor_gives_a_record_or_findings(case):
    constructor, values = case
    try:
        made = constructor(**values)
    except HyperFlowError as error:
        assert error.findings
        return
    assert made is not None


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.binary(max_size=40))
def test_no_file_content_escapes_as_a_traceback(tmp_path_factory, content):
    folder = tmp_path_factory.mktemp("job")
    path = Path(folder) / "job.py"
    path.write_bytes(b"# " + content)
    assert main(["compile", str(path), "--check", "--format", "json"]) == 1


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.sampled_from(["parallel.tp", "model.layers", "job.name", "on.prefer", "parallel.layers"]), st.text(max_size=8)
)
def test_no_setting_escapes_as_a_traceback(path, text):
    try:
        declare([]).with_settings([f"{path}={text}"]).training_job()
    except HyperFlowError as error:
        assert error.findings
