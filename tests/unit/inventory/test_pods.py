import pytest

from hyperflow.inventory.readers.pods import pod_requests


def make_pod(name, node, gpus, phase="Running"):
    container = {"resources": {"requests": {"nvidia.com/gpu": str(gpus)}}}
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": name},
        "spec": {"nodeName": node, "containers": [container]},
        "status": {"phase": phase},
    }


@pytest.mark.parametrize(
    ("pods", "free"),
    [
        ([], None),
        ([make_pod("a", "n1", 3)], 13),
        ([make_pod("a", "n1", 3), make_pod("b", "n1", 4), make_pod("c", "n2", 8)], 1),
        ([make_pod("a", "n1", 8, "Succeeded"), make_pod("b", "n2", 8, "Failed")], 16),
        ([make_pod("a", "", 8)], 16),
        ([make_pod("a", "n1", 20)], 8),  # never negative: n2 is still free
        ([make_pod("a", "elsewhere", 8)], 16),
    ],
)
def test_free_devices_are_what_no_pod_asks_for(read, node, pods, free):
    fleet, findings = read([node("n1"), node("n2"), *pods])
    assert fleet.clusters[0].groups[0].free_devices == free
    assert ("HF347" in findings) == (free is None)


def test_unknown_free_devices_are_said(read, node):
    _, findings = read([node("n1")])
    assert findings["HF347"].as_text() == (
        "note[HF347] how many devices are free is unknown; plans take all of them\n"
        "  --> cluster beijing\n"
        "  hint: give the output of `kubectl get pods -A -o json` too"
    )


def test_pods_on_nodes_that_are_left_out_hold_nothing_of_the_rest(read, node):
    fleet, _ = read([node("n1"), node("n2", spec={"unschedulable": True}), make_pod("a", "n2", 8)])
    assert fleet.clusters[0].groups[0].free_devices == 8


def _container(cpu, **more):
    return {"resources": {"requests": {"cpu": cpu}}, **more}


@pytest.mark.parametrize(
    ("spec", "cpu"),
    [
        ({"containers": [_container("1"), _container("500m")]}, 1.5),
        ({"containers": [_container("1")], "initContainers": [_container("4"), _container("2")]}, 4),
        ({"containers": [_container("3")], "initContainers": [_container("2")]}, 3),
        ({"containers": [_container("1")], "initContainers": [_container("2", restartPolicy="Always")]}, 3),
        (
            {
                "containers": [_container("1")],
                "initContainers": [_container("1", restartPolicy="Always"), _container("5")],
            },
            6,
        ),
        ({"containers": [_container("1")], "overhead": {"cpu": "250m"}}, 1.25),
        ({"containers": [{"resources": {"limits": {"cpu": "2"}}}]}, 2),
        ({"containers": [{"resources": {"limits": {"cpu": "2"}, "requests": {"cpu": "1"}}}]}, 1),
        ({"containers": [_container("lots")]}, 0),
    ],
)
def test_a_pod_holds_what_kubernetes_counts(spec, cpu):
    assert pod_requests({"spec": spec}).get("cpu", 0) == cpu
