"""A job of 1,024 nodes in 16 stages stays under the limits of the store; larger ones name the limit."""

from benchmarks.manifests import large_job
from hyperflow.lower.lower_job import lower
from hyperflow.render.render_bundle import render
from hyperflow.validate.check_bundle import check
from hyperflow.validate.sizes import OBJECT_LIMIT_BYTES


def test_job_of_1024_nodes_in_16_stages_is_taken_by_the_store():
    manifests = lower(*large_job())
    bundle = render(manifests)
    assert sum(child.nodes for child in manifests.children) == 1024
    assert check(manifests, bundle) == ()
    assert max(len(file.text.encode()) for file in bundle.files) < OBJECT_LIMIT_BYTES


def test_list_of_hosts_is_left_out_before_it_is_too_long_for_a_variable():
    manifests = lower(*large_job(nodes_per_stage=1024, stages=4, clusters=1))
    assert manifests.objects[-1].spec.plugins["svc"][-1] == "--inject-hosts-env=false"
    assert check(manifests, render(manifests)) == ()
