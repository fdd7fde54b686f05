"""Each law of bundles: sound bundles obey it, and a bundle with one thing wrong breaks it by name."""

import copy
from dataclasses import replace

import pytest

from hyperflow.admission.bundle_laws import LAWS, check_laws
from hyperflow.ir.resolved import ResolvedTier
from hyperflow.lower.lower_job import lower
from hyperflow.render.render_bundle import render
from hyperflow.spec.fleet import Tier
from hyperflow.spec.training_job import Data, Guard
from hyperflow.validate.round_trip import parse_bundle
from tests.manifest_cases import TWO_CITY_PLAN, cluster, fleet, job, one_city, plan, two_cities

RACK = ResolvedTier(mode="hard", name="rack", number_by_cluster={"beijing": 1, "shanghai": 1})
ROW = ResolvedTier(mode="hard", name="row", number_by_cluster={"beijing": 2, "shanghai": 2})
RACKS = (Tier(tier=1, name="rack", domain_nodes=(4, 4)), Tier(tier=2, name="row", domain_nodes=(8,)))


def wide(**settings):
    """Four stages of two nodes on two cities with tiers; partitions where `stage_tier` is given."""
    where = fleet(cluster("beijing", nodes=8, tiers=RACKS), cluster("shanghai", "H100", 8, tiers=RACKS), **settings)
    return where, plan([("beijing", "B200", [5, 4]), ("shanghai", "H100", [2, 2])], dp=2)


def with_fallback():
    """Shanghai's child may go to Chengdu, whose nodes differ."""
    where = fleet(cluster("beijing"), cluster("shanghai", "H100"), cluster("chengdu", "A100", resource="amd.com/gpu"))
    return job(where, fallback={"shanghai": ("chengdu",)}), TWO_CITY_PLAN


def base(name):
    """Mode, documents and CRD of a sound bundle."""
    cases = {
        "hyperjob": (two_cities(data=Data(path="pvc://corpus/tokens"), guard=Guard(health="smi")), "auto"),
        "direct": (two_cities(), "direct"),
        "single": (one_city(), "auto"),
        "export": (two_cities(rendezvous="service-export"), "auto"),
        "hostnetwork": (two_cities(rendezvous="hostnetwork"), "auto"),
        "address": (two_cities(rendezvous="address=10.0.0.7:4000"), "auto"),
        "fallback": (with_fallback(), "auto"),
        "partitions": ((job(wide()[0], job_tier=ROW, stage_tier=RACK), wide()[1]), "auto"),
        "patched": ((job(wide(hyperjob_crd="patched")[0], job_tier=ROW, stage_tier=RACK), wide()[1]), "auto"),
    }
    (case, mode) = cases[name]
    manifests = lower(*case, mode)
    documents, findings = parse_bundle(render(manifests))
    assert not findings
    return manifests.mode, documents, manifests.hyperjob_crd


@pytest.mark.parametrize(
    "name",
    ["hyperjob", "direct", "single", "export", "hostnetwork", "address", "fallback", "partitions", "patched"],
)
def test_sound_bundle_obeys_every_law(name):
    assert [finding.as_text() for finding in check_laws(*base(name))] == []


def spec(tree):
    """The spec of the first child or Job of a document."""
    return tree["spec"]["replicatedJobs"][0]["templateSpec"] if tree["kind"] == "HyperJob" else tree["spec"]


def pod(tree):
    return spec(tree)["tasks"][0]["template"]["spec"]


def train(tree):
    return pod(tree)["containers"][0]


def variable(tree, name, value):
    next(item for item in train(tree)["env"] if item["name"] == name)["value"] = value


def rename(tree, name):
    tree["metadata"]["name"] = name


def second_task(tree, **fields):
    spec(tree)["tasks"].append({**copy.deepcopy(spec(tree)["tasks"][0]), **fields})


# law: (bundle, kind of the document that changes, what goes wrong, part of the message)
BREAKS = {
    "job_names_are_dns_labels": [
        ("single", "Job", lambda d: rename(d, "8toy-abcdef0"), "'8toy-abcdef0' is no DNS label"),
        ("single", "Job", lambda d: rename(d, "toy.x-abcdef0"), "is no DNS label"),
        (
            "hyperjob",
            "HyperJob",
            lambda d: d["spec"]["replicatedJobs"][0].update(name="Bei"),
            "-Bei-0' is no DNS label",
        ),
    ],
    "last_pod_name_fits": [
        ("single", "Job", lambda d: spec(d)["tasks"][0].update(name="n" * 49), "characters"),
    ],
    "job_volumes_have_room_for_their_names": [
        (
            "single",
            "Job",
            lambda d: (rename(d, "t" * 44 + "-abcdef0"), spec(d).update(volumes=[{"mountPath": "/x"}])),
            "the Job name has 52 characters, 50 with spec.volumes",
        ),
    ],
    "task_names_are_legal_and_different": [
        ("single", "Job", second_task, "the task name 'node' is used twice"),
        ("single", "Job", lambda d: spec(d)["tasks"][0].update(name="No_de"), "the task name 'No_de' is not legal"),
    ],
    "labels_are_legal": [
        ("single", "Job", lambda d: d["metadata"]["labels"].update(team="a b"), "the label team has an illegal value"),
        ("single", "Job", lambda d: spec(d).update(queue="q" * 64), "cannot be the label volcano.sh/queue-name"),
    ],
    "clusters_can_exist": [
        (
            "hyperjob",
            "HyperJob",
            lambda d: d["spec"]["replicatedJobs"][0].update(clusterNames=["Bei_jing"]),
            "'Bei_jing'",
        ),
        (
            "direct",
            "PropagationPolicy",
            lambda d: d["spec"]["placement"]["clusterAffinity"].update(clusterNames=["c" * 49]),
            "no cluster can be named",
        ),
    ],
    "no_object_stands_twice": [
        ("direct", "MultiClusterService", lambda d: d.update(kind="Service"), "stands 2 times: the last one wins"),
    ],
    "create_once_objects_carry_a_content_hash": [
        ("single", "Job", lambda d: rename(d, "toy8"), "the name 'toy8' carries no content hash"),
    ],
    "services_and_policies_have_legal_names": [
        ("hyperjob", "Service", lambda d: rename(d, "8-rank0"), "Service cannot be named '8-rank0': denied"),
        ("direct", "PropagationPolicy", lambda d: rename(d, "A"), "PropagationPolicy cannot be named 'A': denied"),
    ],
    "defaults_are_written": [
        ("hyperjob", "HyperJob", lambda d: spec(d).pop("maxRetry"), "maxRetry is not written"),
        ("hyperjob", "HyperJob", lambda d: spec(d).pop("queue"), "queue is not written"),
        ("hyperjob", "HyperJob", lambda d: spec(d).pop("schedulerName"), "schedulerName is not written"),
        (
            "hyperjob",
            "HyperJob",
            lambda d: spec(d)["tasks"][0].pop("minAvailable"),
            "tasks[0].minAvailable is not written",
        ),
        ("hyperjob", "HyperJob", lambda d: spec(d)["tasks"][0].pop("maxRetry"), "tasks[0].maxRetry is not written"),
        ("hostnetwork", "HyperJob", lambda d: pod(d).pop("dnsPolicy"), "the host network needs dnsPolicy"),
    ],
    "retries_are_what_they_seem": [
        ("single", "Job", lambda d: spec(d).update(maxRetry=0), "maxRetry is 0: the server makes it 3"),
    ],
    "gangs_are_whole": [
        ("single", "Job", lambda d: spec(d).update(minAvailable=1), "minAvailable is 1, the gang needs 2"),
        (
            "single",
            "Job",
            lambda d: spec(d)["tasks"][0].update(minAvailable=1),
            "tasks[0].minAvailable is 1, the gang needs 2",
        ),
        (
            "partitions",
            "Job",
            lambda d: spec(d)["tasks"][0]["partitionPolicy"].update(minPartitions=1),
            "tasks[0].minAvailable is 4, the gang needs 2",
        ),
    ],
    "largest_task_stands_first": [
        (
            "single",
            "Job",
            lambda d: spec(d)["tasks"].insert(0, {**copy.deepcopy(spec(d)["tasks"][0]), "name": "m", "replicas": 1}),
            "a smaller task stands before the largest",
        ),
    ],
    "policies_are_taken": [
        (
            "single",
            "Job",
            lambda d: spec(d)["policies"][1].update(exitCode=3),
            "exactly one of event, events and exitCode",
        ),
        ("single", "Job", lambda d: spec(d)["policies"][0].update(exitCode=0), "exit code 0 is no failure"),
        ("single", "Job", lambda d: spec(d)["policies"][1].update(event="PodRunning"), "'PodRunning' is not allowed"),
        ("single", "Job", lambda d: spec(d)["policies"][1].update(action="Restart"), "there is no action 'Restart'"),
        (
            "single",
            "Job",
            lambda d: spec(d)["policies"][1].update(action="RestartPartition"),
            "the plane does not know",
        ),
        ("single", "Job", lambda d: spec(d)["policies"][1].update(action="ResumeJob"), "ResumeJob is no answer"),
        ("single", "Job", lambda d: spec(d)["policies"][2].update(event="PodPending"), "PodPending without a timeout"),
        ("single", "Job", lambda d: spec(d)["policies"][2].update(event="*"), "* stands beside another policy"),
        (
            "single",
            "Job",
            lambda d: spec(d)["policies"][2].update(event="PodFailed"),
            "PodFailed stands beside another",
        ),
        (
            "single",
            "Job",
            lambda d: spec(d)["policies"].append({"exitCode": 78, "action": "RestartJob"}),
            "code 78 stands beside another",
        ),
    ],
    "failures_are_answered": [
        ("single", "Job", lambda d: spec(d).update(policies=[]), "no policy answers PodFailed: the Job stays Running"),
        ("single", "Job", lambda d: spec(d)["policies"].pop(), "no policy answers PodEvicted"),
        ("single", "Job", lambda d: pod(d).update(restartPolicy="OnFailure"), "restartPolicy is OnFailure"),
        ("single", "Job", lambda d: pod(d).pop("restartPolicy"), "restartPolicy is None"),
    ],
    "plugins_fit_one_world": [
        (
            "hyperjob",
            "HyperJob",
            lambda d: spec(d)["plugins"].update(pytorch=[]),
            "the plugin 'pytorch' sets ranks per Job",
        ),
        ("single", "Job", lambda d: spec(d)["plugins"].update(hccl=[]), "there is no plugin 'hccl'"),
        ("single", "Job", lambda d: spec(d)["plugins"].update(env=None), "the plugin 'env' has no list of flags"),
        ("single", "Job", lambda d: spec(d)["plugins"].pop("env"), "the plugin env is missing"),
    ],
    "service_plugin_lets_peers_in": [
        (
            "single",
            "Job",
            lambda d: spec(d)["plugins"]["svc"].pop(0),
            "the flag --disable-network-policy=true is missing",
        ),
        ("single", "Job", lambda d: spec(d)["plugins"]["svc"].pop(1), "the flag --publish-not-ready-addresses=true is"),
        ("single", "Job", lambda d: spec(d)["plugins"]["svc"].append("--x=1"), "the plugin svc has no flag --x=1"),
    ],
    "finished_jobs_stay": [
        ("hyperjob", "HyperJob", lambda d: spec(d).update(ttlSecondsAfterFinished=60), "the training runs twice"),
        ("direct", "Job", lambda d: spec(d).update(ttlSecondsAfterFinished=60), "Karmada strips the field"),
    ],
    "tasks_do_not_wait_for_each_other": [
        ("single", "Job", lambda d: spec(d)["tasks"][0].update(dependsOn={"name": ["x"]}), "a task waits for another"),
    ],
    "constraints_constrain": [
        ("single", "Job", lambda d: spec(d).update(networkTopology={}), "the mode is not written: an empty constraint"),
        (
            "single",
            "Job",
            lambda d: spec(d).update(networkTopology={"mode": "hard"}),
            "hard without a tier: no constraint",
        ),
        (
            "single",
            "Job",
            lambda d: spec(d).update(networkTopology={"mode": "hard", "highestTierAllowed": 0}),
            "tier 0: no pod is ever scheduled",
        ),
        (
            "single",
            "Job",
            lambda d: spec(d).update(networkTopology={"mode": "soft", "highestTierAllowed": 1}),
            "soft with a tier",
        ),
        (
            "partitions",
            "Job",
            lambda d: spec(d)["networkTopology"].update(highestTierName="row"),
            "both highestTierAllowed and highestTierName: denied in the member",
        ),
    ],
    "hyperjob_crd_keeps_all": [
        (
            "hyperjob",
            "HyperJob",
            lambda d: spec(d)["tasks"][0].update(
                partitionPolicy={"totalPartitions": 1, "partitionSize": 1, "minPartitions": 1}
            ),
            "the shipped HyperJob CRD drops spec.replicatedJobs[0].templateSpec.tasks[0].partitionPolicy",
        ),
        (
            "hyperjob",
            "HyperJob",
            lambda d: spec(d).update(networkTopology={"mode": "hard", "highestTierName": "rack"}),
            "drops spec.replicatedJobs[0].templateSpec.networkTopology.highestTierName: the limit becomes tier 1",
        ),
    ],
    "tiers_are_numbers": [
        (
            "single",
            "Job",
            lambda d: spec(d).update(networkTopology={"mode": "hard", "highestTierName": "rak"}),
            "the tier is given by name: a name that the member does not know is no constraint",
        ),
    ],
    "partitions_add_up": [
        (
            "partitions",
            "Job",
            lambda d: spec(d)["tasks"][0]["partitionPolicy"].update(partitionSize=3),
            "2 partitions of 3 are not 4 replicas",
        ),
        (
            "partitions",
            "Job",
            lambda d: spec(d)["tasks"][0]["partitionPolicy"].pop("minPartitions"),
            "minPartitions is not written",
        ),
        (
            "partitions",
            "Job",
            lambda d: spec(d)["tasks"][0]["partitionPolicy"]["networkTopology"].update(highestTierAllowed=3),
            "the partition's tier 3 is above the job's tier 2",
        ),
    ],
    "elastic_jobs_have_no_topology": [
        (
            "single",
            "Job",
            lambda d: (
                spec(d).update(networkTopology={"mode": "soft"}, minAvailable=1),
                spec(d)["tasks"][0].update(minAvailable=1),
            ),
            "an elastic task under a topology constraint: it is never placed",
        ),
    ],
    "selectors_meet_objects": [
        (
            "direct",
            "PropagationPolicy",
            lambda d: d["spec"]["resourceSelectors"][0].update(name="other"),
            "nothing in the bundle is v1 ConfigMap other",
        ),
        (
            "direct",
            "PropagationPolicy",
            lambda d: d["spec"]["resourceSelectors"][0].update(apiVersion="apps/v1"),
            "nothing in the bundle is apps/v1 ConfigMap",
        ),
        (
            "direct",
            "PropagationPolicy",
            lambda d: d["spec"]["resourceSelectors"][0].update(namespace="other"),
            "the selector's namespace 'other' is not the policy's",
        ),
        (
            "direct",
            "PropagationPolicy",
            lambda d: d["spec"]["resourceSelectors"][0].pop("kind"),
            "a selector without kind or name",
        ),
    ],
    "jobs_go_to_one_cluster": [
        ("hyperjob", "HyperJob", lambda d: d["spec"]["replicatedJobs"][0].pop("clusterNames"), "no cluster is named"),
        ("direct", "Job", lambda d: rename(d, "toy8-beijing-abcdef0"), "0 policies select it"),
    ],
    "gangs_are_not_torn": [
        (
            "fallback",
            "own",
            lambda d: d["spec"]["placement"]["replicaScheduling"].update(replicaDivisionPreference="Weighted"),
            "is not Divided and Aggregated over exactly one cluster: the Job is torn or copied",
        ),
        ("fallback", "own", lambda d: d["spec"]["placement"].pop("spreadConstraints"), "the Job is torn or copied"),
        (
            "fallback",
            "own",
            lambda d: d["spec"]["placement"]["spreadConstraints"][0].update(maxGroups=0),
            "a spread constraint without maxGroups",
        ),
    ],
    "affinities_are_of_one_kind": [
        (
            "fallback",
            "own",
            lambda d: d["spec"]["placement"].update(clusterAffinity={"clusterNames": ["beijing"]}),
            "both clusterAffinity and clusterAffinities",
        ),
        (
            "fallback",
            "own",
            lambda d: d["spec"]["placement"]["clusterAffinities"][1].update(affinityName="0-shanghai"),
            "groups of clusters are named 0-shanghai, 0-shanghai",
        ),
        (
            "fallback",
            "own",
            lambda d: d["spec"]["placement"]["clusterAffinities"][1].update(affinityName="c" * 33),
            "1 to 32 characters",
        ),
    ],
    "own_policies_come_first": [
        ("fallback", "own", lambda d: d["spec"].update(priority=0), "ordered groups without a priority"),
        ("fallback", "order", None, "comes after what starts pods: it comes too late"),
    ],
    "companions_are_carried": [
        (
            "hyperjob",
            "PropagationPolicy",
            lambda d: d["spec"]["placement"]["clusterAffinity"].update(clusterNames=["beijing"]),
            "-launch is not carried to shanghai: the pods wait for it for ever",
        ),
        (
            "hyperjob",
            "HyperJob",
            lambda d: pod(d).update(imagePullSecrets=[{"name": "regcred"}]),
            "Secret regcred is not carried to beijing",
        ),
        (
            "hyperjob",
            "HyperJob",
            lambda d: pod(d).update(serviceAccountName="trainer"),
            "ServiceAccount trainer is not carried to beijing",
        ),
        (
            "hyperjob",
            "HyperJob",
            lambda d: train(d).update(envFrom=[{"secretRef": {"name": "keys"}}]),
            "Secret keys is not carried to beijing",
        ),
    ],
    "shared_objects_are_carried": [
        (
            "hyperjob",
            "HyperJob",
            lambda d: spec(d).update(queue="other"),
            "no ClusterPropagationPolicy carries Queue other",
        ),
        ("hyperjob", "HyperJob", lambda d: spec(d).update(priorityClassName="p9"), "carries PriorityClass p9"),
    ],
    "overrides_change_something": [
        (
            "fallback",
            "OverridePolicy",
            lambda d: d["spec"]["overrideRules"][0]["overriders"]["plaintext"][0].update(path="spec/x"),
            "the path 'spec/x' has no leading slash",
        ),
        (
            "fallback",
            "OverridePolicy",
            lambda d: d["spec"]["overrideRules"][0]["overriders"]["plaintext"][0].pop("value"),
            "a change without a value",
        ),
    ],
    "services_over_clusters_are_whole": [
        ("hyperjob", "MultiClusterService", lambda d: d["spec"].update(types=[]), "types is not [CrossCluster]"),
        ("hyperjob", "MultiClusterService", lambda d: rename(d, "other"), "there is no Service of its name"),
        (
            "hyperjob",
            "PropagationPolicy",
            lambda d: d["spec"]["resourceSelectors"].append(
                {
                    "apiVersion": "v1",
                    "kind": "Service",
                    "namespace": "default",
                    "name": d["metadata"]["name"][:-11] + "-rank0",
                }
            ),
            "the Service is carried twice",
        ),
    ],
    "ranks_form_one_world": [
        ("hyperjob", "HyperJob", lambda d: variable(d, "HF_NODE_RANK_OFFSET", "2"), "node ranks begin at 1, not at 0"),
        ("hyperjob", "HyperJob", lambda d: variable(d, "HF_NNODES", "1"), "HF_NNODES is 1, the bundle has 2 nodes"),
        (
            "hyperjob",
            "HyperJob",
            lambda d: variable(d, "WORLD_SIZE", "2"),
            "WORLD_SIZE is 2, not nodes times processes",
        ),
        ("hyperjob", "HyperJob", lambda d: variable(d, "MASTER_ADDR", "me"), "children disagree: me, toy8-"),
    ],
    "rank_zero_is_reachable": [
        (
            "hyperjob",
            "Service",
            lambda d: d["spec"]["selector"].update({"volcano.sh/task-index": "1"}),
            "does not select",
        ),
        (
            "hyperjob",
            "Service",
            lambda d: d["spec"].update(publishNotReadyAddresses=False),
            "publishNotReadyAddresses is",
        ),
        ("hyperjob", "Service", lambda d: d["spec"]["ports"][0].update(port=80), "lacks the rendezvous port"),
        (
            "hyperjob",
            "HyperJob",
            lambda d: variable(d, "MASTER_ADDR", "me"),
            "MASTER_ADDR me is not the Service's name",
        ),
    ],
    "lost_peers_are_noticed_in_time": [
        ("hyperjob", "HyperJob", lambda d: variable(d, "HF_COMM_TIMEOUT_SECONDS", ""), "a timeout is missing"),
    ],
    "accelerators_are_whole_and_limited": [
        (
            "single",
            "Job",
            lambda d: train(d)["resources"]["limits"].clear(),
            "nvidia.com/gpu is requested 8, limited to None",
        ),
        (
            "single",
            "Job",
            lambda d: [train(d)["resources"][k].update({"nvidia.com/gpu": "0.5"}) for k in ("requests", "limits")],
            "nvidia.com/gpu is requested 0.5, limited to 0.5",
        ),
    ],
    "variables_stand_once": [
        (
            "single",
            "Job",
            lambda d: train(d)["env"].append({"name": "HF_TP", "value": "1"}),
            "HF_TP stands 2 times: denied",
        ),
        (
            "single",
            "Job",
            lambda d: train(d)["env"].append({"name": "X", "value": 1}),
            "the variable X is no text: denied",
        ),
    ],
    "mounts_are_sound": [
        (
            "single",
            "Job",
            lambda d: train(d)["volumeMounts"][0].update(mountPath="/etc/volcano/"),
            "belongs to Volcano",
        ),
        ("single", "Job", lambda d: train(d)["volumeMounts"][0].update(name="x"), "no volume x"),
        ("single", "Job", lambda d: train(d)["volumeMounts"].pop(1), "no shared memory is mounted"),
        (
            "single",
            "Job",
            lambda d: train(d)["volumeMounts"].append({**train(d)["volumeMounts"][1]}),
            "is mounted twice",
        ),
    ],
    "pods_have_no_privilege": [
        ("single", "Job", lambda d: train(d)["securityContext"].update(privileged=True), "the container is privileged"),
    ],
}


def test_every_law_has_a_bundle_that_breaks_it():
    assert set(BREAKS) == {law.__name__ for law in LAWS}


CASES = [(law, *case) for law, cases in BREAKS.items() for case in cases]


@pytest.mark.parametrize(
    ("law", "name", "kind", "wrong", "message"), CASES, ids=[f"{c[0]}-{i}" for i, c in enumerate(CASES)]
)
def test_bundle_with_one_thing_wrong_breaks_its_law(law, name, kind, wrong, message):
    mode, documents, crd = base(name)
    documents = copy.deepcopy(documents)
    if kind == "order":
        documents = documents[-1:] + documents[:-1]
    else:
        target = next(
            d
            for _, d in documents
            if d["kind"] == kind
            or (kind == "own" and d["metadata"]["name"].endswith("-own") and d["kind"] == "PropagationPolicy")
        )
        wrong(target)
    found = [f for f in check_laws(mode, documents, crd) if f.expected == law.replace("_", " ")]
    assert [f for f in found if message in f.message], [f.message for f in check_laws(mode, documents, crd)]
    assert {f.code for f in found} == {"HF420"}


def test_breach_names_file_field_law_and_effect():
    mode, documents, crd = base("hyperjob")
    spec(documents[-1][1])["ttlSecondsAfterFinished"] = 60
    assert [f.as_text() for f in check_laws(mode, documents, crd)] == [
        "error[HF420] ttlSecondsAfterFinished is set: the training runs twice\n"
        f"  --> {documents[-1][0]}: spec.replicatedJobs[0].templateSpec.ttlSecondsAfterFinished\n"
        "  expected finished jobs stay"
    ]


def test_partial_replacement_of_a_plan_keeps_the_laws():
    hierarchical = replace(wide()[1], allreduce="hierarchical", zero=0)
    manifests = lower(job(wide()[0]), hierarchical)
    assert check_laws(manifests.mode, parse_bundle(render(manifests))[0]) == []
