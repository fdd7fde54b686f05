"""`compile` on the node lists of real clouds, of several vendors."""

import pytest
import yaml

from hyperflow.cli import main

JOB = """
import hyperflow as hf

@hf.job(name="mixed", image="r/t:1")
@hf.model(layers=8, hidden=1024, ffn=4096, heads=8, vocab=32000, seq=1024)
@hf.parallel(tp=8, dp=1, layers={layers})
@hf.on({where})
def train():
    return hf.torchrun("train.py")
"""


def requested(folder):
    """The devices that pods ask for, by resource."""
    found = set()

    def walk(value):
        if isinstance(value, dict):
            for key, item in value.items():
                if key == "limits" and isinstance(item, dict):
                    found.update(name for name in item if "/" in name)
                walk(item)
        elif isinstance(value, list):
            for item in value:
                walk(item)

    for path in folder.glob("*.yaml"):
        for document in yaml.safe_load_all(path.read_text()):
            walk(document)
    return found


@pytest.mark.parametrize(
    ("gpu", "resource"),
    [
        ("H100:8", "nvidia.com/gpu"),
        ("MI300X:8", "amd.com/gpu"),
        ("Ascend-910B:8", "huawei.com/Ascend910"),
    ],
)
def test_the_pods_ask_for_the_vendors_own_resource(tmp_path, monkeypatch, gpu, resource, capsys):
    monkeypatch.chdir(tmp_path)
    where = f'hf.Cluster("here", gpu="{gpu}", nodes=1)'
    (tmp_path / "job.py").write_text(JOB.format(layers=None, where=where))
    assert main(["compile", "job.py", "-o", "out"]) == 0, capsys.readouterr().err
    assert requested(tmp_path / "out") == {resource}


def test_nodes_of_eks_gke_and_ascend_make_one_plan(tmp_path, monkeypatch, shared, capsys):
    clouds = {"eks": "nodes-eks-p6-b200.json", "gke": "nodes-gke-a3mega.json", "ascend": "nodes-ascend.json"}
    paths = ", ".join(repr(f"{name}={shared / 'third_party/clusters' / file}") for name, file in clouds.items())
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.py").write_text(JOB.format(layers=None, where=f"hf.Fleet.load({paths})"))
    code = main(["compile", "job.py", "-o", "out"])
    assert code == 0, capsys.readouterr().err
    assert requested(tmp_path / "out") <= {"nvidia.com/gpu", "huawei.com/Ascend910"}
