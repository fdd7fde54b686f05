"""The full text of a finding of every code of the judge, on one document each."""

# ruff: noqa: E501 (the texts are compared whole)

import pytest

EXAMPLES = [
    (
        "HF805",
        "HyperJob",
        {},
        {"present": []},
        "note[HF805] not judged on the plane, for want of clusters\n"
        "  --> file.yaml:1:1\n"
        "  hint: give them with --with-plane",
    ),
    (
        "HF806",
        "Job",
        {"apiVersion": "batch.volcano.sh/v1"},
        {},
        "error[HF806] apiVersion: this version of Job is not served (denied by the API server)\n"
        "  --> file.yaml:1:1\n"
        "  got batch.volcano.sh/v1, expected batch.volcano.sh/v1alpha1\n"
        "  hint: write apiVersion: batch.volcano.sh/v1alpha1",
    ),
    (
        "HF810",
        "Job",
        {"spec.tasks.0.replica": 2},
        {},
        "error[HF810] spec.tasks[0].replica: unknown field, a strict create is denied and a lenient one drops it (denied by the API server)\n"
        "  --> file.yaml:1:1\n"
        '  hint: did you mean "replicas"?',
    ),
    (
        "HF811",
        "Job",
        {"spec.tasks.0.template.spec.containers.0.env": [{"name": "A", "value": 1}]},
        {},
        "error[HF811] spec.tasks[0].template.spec.containers[0].env[0].value: must be of type string (denied by the schema)\n"
        "  --> file.yaml:1:1\n"
        "  got 1, expected string\n"
        '  hint: put it in quotes: "1"',
    ),
    (
        "HF812",
        "Job",
        {"spec.networkTopology": {"mode": "Hard", "highestTierAllowed": 1}},
        {},
        "error[HF812] spec.networkTopology.mode: unsupported value (denied by the schema)\n"
        "  --> file.yaml:1:1\n"
        '  got "Hard", expected one of hard, soft\n'
        '  hint: did you mean "hard"?',
    ),
    (
        "HF813",
        "HyperNode",
        {"spec.tier": "<remove>"},
        {},
        "error[HF813] spec.tier: required field is missing (denied by the schema)\n"
        "  --> file.yaml:1:1\n"
        "  expected a value",
    ),
    (
        "HF814",
        "Job",
        {"spec.tasks.0.template.spec.containers.0.env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]},
        {},
        'error[HF814] spec.tasks[0].template.spec.containers[0].env[1]: duplicate of item 0: name "A" (denied by the schema)\n'
        "  --> file.yaml:1:1\n"
        "  expected each item once\n"
        "  hint: rename or remove one of the two",
    ),
    (
        "HF815",
        "HyperNode",
        {"spec.members.0.selector": {}},
        {},
        "error[HF815] spec.members[0].selector: Either ExactMatch or RegexMatch or LabelMatch must be specified (denied by the schema)\n"
        "  --> file.yaml:1:1\n"
        "  got {}",
    ),
    (
        "HF816",
        "Job",
        {"metadata.name": "Train_1"},
        {},
        "error[HF816] metadata.name: the name must be lower-case letters, digits, dashes and dots, with a letter or digit at the ends (denied by the API server)\n"
        "  --> file.yaml:1:1\n"
        '  got "Train_1", expected a DNS subdomain\n'
        '  hint: write "train-1"',
    ),
    (
        "HF817",
        "Queue",
        {"metadata.name": "parent"},
        {},
        "error[HF817] metadata.name: Queue parent exists already on the member (denied by the API server)\n"
        "  --> file.yaml:1:1\n"
        '  got "parent", expected a new name\n'
        "  hint: to judge an update, give the old object with --old",
    ),
    (
        "HF818",
        "Job",
        {"metadata.namespace": "nowhere"},
        {},
        "error[HF818] metadata.namespace: there is no namespace nowhere on the member (denied by the API server)\n"
        "  --> file.yaml:1:1\n"
        '  got "nowhere", expected a namespace that exists\n'
        "  hint: create it first",
    ),
    (
        "HF820",
        "Job",
        {"spec.minAvailable": 9},
        {},
        "error[HF820] spec.minAvailable: the job needs 9 pods and its tasks have 8 (denied by the webhook validatejob.volcano.sh)\n"
        "  --> file.yaml:1:1\n"
        "  got 9, expected at most 8\n"
        "  hint: lower minAvailable or raise replicas",
    ),
    (
        "HF821",
        "Job",
        {"metadata.name": "ttttttttttttttttttttttttttttttttttttttttttttttttttttttt"},
        {},
        "error[HF821] metadata.name: the pod name ttttttttttttttttttttttttttttttttttttttttttttttttttttttt-worker-0 has 64 characters (denied by the webhook validatejob.volcano.sh)\n"
        "  --> file.yaml:1:1\n"
        '  got "ttttttttttttttttttttttttttttttttttttttttttttttttttttttt", expected {job}-{task}-{index} of at most 63 characters\n'
        "  hint: make the job's name shorter by 1",
    ),
    (
        "HF822",
        "Job",
        {"spec.policies": [{"event": "PodRunning", "action": "RestartJob"}]},
        {},
        "error[HF822] spec.policies[0]: PodRunning cannot be answered (denied by the webhook validatejob.volcano.sh)\n"
        "  --> file.yaml:1:1\n"
        '  got "PodRunning", expected one of *, JobUpdated, PodEvicted, PodFailed, PodPending, TaskCompleted, TaskFailed, Unknown\n'
        '  hint: did you mean "PodPending"?',
    ),
    (
        "HF823",
        "Job",
        {"spec.plugins": {"pytorh": []}},
        {},
        "error[HF823] spec.plugins.pytorh: there is no job plugin pytorh (denied by the webhook validatejob.volcano.sh)\n"
        "  --> file.yaml:1:1\n"
        '  got "pytorh", expected one of env, hcclrank, mpi, pytorch, ray, ssh, svc, tensorflow\n'
        '  hint: did you mean "pytorch"?',
    ),
    (
        "HF824",
        "Job",
        {"spec.volumes": [{"mountPath": "/data"}]},
        {},
        "error[HF824] spec.volumes[0]: the volume names no claim (denied by the webhook validatejob.volcano.sh)\n"
        "  --> file.yaml:1:1\n"
        "  expected volumeClaimName or volumeClaim\n"
        "  hint: add one of the two",
    ),
    (
        "HF825",
        "Job",
        {"spec.tasks.0.dependsOn": {"name": ["worker"]}},
        {},
        "error[HF825] spec.tasks[0].dependsOn: task worker waits for itself, directly or through others (denied by the webhook validatejob.volcano.sh)\n"
        "  --> file.yaml:1:1\n"
        '  got ["worker"], expected an order without a circle\n'
        "  hint: take one of the waits out",
    ),
    (
        "HF826",
        "Job",
        {"spec.queue": "shut"},
        {},
        "error[HF826] spec.queue: the queue shut is not open (denied by the webhook validatejob.volcano.sh)\n"
        "  --> file.yaml:1:1\n"
        '  got "Closed", expected Open\n'
        "  hint: open it or use another",
    ),
    (
        "HF827",
        "Job",
        {"spec.tasks.0.partitionPolicy": {"totalPartitions": 3, "partitionSize": 4, "minPartitions": 2}},
        {},
        "error[HF827] spec.tasks[0].partitionPolicy.totalPartitions: 3 partitions of 4 are 12 pods, replicas is 8 (denied by the webhook validatejob.volcano.sh)\n"
        "  --> file.yaml:1:1\n"
        "  got 3, expected totalPartitions x partitionSize = replicas\n"
        "  hint: write totalPartitions: 2",
    ),
    (
        "HF828",
        "Job",
        {
            "spec.tasks.0.topologyPolicy": "restricted",
            "spec.tasks.0.template.spec.containers.0.resources.requests.cpu": "1500m",
            "spec.tasks.0.template.spec.containers.0.resources.limits.cpu": "1500m",
        },
        {},
        "error[HF828] spec.tasks[0].template.spec.containers[0].resources.requests: the cpu request is no integer (denied by the webhook validatejob.volcano.sh)\n"
        "  --> file.yaml:1:1\n"
        '  got "1500m", expected whole CPUs\n'
        "  hint: round it up",
    ),
    (
        "HF829",
        "Job",
        {
            "spec.tasks.0.template.spec.containers.0.image": "other",
            "spec.tasks.0.maxRetry": 3,
            "spec.tasks.0.minAvailable": 8,
        },
        {"old": {}},
        "error[HF829] spec.tasks[0].template.spec.containers[0].image: cannot be changed in a running job (denied by the webhook validatejob.volcano.sh)\n"
        "  --> file.yaml:1:1\n"
        "  expected the old value\n"
        "  hint: make a new job",
    ),
    (
        "HF830",
        "Job",
        {"spec.tasks.0.template.spec.restartPolicy": "Sometimes"},
        {},
        "error[HF830] spec.tasks[0].template.spec.restartPolicy: unsupported value (denied by the webhook validatejob.volcano.sh)\n"
        "  --> file.yaml:1:1\n"
        '  got "Sometimes", expected one of Always, Never, OnFailure',
    ),
    (
        "HF831",
        "Job",
        {"spec.tasks.0.template.spec.containers.0.ports": [{"containerPort": 70000}]},
        {},
        "error[HF831] spec.tasks[0].template.spec.containers[0].ports[0].containerPort: out of range (denied by the webhook validatejob.volcano.sh)\n"
        "  --> file.yaml:1:1\n"
        "  got 70000, expected 1 to 65535\n"
        "  hint: correct the number",
    ),
    (
        "HF832",
        "Job",
        {
            "spec.tasks.0.template.spec.containers.0.env": [
                {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.hostname"}}}
            ]
        },
        {},
        "error[HF832] spec.tasks[0].template.spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: no such field can be an environment variable (denied by the webhook validatejob.volcano.sh)\n"
        "  --> file.yaml:1:1\n"
        "  got \"spec.hostname\", expected metadata.name, metadata.namespace, metadata.uid, spec.nodeName, spec.serviceAccountName, status.hostIP, status.hostIPs, status.podIP, status.podIPs, metadata.labels['x'] or annotations['x']\n"
        "  hint: for a label write metadata.labels['KEY']",
    ),
    (
        "HF833",
        "Job",
        {"spec.tasks.0.template.spec.containers.0.volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}]},
        {},
        "error[HF833] spec.tasks[0].template.spec.containers[0].volumeMounts[0].name: there is no such volume in the pod (denied by the webhook validatejob.volcano.sh)\n"
        "  --> file.yaml:1:1\n"
        '  got "shm", expected a volume of the pod: no volume at all\n'
        "  hint: add the volume to spec.volumes",
    ),
    (
        "HF834",
        "Job",
        {"spec.tasks.0.template.spec.containers.0.resources": {"requests": {"nvidia.com/gpu": 8}}},
        {},
        "error[HF834] spec.tasks[0].template.spec.containers[0].resources.requests.nvidia.com/gpu: nvidia.com/gpu needs a limit: it cannot be overcommitted (denied by the webhook validatejob.volcano.sh)\n"
        "  --> file.yaml:1:1\n"
        '  got "8", expected an equal limit\n'
        '  hint: add limits: {nvidia.com/gpu: "8"}',
    ),
    (
        "HF835",
        "Job",
        {"spec.tasks.0.template.spec.containers.0.livenessProbe": {"periodSeconds": 5}},
        {},
        "error[HF835] spec.tasks[0].template.spec.containers[0].livenessProbe: takes exactly one handler (denied by the webhook validatejob.volcano.sh)\n"
        "  --> file.yaml:1:1\n"
        "  got [], expected one of exec, httpGet, tcpSocket, grpc\n"
        "  hint: name one handler",
    ),
    (
        "HF836",
        "Job",
        {"spec.tasks.0.template.spec.tolerations": [{"key": "gpu", "operator": "Exists", "value": "yes"}]},
        {},
        "error[HF836] spec.tasks[0].template.spec.tolerations[0].value: must be empty when the operator is Exists (denied by the webhook validatejob.volcano.sh)\n"
        "  --> file.yaml:1:1\n"
        '  got "yes", expected no value\n'
        "  hint: take the value out, or write operator: Equal",
    ),
    (
        "HF837",
        "Job",
        {"spec.tasks.0.template.spec.securityContext": {"runAsUser": -1}},
        {},
        "error[HF837] spec.tasks[0].template.spec.securityContext.runAsUser: out of range (denied by the webhook validatejob.volcano.sh)\n"
        "  --> file.yaml:1:1\n"
        "  got -1, expected 0 to 2147483647\n"
        "  hint: correct the number",
    ),
    (
        "HF840",
        "Queue",
        {"spec.deserved": {"cpu": "5"}, "spec.guarantee": {"resource": {"cpu": "6"}}},
        {},
        "error[HF840] spec.deserved.cpu: less cpu than the guarantee (denied by the webhook validatequeue.volcano.sh)\n"
        "  --> file.yaml:1:1\n"
        '  got "5", expected at least 6\n'
        "  hint: raise deserved to the guarantee",
    ),
    (
        "HF841",
        "Queue",
        {"spec.parent": "parent", "spec.deserved": {"cpu": "31"}},
        {},
        "error[HF841] spec.deserved.cpu: parent has 50 cpu, its children 51 (denied by the webhook validatequeue.volcano.sh)\n"
        "  --> file.yaml:1:1\n"
        '  got "31", expected at most 30\n'
        "  hint: lower it, or raise deserved of parent",
    ),
    (
        "HF842",
        "Queue",
        {"metadata.annotations": {"volcano.sh/hierarchy": "root/sci", "volcano.sh/hierarchy-weights": "1/2/3"}},
        {},
        "error[HF842] metadata.annotations.volcano.sh/hierarchy-weights: the hierarchy root/sci has another number of steps (denied by the webhook validatequeue.volcano.sh)\n"
        "  --> file.yaml:1:1\n"
        '  got "1/2/3", expected 2 weights\n'
        "  hint: write one weight a step",
    ),
    (
        "HF843",
        "PodGroup",
        {"spec.queue": "nope"},
        {},
        "error[HF843] spec.queue: there is no queue nope (denied by the webhook validatepodgroup.volcano.sh)\n"
        "  --> file.yaml:1:1\n"
        '  got "nope", expected a queue that exists\n'
        "  hint: create the queue first",
    ),
    (
        "HF844",
        "HyperNode",
        {"spec.members.0.selector": {"regexMatch": {"pattern": "n(?=1)"}}},
        {},
        "error[HF844] spec.members[0].selector.regexMatch.pattern: Go cannot compile the pattern (denied by the webhook validatehypernodes.volcano.sh)\n"
        "  --> file.yaml:1:1\n"
        '  got "n(?=1)", expected RE2 syntax, without look-around and back references\n'
        "  hint: write it in RE2",
    ),
    (
        "HF845",
        "JobFlow",
        {"spec.flows.1.dependsOn.targets": ["c"]},
        {},
        "error[HF845] spec.flows[1].dependsOn.targets[0]: there is no flow c (denied by the webhook validatejobflow.volcano.sh)\n"
        "  --> file.yaml:1:1\n"
        '  got "c", expected the name of another flow',
    ),
    (
        "HF846",
        "CronJob",
        {"spec.schedule": "every day"},
        {},
        "error[HF846] spec.schedule: no cron schedule (denied by the webhook validatecronjob.volcano.sh)\n"
        "  --> file.yaml:1:1\n"
        '  got "every day", expected minute hour day month weekday; the zone goes into timeZone\n'
        '  hint: such as "0 3 * * *"',
    ),
    (
        "HF850",
        "PropagationPolicy",
        {"spec.resourceSelectors.0.namespace": "other"},
        {},
        "error[HF850] spec.resourceSelectors[0].namespace: not the policy's namespace (denied by the webhook propagationpolicy.karmada.io)\n"
        "  --> file.yaml:1:1\n"
        '  got "other", expected default\n'
        "  hint: use a ClusterPropagationPolicy, or one policy each",
    ),
    (
        "HF851",
        "PropagationPolicy",
        {"spec.placement.clusterAffinities": [{"affinityName": "a", "clusterNames": ["m1"]}]},
        {},
        "error[HF851] spec.placement.clusterAffinities: clusterAffinity and clusterAffinities exclude each other (denied by the webhook propagationpolicy.karmada.io)\n"
        "  --> file.yaml:1:1\n"
        '  got [{"affinityName": "a", "clusterNames": ["m1"]}], expected one of the two\n'
        "  hint: make clusterAffinity the first of clusterAffinities",
    ),
    (
        "HF852",
        "PropagationPolicy",
        {"spec.placement.spreadConstraints": [{"spreadByField": "region", "minGroups": 1, "maxGroups": 1}]},
        {},
        "error[HF852] spec.placement.spreadConstraints: spreading by a field needs a constraint by cluster too (denied by the webhook propagationpolicy.karmada.io)\n"
        "  --> file.yaml:1:1\n"
        '  got ["region"], expected spreadByField: cluster\n'
        "  hint: add one",
    ),
    (
        "HF853",
        "PropagationPolicy",
        {"spec.failover": {"application": {"purgeMode": "Directly", "decisionConditions": {}}}},
        {},
        "error[HF853] spec.propagateDeps: application failover needs it (denied by the webhook propagationpolicy.karmada.io)\n"
        "  --> file.yaml:1:1\n"
        "  got false, expected true\n"
        "  hint: write propagateDeps: true",
    ),
    (
        "HF854",
        "OverridePolicy",
        {"spec.targetCluster": {"clusterNames": ["m1"]}},
        {},
        "error[HF854] spec.targetCluster: excludes overrideRules (denied by the webhook overridepolicy.karmada.io)\n"
        "  --> file.yaml:1:1\n"
        '  got {"clusterNames": ["m1"]}, expected overrideRules alone\n'
        "  hint: move it into a rule",
    ),
    (
        "HF855",
        "MultiClusterService",
        {"metadata.name": "1svc"},
        {},
        "error[HF855] metadata.name: must start with a letter, then lower-case letters, digits and dashes (denied by the webhook multiclusterservice.karmada.io)\n"
        "  --> file.yaml:1:1\n"
        '  got "1svc"\n'
        "  hint: rename it, and the Service with it",
    ),
    (
        "HF856",
        "FederatedResourceQuota",
        {"spec.staticAssignments": [{"clusterName": "m1", "hard": {"cpu": "20"}}]},
        {},
        "error[HF856] spec.overall.cpu: less than what is assigned, 20 (denied by the webhook federatedresourcequota.karmada.io)\n"
        "  --> file.yaml:1:1\n"
        '  got "10", expected at least 20\n'
        "  hint: raise it or assign less",
    ),
    (
        "HF857",
        "Cluster",
        {"metadata.name": "c.1"},
        {},
        "error[HF857] metadata.name: must be lower-case letters, digits and dashes, not at the ends (denied by Karmada's API server)\n"
        "  --> file.yaml:1:1\n"
        '  got "c.1", expected a DNS label of at most 48 characters\n'
        "  hint: rename it",
    ),
    (
        "HF860",
        "Job",
        {"spec.networkTopology": {"mode": "hard"}},
        {},
        "warning[HF860] spec.networkTopology: hard without a tier binds nothing: pods may land anywhere\n"
        "  --> file.yaml:1:1\n"
        '  got {"mode": "hard"}, expected highestTierAllowed\n'
        "  hint: write highestTierAllowed: 1 for one leaf",
    ),
    (
        "HF861",
        "Job",
        {"metadata.name": "train.v1"},
        {},
        "warning[HF861] metadata.name: the svc and ray plugins make a Service of this name, which the API server denies\n"
        "  --> file.yaml:1:1\n"
        '  got "train.v1", expected a letter first, then letters, digits and dashes\n'
        "  hint: rename the job",
    ),
    (
        "HF862",
        "Job",
        {"spec.priorityClassName": "hgih"},
        {},
        "warning[HF862] spec.priorityClassName: there is no PriorityClass hgih: its binding or PodGroup waits for ever\n"
        "  --> file.yaml:1:1\n"
        '  got "hgih", expected a PriorityClass that exists\n'
        "  hint: create it first, or take the field out",
    ),
    (
        "HF863",
        "Job",
        {"spec.policies": [{"event": "PodPending", "action": "RestartJob"}]},
        {},
        "warning[HF863] spec.policies[0].timeout: PodPending without a timeout is ignored: a job that never starts waits for ever\n"
        "  --> file.yaml:1:1\n"
        "  expected a duration such as 10m\n"
        "  hint: write timeout",
    ),
    (
        "HF864",
        "Job",
        {"spec.plugins": {"svc": ["--no-such-flag=1"]}},
        {},
        "warning[HF864] spec.plugins.svc[0]: the svc plugin does not know this argument and reads none after it\n"
        "  --> file.yaml:1:1\n"
        '  got "--no-such-flag=1", expected --publish-not-ready-addresses, --disable-network-policy, --inject-hosts-env, each with =true or =false\n'
        "  hint: correct the argument",
    ),
    (
        "HF865",
        "Job",
        {"spec.tasks.0.template.spec.restartPolicy": "<remove>"},
        {},
        "warning[HF865] spec.tasks[0].template.spec.restartPolicy: containers restart for ever: the task never completes and no policy sees the failure\n"
        "  --> file.yaml:1:1\n"
        "  got null, expected Never or OnFailure\n"
        "  hint: write restartPolicy: Never",
    ),
    (
        "HF866",
        "Job",
        {"spec.maxRetry": 0},
        {},
        "warning[HF866] spec.maxRetry: 0 becomes 3: the job is tried again all the same\n"
        "  --> file.yaml:1:1\n"
        "  got 0, expected 1 or more\n"
        "  hint: write 1 for a single retry; none cannot be asked",
    ),
    (
        "HF867",
        "Job",
        {"spec.tasks.0.minAvailable": 6, "spec.tasks.0.partitionPolicy": {"totalPartitions": 2, "partitionSize": 4}},
        {},
        "warning[HF867] spec.tasks[0].minAvailable: 6 pods are no whole number of partitions of 4: the gang cannot be met\n"
        "  --> file.yaml:1:1\n"
        "  got 6, expected a multiple of 4\n"
        "  hint: write 4 and minPartitions",
    ),
    (
        "HF868",
        "HyperNode",
        {"spec.members.0.selector": "<remove>"},
        {},
        "warning[HF868] spec.members[0].selector: a member without a selector holds no node\n"
        "  --> file.yaml:1:1\n"
        "  expected exactMatch, regexMatch or labelMatch\n"
        "  hint: add the selector",
    ),
    (
        "HF869",
        "Queue",
        {"spec.parent": "default"},
        {},
        "warning[HF869] spec.parent: default is then no leaf: every job that goes to default is denied\n"
        "  --> file.yaml:1:1\n"
        '  got "default", expected a queue that no job uses\n'
        "  hint: hang it under root",
    ),
    (
        "HF870",
        "HyperJob",
        {"spec.replicatedJobs.0.templateSpec.ttlSecondsAfterFinished": 60},
        {},
        "warning[HF870] spec.replicatedJobs[0].templateSpec.ttlSecondsAfterFinished: the finished child is deleted and made again: the training runs twice\n"
        "  --> file.yaml:1:1\n"
        "  got 60, expected no ttlSecondsAfterFinished\n"
        "  hint: take it out",
    ),
    (
        "HF871",
        "HyperJob",
        {"spec.replicatedJobs.0.templateSpec.policies": [{"event": "PodRunning", "action": "RestartJob"}]},
        {},
        "warning[HF871] spec.replicatedJobs[0].templateSpec.policies[0]: the child would be denied: PodRunning cannot be answered\n"
        "  --> file.yaml:1:1\n"
        '  got "PodRunning", expected one of *, JobUpdated, PodEvicted, PodFailed, PodPending, TaskCompleted, TaskFailed, Unknown\n'
        '  hint: did you mean "PodPending"?',
    ),
    (
        "HF872",
        "PropagationPolicy",
        {"spec.placement.spreadConstraints.0.maxGroups": 0},
        {},
        "warning[HF872] spec.placement.spreadConstraints[0].maxGroups: 0 is no limit: replicas may land in every cluster\n"
        "  --> file.yaml:1:1\n"
        "  got 0, expected 1 or more\n"
        "  hint: write maxGroups: 1 for one cluster",
    ),
    (
        "HF873",
        "OverridePolicy",
        {"spec.overrideRules.0.overriders.plaintext.0.path": "spec/queue"},
        {},
        "warning[HF873] spec.overrideRules[0].overriders.plaintext[0].path: the patch fails and the resource is not propagated\n"
        "  --> file.yaml:1:1\n"
        '  got "spec/queue", expected /spec/queue\n'
        "  hint: write /spec/queue",
    ),
    (
        "HF880",
        "Job",
        {"spec.minAvailable": 0},
        {},
        "note[HF880] spec.minAvailable: 0 becomes the sum of the tasks' minimums, 8\n  --> file.yaml:1:1",
    ),
]


@pytest.mark.parametrize(("code", "kind", "changes", "how", "text"), EXAMPLES, ids=[row[0] for row in EXAMPLES])
def test_a_finding_says_field_cause_and_mend(verdict_on, code, kind, changes, how, text):
    problems = [problem for problem in verdict_on(kind, changes, **how).problems if problem.code == code]
    assert [problem.finding("file.yaml:1:1").as_text() for problem in problems] == [text]
