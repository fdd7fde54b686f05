"""Each rule of the servers on each side of its edge."""

# ruff: noqa: E501 (one row a case reads best)

import pytest

POD = "spec.tasks.0.template.spec"
MAIN = f"{POD}.containers.0"
VOLUME = {"name": "v", "emptyDir": {}}
PARTS = {"totalPartitions": 2, "partitionSize": 4}
TWO_TASKS = [
    {"name": name, "replicas": 1, "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "a"}]}}}
    for name in ("master", "worker")
]  # fmt: skip


def container(**fields):
    return [{"name": "c", "image": "a", **fields}]


def handler(**fields):
    return {f"{MAIN}.livenessProbe": {"tcpSocket": {"port": 80}, **fields}}


def affinity(**rule):
    terms = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "gpu", **rule}]}]}
    return {f"{POD}.affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}


def spread(*rules):
    return {"spec.placement.spreadConstraints": list(rules)}


def models(*bounds):
    rows = [{"grade": g, "ranges": [{"name": "cpu", "min": lo, "max": hi}]} for g, (lo, hi) in enumerate(bounds)]
    return {"spec.resourceModels": rows}


LAST = str(2**63 - 1)
A, R, D = "accepted", "risky", "denied"
JOB_EDGES = [
    # names
    ({"metadata.name": "7b"}, R), ({"metadata.name": "a" * 54}, A), ({"metadata.name": "a" * 55}, D),
    ({"metadata.name": "a" * 54, "spec.tasks.0.replicas": 11}, R), ({"metadata.name": "a" * 54, "spec.tasks.0.replicas": 10}, A),
    ({"metadata.labels": {"a/b": "x"}}, A), ({"metadata.labels": {"a/b/c": "x"}}, D), ({"metadata.labels": {"a": 1}}, D),
    ({"metadata.annotations": {"Any.Thing/at": "all sorts"}}, A), ({"metadata.annotations": {"no blank": "x"}}, D),
    ({"metadata.finalizers": ["x y"]}, D), ({"metadata.generateName": "t-", "metadata.name": ""}, A),
    ({"metadata.labelz": {}}, D), ({"metadata.resourceVersion": "7"}, D),
    ({"metadata.namespace": "kube-system"}, A), ({"metadata.namespace": "Upper"}, D),
    ({"spec.tasks.0.name": "Worker"}, D), ({"spec.tasks.0.name": "w" * 57, "metadata.name": "j"}, A),
    ({"spec.tasks.0.name": "1"}, A), ({"spec.tasks.0.name": "<remove>"}, A),
    # counts
    ({"spec.tasks": []}, D), ({"spec.tasks": "<remove>"}, D), ({"spec": {}}, D),
    ({"spec.tasks.0.replicas": -1}, D), ({"spec.tasks.0.replicas": 2**31}, D), ({"spec.tasks.0.replicas": 2.0}, A),
    ({"spec.tasks.0.replicas": 2.5}, D), ({"spec.tasks.0.replicas": "2"}, D), ({"spec.tasks.0.minAvailable": 8}, A),
    ({"spec.tasks.0.minAvailable": 9}, D), ({"spec.minAvailable": 8}, A), ({"spec.minAvailable": 9}, D),
    ({"spec.minAvailable": 1}, R), ({"spec.minAvailable": 1, "spec.tasks.0.minAvailable": 1}, A),
    ({"spec.minAvailable": 0}, A), ({"spec.maxRetry": 0}, R), ({"spec.maxRetry": 1}, A), ({"spec.tasks.0.maxRetry": -1}, D),
    ({"spec.minSuccess": 7}, R), ({"spec.minSuccess": 8}, A), ({"spec.minSuccess": 0}, D),
    ({"spec.ttlSecondsAfterFinished": 0}, A), ({"spec.ttlSecondsAfterFinished": -1}, D),
    ({"spec.runningEstimate": "1h"}, A), ({"spec.runningEstimate": "soon"}, D),
    # policies
    ({"spec.policies": [{"event": "*", "action": "AbortJob"}]}, A),
    ({"spec.policies": [{"event": "*", "action": "AbortJob"}, {"exitCode": 3, "action": "RestartJob"}]}, A),
    ({"spec.policies": [{"events": ["*", "PodFailed"], "action": "AbortJob"}]}, D),
    ({"spec.policies": [{"events": ["PodFailed", "PodFailed"], "event": "PodFailed", "action": "AbortJob"}]}, A),
    ({"spec.policies": [{"event": "JobUpdated", "action": "TerminateJob"}]}, A),
    ({"spec.policies": [{"event": "PodFailed"}]}, D), ({"spec.policies": [{"exitCode": 3}]}, R),
    ({"spec.policies": [{"exitCode": -1, "action": "RestartJob"}]}, A), ({"spec.policies": [{}]}, D),
    ({"spec.policies": [{"event": "PodPending", "action": "AbortJob", "timeout": "1h30m"}]}, A),
    ({"spec.policies": [{"event": "PodPending", "action": "AbortJob", "timeout": "90"}]}, D),
    ({"spec.policies": [{"event": "PodEvicted", "action": "ResumeJob"}]}, A),
    ({"spec.policies": [{"events": ["PodFailed"], "action": "ResumeJob"}]}, R),
    ({"spec.tasks.0.policies": [{"event": "TaskCompleted", "action": "CompleteJob"}]}, A),
    ({"spec.tasks.0.policies": [{"exitCode": 0, "action": "CompleteJob"}]}, D),
    # plugins
    ({"spec.plugins": {}}, A), ({"spec.plugins": {"ray": [], "hcclrank": []}}, A), ({"spec.plugins": {"Svc": []}}, D),
    ({"spec.plugins": {"svc": ["--disable-network-policy"]}}, A), ({"spec.plugins": {"svc": ["-disable-network-policy=0"]}}, A),
    ({"spec.plugins": {"svc": ["--disable-network-policy=maybe"]}}, R), ({"spec.plugins": {"svc": ["disable"]}}, R),
    ({"spec.plugins": {"ssh": None}}, R), ({"spec.plugins": {"ssh": "x"}}, D), ({"spec.plugins": {"ssh": [1]}}, D),
    ({"spec.tasks": TWO_TASKS, "spec.plugins": {"pytorch": []}}, A),
    ({"spec.tasks": TWO_TASKS, "spec.plugins": {"pytorch": ["--master=boss"]}}, R),
    ({"spec.tasks": TWO_TASKS, "spec.plugins": {"pytorch": ["--master", "worker"]}}, A),
    ({"spec.tasks": TWO_TASKS, "spec.plugins": {"mpi": []}}, A), ({"spec.plugins": {"mpi": []}}, D),
    ({"spec.tasks": TWO_TASKS, "spec.plugins": {"mpi": ["--worker=none"]}}, R),
    # volumes
    ({"spec.volumes": [{"mountPath": "/a", "volumeClaimName": "a.b"}]}, A),
    ({"spec.volumes": [{"mountPath": "", "volumeClaimName": "a"}]}, D), ({"spec.volumes": [{"volumeClaimName": "a"}]}, D),
    ({"spec.volumes": [{"mountPath": "/a", "volumeClaim": {"accessModes": ["ReadWriteOnce"]}}]}, A),
    # order of tasks
    ({"spec.tasks": [TWO_TASKS[0], {**TWO_TASKS[1], "dependsOn": {"name": ["master"], "iteration": "any"}}]}, A),
    ({"spec.tasks": [TWO_TASKS[0], {**TWO_TASKS[1], "dependsOn": {"name": ["master"], "iteration": "most"}}]}, R),
    ({"spec.tasks": [TWO_TASKS[0], {**TWO_TASKS[1], "dependsOn": {"name": ["mster"]}}]}, D),
    # queue and priority
    ({"spec.queue": "child"}, A), ({"spec.queue": "parent"}, D), ({"spec.queue": "root"}, D), ({"spec.queue": "nope"}, D),
    ({"spec.queue": ""}, A), ({"spec.priorityClassName": "high"}, A), ({"spec.priorityClassName": "system-node-critical"}, A),
    ({f"{POD}.priorityClassName": "low"}, R), ({f"{POD}.priorityClassName": "high"}, A), ({"spec.schedulerName": "s" * 64}, D),
    # topology and partitions
    ({"spec.networkTopology": {}}, R), ({"spec.networkTopology": {"highestTierAllowed": 2}}, A),
    ({"spec.networkTopology": {"highestTierAllowed": 3}}, R), ({"spec.networkTopology": {"highestTierAllowed": 0}}, R),
    ({"spec.networkTopology": {"highestTierAllowed": -1}}, D), ({"spec.networkTopology": {"highestTierName": "row"}}, A),
    ({"spec.networkTopology": {"highestTierName": "hall"}}, R), ({"spec.networkTopology": {"mode": "soft"}}, A),
    ({"spec.networkTopology": {"mode": "soft", "highestTierName": "row"}}, R),
    ({"spec.networkTopology": {"highestTierName": "row", "highestTierAllowed": 1}}, D),
    ({"spec.tasks.0.partitionPolicy": PARTS}, A), ({"spec.tasks.0.partitionPolicy": {**PARTS, "partitionSize": 3}}, D),
    ({"spec.tasks.0.partitionPolicy": {**PARTS, "minPartitions": 1}}, A),
    ({"spec.tasks.0.partitionPolicy": {**PARTS, "minPartitions": 1}, "spec.tasks.0.minAvailable": 4}, A),
    ({"spec.tasks.0.partitionPolicy": {**PARTS, "minPartitions": 1}, "spec.tasks.0.minAvailable": 6}, D),
    ({"spec.tasks.0.partitionPolicy": PARTS, "spec.tasks.0.minAvailable": 4}, A),
    ({"spec.tasks.0.partitionPolicy": PARTS, "spec.tasks.0.minAvailable": 5}, R),
    ({"spec.tasks.0.partitionPolicy": {**PARTS, "networkTopology": {"highestTierAllowed": 2}},
      "spec.networkTopology": {"highestTierAllowed": 2}}, A),
    ({"spec.tasks.0.partitionPolicy": {**PARTS, "networkTopology": {"highestTierName": "row"}},
      "spec.networkTopology": {"highestTierName": "rack"}}, R),
    ({"spec.tasks.0.partitionPolicy": {**PARTS, "networkTopology": {"mode": "hard"}}}, R),
    # NUMA
    ({"spec.tasks.0.topologyPolicy": "none", f"{MAIN}.resources": {}}, A), ({"spec.tasks.0.topologyPolicy": "restricted"}, A),
    ({"spec.tasks.0.topologyPolicy": "restricted", f"{MAIN}.resources": {}}, D),
    ({"spec.tasks.0.topologyPolicy": "best-effort", f"{MAIN}.resources": {"limits": {"cpu": 2, "memory": "1Gi"}}}, A),
    ({"spec.tasks.0.topologyPolicy": "best-effort", f"{MAIN}.resources": {"limits": {"cpu": 2}}}, D),
]  # fmt: skip
POD_EDGES = [
    # the pod
    ({f"{POD}.restartPolicy": "Always"}, R), ({f"{POD}.restartPolicy": "OnFailure"}, A), ({f"{POD}.restartPolicy": "never"}, D),
    ({f"{POD}.terminationGracePeriodSeconds": -1}, R), ({f"{POD}.terminationGracePeriodSeconds": 0}, A),
    ({f"{POD}.dnsPolicy": "None"}, D), ({f"{POD}.dnsPolicy": "None", f"{POD}.dnsConfig": {"nameservers": ["1.1.1.1"]}}, A),
    ({f"{POD}.dnsConfig": {"nameservers": ["here"]}}, D), ({f"{POD}.dnsPolicy": "cluster"}, D),
    ({f"{POD}.serviceAccountName": "a.b"}, A), ({f"{POD}.serviceAccountName": "A"}, D), ({f"{POD}.nodeName": "N"}, D),
    ({f"{POD}.hostname": "h"}, A), ({f"{POD}.hostname": "h.x"}, D), ({f"{POD}.activeDeadlineSeconds": 0}, D),
    ({f"{POD}.activeDeadlineSeconds": 1}, A), ({f"{POD}.preemptionPolicy": "Never"}, A), ({f"{POD}.preemptionPolicy": "no"}, D),
    ({f"{POD}.ephemeralContainers": [{"name": "e", "image": "a"}]}, D), ({f"{POD}.hostAliases": [{"ip": "1.2.3.4"}]}, A),
    ({f"{POD}.hostAliases": [{"ip": "host"}]}, D), ({f"{POD}.schedulingGates": [{"name": "a"}, {"name": "a"}]}, D),
    ({f"{POD}.schedulingGates": [{"name": "a/b"}]}, A), ({"spec.tasks.0.template.metadata": {"labels": {"a": "b"}}}, A),
    ({"spec.tasks.0.template.metadata": {"labels": {"a b": "c"}}}, D), ({"spec.tasks.0.template.metadata": {"creator": 1}}, D),
    # containers
    ({f"{POD}.containers": container(name="<none>")}, D), ({f"{POD}.containers": [{"name": "c"}]}, D),
    ({f"{POD}.containers": container(image="")}, D), ({f"{POD}.containers": container(image=" a")}, D),
    ({f"{POD}.containers": [{"image": "a"}]}, D), ({f"{MAIN}.imagePullPolicy": "Never"}, A), ({f"{MAIN}.imagePullPolicy": "no"}, D),
    ({f"{POD}.initContainers": [{"name": "main", "image": "a"}]}, D), ({f"{POD}.initContainers": [{"name": "i", "image": "a"}]}, A),
    ({f"{POD}.initContainers": container(restartPolicy="Always", startupProbe={"tcpSocket": {"port": 1}})}, A),
    ({f"{POD}.initContainers": container(startupProbe={"tcpSocket": {"port": 1}})}, D),
    ({f"{POD}.initContainers": container(restartPolicy="Sometimes")}, D), ({f"{MAIN}.command": ["a", 1]}, D),
    ({f"{MAIN}.terminationMessagePolicy": "File"}, A), ({f"{MAIN}.terminationMessagePolicy": "Log"}, D),
    ({f"{MAIN}.ports": [{"containerPort": 65535}]}, A), ({f"{MAIN}.ports": [{"containerPort": 0}]}, D),
    ({f"{MAIN}.ports": [{"containerPort": 1, "name": "http"}, {"containerPort": 2, "name": "http"}]}, D),
    ({f"{MAIN}.ports": [{"containerPort": 1, "name": "a-very-long-name"}]}, D), ({f"{MAIN}.ports": [{"containerPort": 1, "name": "80"}]}, D),
    ({f"{MAIN}.ports": [{"containerPort": 1, "protocol": "SCTP"}]}, A), ({f"{MAIN}.ports": [{"containerPort": 1, "protocol": "ICMP"}]}, D),
    ({f"{MAIN}.ports": [{"containerPort": 1, "hostPort": 2}]}, A),
    ({f"{MAIN}.ports": [{"containerPort": 1, "hostPort": 2}], f"{POD}.hostNetwork": True}, D),
    ({f"{MAIN}.ports": [{"containerPort": 1, "hostPort": 9}, {"containerPort": 2, "hostPort": 9}]}, D),
    # environment
    ({f"{MAIN}.env": [{"name": "1A", "value": "x"}]}, D), ({f"{MAIN}.env": [{"name": ".a-B_1"}]}, A), ({f"{MAIN}.env": [{"value": "x"}]}, D),
    ({f"{MAIN}.env": [{"name": "A", "value": True}]}, D), ({f"{MAIN}.env": [{"name": "A", "valueFrom": {}}]}, D),
    ({f"{MAIN}.env": [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}}}]}, A),
    ({f"{MAIN}.env": [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "c"}}}]}, D),
    ({f"{MAIN}.env": [{"name": "A", "valueFrom": {"secretKeyRef": {"key": "k"}}}]}, D),
    ({f"{MAIN}.env": [{"name": "A", "value": "x", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]}, D),
    ({f"{MAIN}.env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels"}}}]}, D),
    ({f"{MAIN}.env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.annotations['a/b']"}}}]}, A),
    ({f"{MAIN}.env": [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}}]}, A),
    ({f"{MAIN}.env": [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.memory", "divisor": "1m"}}}]}, D),
    ({f"{MAIN}.env": [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.gpu"}}}]}, D),
    ({f"{MAIN}.envFrom": [{"configMapRef": {"name": "c"}}]}, A), ({f"{MAIN}.envFrom": [{}]}, D), ({f"{MAIN}.envFrom": [{"secretRef": {}}]}, D),
    # volumes
    ({f"{POD}.volumes": [VOLUME]}, A), ({f"{POD}.volumes": [VOLUME, VOLUME]}, D), ({f"{POD}.volumes": [{"name": "v"}]}, A),
    ({f"{POD}.volumes": [{"name": "V"}]}, D), ({f"{POD}.volumes": [{"name": "v", "emptyDir": {}, "hostPath": {"path": "/"}}]}, D),
    ({f"{POD}.volumes": [{"name": "v", "emptyDir": {"medium": "Disk"}}]}, D), ({f"{POD}.volumes": [{"name": "v", "hostPath": {}}]}, D),
    ({f"{POD}.volumes": [{"name": "v", "emptyDir": {"sizeLimit": "-1"}}]}, D), ({f"{POD}.volumes": [{"name": "v", "hostPath": {"path": "/a"}}]}, A),
    ({f"{POD}.volumes": [{"name": "v", "hostPath": {"path": "/a", "type": "Folder"}}]}, D), ({f"{POD}.volumes": [{"name": "v", "secret": {}}]}, D),
    ({f"{POD}.volumes": [{"name": "v", "hostPath": {"path": "/a/../b"}}]}, D), ({f"{POD}.volumes": [{"name": "v", "configMap": {"name": "c"}}]}, A),
    ({f"{POD}.volumes": [{"name": "v", "persistentVolumeClaim": {}}]}, D), ({f"{POD}.volumes": [{"name": "v", "nfs": {"server": "s", "path": "p"}}]}, D),
    ({f"{POD}.volumes": [{"name": "v", "secret": {"secretName": "s", "defaultMode": 511}}]}, A),
    ({f"{POD}.volumes": [{"name": "v", "secret": {"secretName": "s", "defaultMode": 512}}]}, D),
    ({f"{POD}.volumes": [{"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}]}, A),
    ({f"{POD}.volumes": [{"name": "v", "projected": {"sources": [{}]}}]}, D),
    ({f"{POD}.volumes": [{"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": {"accessModes": ["ReadWriteOnce"],
      "resources": {"requests": {"storage": "1Gi"}}}}}}]}, A),
    ({f"{POD}.volumes": [{"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": {"accessModes": ["ReadWriteOnce"]}}}}]}, D),
    ({f"{POD}.volumes": [VOLUME], f"{MAIN}.volumeMounts": [{"name": "v", "mountPath": "/a"}]}, A),
    ({f"{POD}.volumes": [VOLUME], f"{MAIN}.volumeMounts": [{"name": "v"}]}, D),
    ({f"{POD}.volumes": [VOLUME], f"{MAIN}.volumeMounts": [{"name": "v", "mountPath": "/a"}, {"name": "v", "mountPath": "/a"}]}, D),
    ({f"{POD}.volumes": [VOLUME], f"{MAIN}.volumeMounts": [{"name": "v", "mountPath": "/a", "subPath": "../b"}]}, D),
    ({f"{POD}.volumes": [VOLUME], f"{MAIN}.volumeMounts": [{"name": "v", "mountPath": "/a", "subPath": "b/c"}]}, A),
    # resources
    ({f"{MAIN}.resources": {"limits": {"cpu": 0.5}}}, A), ({f"{MAIN}.resources": {"limits": {"cpu": "-1"}}}, D),
    ({f"{MAIN}.resources": {"limits": {"gpu": 1}}}, D), ({f"{MAIN}.resources": {"limits": {"example.com/gpu": 1}}}, A),
    ({f"{MAIN}.resources": {"limits": {"example.com/gpu": "1500m"}}}, D), ({f"{MAIN}.resources": {"limits": {"example.com/gpu": "2000m"}}}, A),
    ({f"{MAIN}.resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "2000m"}}}, A), ({f"{MAIN}.resources": {"limits": {"pods": 1}}}, D),
    ({f"{MAIN}.resources": {"requests": {"memory": "2Gi"}, "limits": {"memory": "2048Mi"}}}, A),
    ({f"{MAIN}.resources": {"requests": {"memory": "2Gi"}, "limits": {"memory": "2G"}}}, D), ({f"{MAIN}.resources": {"limits": {"cpu": "1e3"}}}, A),
    ({f"{MAIN}.resources": {"requests": {"nvidia.com/gpu": 1}, "limits": {"nvidia.com/gpu": "1"}}}, A),
    ({f"{MAIN}.resources": {"limits": {"hugepages-2Mi": "4Mi", "cpu": 1}}}, A), ({f"{MAIN}.resources": {"limits": {"hugepages-2Mi": "4Mi"}}}, D),
    ({f"{MAIN}.resources": {"limits": {"hugepages-2Mi": "3Mi", "cpu": 1}}}, D), ({f"{MAIN}.resources": {"limits": {"memory": "1 Gi"}}}, D),
    # probes and hooks
    (handler(), A), (handler(tcpSocket={"port": 0}), D), (handler(tcpSocket={"port": "http"}), A), (handler(tcpSocket={"port": "80"}), D),
    (handler(periodSeconds=-1), D), (handler(successThreshold=1), A), (handler(successThreshold=2), D), (handler(exec={"command": ["a"]}), D),
    ({f"{MAIN}.readinessProbe": {"tcpSocket": {"port": 1}, "successThreshold": 2}}, A),
    ({f"{MAIN}.lifecycle": {"preStop": {"exec": {"command": ["a"]}}}}, A), ({f"{MAIN}.lifecycle": {"preStop": {}}}, D),
    ({f"{MAIN}.lifecycle": {"preStop": {"sleep": {"seconds": 5}}}}, A), ({f"{MAIN}.lifecycle": {"preStop": {"sleep": {"seconds": 31}}}}, D),
    # scheduling
    ({f"{POD}.nodeSelector": {"gpu": "a"}}, A), ({f"{POD}.nodeSelector": {"g pu": "a"}}, D), ({f"{POD}.tolerations": [{"operator": "Exists"}]}, A),
    ({f"{POD}.tolerations": [{}]}, D), ({f"{POD}.tolerations": [{"key": "a", "value": "b"}]}, A), ({f"{POD}.tolerations": [{"key": "a", "operator": "In"}]}, D),
    ({f"{POD}.tolerations": [{"key": "a", "effect": "NoExecute", "tolerationSeconds": 5}]}, A),
    ({f"{POD}.tolerations": [{"key": "a", "effect": "NoSchedule", "tolerationSeconds": 5}]}, D),
    ({f"{POD}.tolerations": [{"key": "a", "effect": "Never"}]}, D), (affinity(operator="In", values=["a"]), A), (affinity(operator="In"), D),
    (affinity(operator="Exists"), A), (affinity(operator="Exists", values=["a"]), D), (affinity(operator="Gt", values=["1"]), A),
    (affinity(operator="Is", values=["a"]), D), (affinity(operator="In", values=["a b"]), D),
    ({f"{POD}.affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone"}]}}}, A),
    ({f"{POD}.affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{}]}}}, D),
    ({f"{POD}.affinity": {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
        {"weight": 101, "podAffinityTerm": {"topologyKey": "zone"}}]}}}, D),
    ({f"{POD}.topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "ScheduleAnyway"}]}, A),
    ({f"{POD}.topologySpreadConstraints": [{"maxSkew": 0, "topologyKey": "z", "whenUnsatisfiable": "ScheduleAnyway"}]}, D),
    # security
    ({f"{POD}.securityContext": {"runAsUser": 0}}, A), ({f"{POD}.securityContext": {"seccompProfile": {"type": "Localhost"}}}, D),
    ({f"{MAIN}.securityContext": {"privileged": True}}, A), ({f"{POD}.hostPID": True, f"{POD}.shareProcessNamespace": True}, D),
    ({f"{MAIN}.securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"add": ["CAP_SYS_ADMIN"]}}}, D),
    ({f"{POD}.securityContext": {"sysctls": [{"name": "net.core.somaxconn", "value": "9"}]}}, A),
    ({f"{POD}.securityContext": {"sysctls": [{"name": "net.core.somaxconn", "value": "9"}]}, f"{POD}.hostNetwork": True}, D),
]  # fmt: skip
EXACT = {"exactMatch": {"name": "n0"}}
KIND_EDGES = [
    ("Queue", {"spec": "<remove>"}, D), ("Queue", {"spec.weight": "<remove>"}, A), ("Queue", {"spec.weight": 65535}, A),
    ("Queue", {"spec.parent": "it"}, D), ("Queue", {"spec.parent": "shut"}, A), ("Queue", {"spec.parent": "nope"}, D),
    ("Queue", {"spec.parent": "parent", "spec.deserved": {"cpu": "30"}}, A), ("Queue", {"spec.parent": "parent", "spec.capability": {"cpu": "101"}}, D),
    ("Queue", {"spec.parent": "parent", "spec.deserved": {"memory": "1Gi"}}, D), ("Queue", {"spec.parent": "child", "spec.capability": {"cpu": "101"}}, D),
    ("Queue", {"spec.deserved": {"cpu": 6}, "spec.guarantee": {"resource": {"cpu": "6000m"}}}, A), ("Queue", {"spec.capability": {"cpu": 0.5}}, D),
    ("Queue", {"spec.capability": {"cpu": "-1"}}, D), ("Queue", {"spec.guarantee": {"resource": {"cpu": 1}}}, D), ("Queue", {"metadata.name": "default"}, D),
    ("Queue", {"metadata.annotations": {"volcano.sh/hierarchy": "root/a", "volcano.sh/hierarchy-weights": "1/2"}}, A),
    ("Queue", {"metadata.annotations": {"volcano.sh/hierarchy": "root/a", "volcano.sh/hierarchy-weights": "1/0"}}, D),
    ("PodGroup", {"spec.queue": "shut"}, D), ("PodGroup", {"spec.networkTopology": {"highestTierAllowed": 1, "highestTierName": "rack"}}, D),
    ("PodGroup", {"spec.networkTopology": {"mode": "hard"}}, R), ("PodGroup", {"spec.minMember": 0}, A),
    ("HyperNode", {"spec.members.0.selector": "<remove>"}, R), ("HyperNode", {"spec.members": []}, D), ("HyperNode", {"spec.members": "<remove>"}, D),
    ("HyperNode", {"spec.members.0.selector": {"regexMatch": {"pattern": "n[0-9"}}}, D), ("HyperNode", {"spec.members.0.type": "<remove>"}, D),
    ("HyperNode", {"spec.members.0.selector": {"labelMatch": {"matchLabels": {}}}}, R), ("HyperNode", {"spec.members.0.selector": {"regexMatch": {}}}, D),
    ("HyperNode", {"spec.members.0": {"type": "HyperNode", "selector": {"exactMatch": {"name": "it"}}}}, R),
    ("HyperNode", {"spec.members": [{"type": "Node", "selector": EXACT}, {"type": "Node", "selector": {"exactMatch": {"name": "n1"}}}]}, A),
    ("HyperNode", {"spec.members": [{"type": "Node", "selector": EXACT}, {"type": "Node", "selector": EXACT}]}, R),
    ("HyperNode", {"spec.members": [{"type": "Node", "selector": EXACT}, {"type": "HyperNode", "selector": EXACT}]}, R),
    ("JobFlow", {"spec.flows.0.dependsOn": {"targets": ["b"]}}, D), ("JobFlow", {"spec.flows.1.dependsOn.targets": ["b"]}, D),
    ("JobFlow", {"spec.flows.0.name": ""}, D), ("JobFlow", {"spec.jobRetainPolicy": "keep"}, D), ("JobFlow", {"spec.jobRetainPolicy": "retain"}, A),
    ("JobTemplate", {"spec.policies": [{"event": "PodRunning", "action": "RestartJob"}]}, A), ("JobTemplate", {"spec.tasks": []}, D),
    ("CronJob", {"spec.schedule": "@daily"}, A), ("CronJob", {"spec.schedule": "0 3 * * 7"}, D), ("CronJob", {"spec.schedule": "*/15 0-6 1,15 jan mon-fri"}, A),
    ("CronJob", {"spec.schedule": "TZ=UTC 0 3 * * *"}, D), ("CronJob", {"spec.timeZone": "Etc/UTC"}, A), ("CronJob", {"spec.timeZone": "Mars/One"}, D),
    ("CronJob", {"metadata.name": "c" * 52}, A), ("CronJob", {"metadata.name": "c" * 53}, D), ("CronJob", {"spec.concurrencyPolicy": "Never"}, D),
    ("HyperJob", {"spec.replicatedJobs": []}, R), ("HyperJob", {"spec.replicatedJobs.0.replicas": 0}, R), ("HyperJob", {"spec.minAvailable": 1}, A),
    ("HyperJob", {"spec.minAvailable": 2}, R), ("HyperJob", {"spec.replicatedJobs.0.clusterNames": ["m2"]}, R), ("HyperJob", {"spec.replicatedJobs.0.clusterNames": []}, A),
    ("HyperJob", {"metadata.name": "h" * 46}, A), ("HyperJob", {"metadata.name": "h" * 47}, R), ("HyperJob", {"metadata.name": "a.b"}, R),
    ("HyperJob", {"spec.replicatedJobs.0.templateSpec": "<remove>"}, D), ("HyperJob", {"spec.replicatedJobs.0.templateSpec.tasks": []}, R),
    ("HyperJob", {"spec.replicatedJobs.0.templateSpec.queue": "nope"}, R), ("HyperJob", {"spec.replicatedJobs.0.splitPolicy": {"mode": "best"}}, D),
    ("HyperJob", {"spec.replicatedJobs.0.templateSpec.networkTopology": {"mode": "hard"}}, R),
    ("HyperJob", {"spec.replicatedJobs.0.templateSpec.networkTopology": {"mode": "soft"}}, A),
    ("HyperJob", {"spec.replicatedJobs.0.templateSpec.networkTopology": {"mode": "hard", "highestTierAllowed": 1}}, A),
    ("HyperJob", {"spec.replicatedJobs.0.templateSpec.tasks.0.template.spec.restartPolicy": "Always"}, R),
    ("PropagationPolicy", {"spec.resourceSelectors": []}, D), ("PropagationPolicy", {"spec.resourceSelectors": "<remove>"}, D),
    ("PropagationPolicy", {"spec.resourceSelectors.0.kind": "<remove>"}, R), ("PropagationPolicy", {"spec.resourceSelectors.0.namespace": "<remove>"}, A),
    ("PropagationPolicy", {"spec.placement.clusterAffinity.clusterNames": ["m9"]}, R), ("PropagationPolicy", {"spec.preemption": "Always"}, A),
    ("PropagationPolicy", {"spec.preemption": "Always", "spec.resourceSelectors.0.name": "<remove>"}, D),
    ("PropagationPolicy", spread({"spreadByField": "region"}, {"spreadByField": "cluster"}), A), ("PropagationPolicy", spread({"spreadByField": "zone"}), D),
    ("PropagationPolicy", spread({"spreadByField": "cluster", "minGroups": 2, "maxGroups": 1}), D), ("PropagationPolicy", spread({"spreadByLabel": "x"}), A),
    ("PropagationPolicy", spread({"spreadByField": "cluster", "spreadByLabel": "x"}), D), ("PropagationPolicy", spread({"maxGroups": -1}), D),
    ("PropagationPolicy", spread({"spreadByField": "cluster", "maxGroups": 0}), R), ("PropagationPolicy", spread({"spreadByField": "rack"}), D),
    ("PropagationPolicy", {"spec.placement.replicaScheduling": {}}, R), ("PropagationPolicy", {"spec.placement.replicaScheduling": {"replicaSchedulingType": "Duplicated"}}, A),
    ("PropagationPolicy", {"spec.placement.clusterTolerations": [{"key": "a", "operator": "Exists", "value": "b"}]}, D),
    ("PropagationPolicy", {"spec.propagateDeps": True, "spec.failover": {"application": {"decisionConditions": {}, "purgeMode": "Never"}}}, A),
    ("PropagationPolicy", {"spec.propagateDeps": True, "spec.failover": {"application": {"decisionConditions": {}}}}, R),
    ("PropagationPolicy", {"spec.propagateDeps": True, "spec.failover": {"application": {"decisionConditions": {}, "purgeMode": "Gracefully", "gracePeriodSeconds": 0}}}, D),
    ("PropagationPolicy", {"spec.suspension": {"dispatching": False, "dispatchingOnClusters": {"clusterNames": ["m1"]}}}, A),
    ("ClusterPropagationPolicy", {"spec.resourceSelectors.0.namespace": "other"}, A), ("ClusterPropagationPolicy", {"spec.foo": 1}, D),
    ("OverridePolicy", {"spec.overrideRules.0.overriders": {"plaintext": [{"path": "/a", "operator": "remove"}]}}, A),
    ("OverridePolicy", {"spec.overrideRules.0.overriders": {"imageOverrider": [{"component": "Tag", "operator": "replace", "predicate": {"path": "a"}}]}}, D),
    ("OverridePolicy", {"spec.overrideRules.0.overriders": {"labelsOverrider": [{"operator": "add", "value": {"a": "b c"}}]}}, D),
    ("OverridePolicy", {"spec.overrideRules.0.overriders": {"fieldOverrider": [{"fieldPath": "/d", "json": [{"subPath": "/a", "operator": "add", "value": 1}]}]}}, A),
    ("OverridePolicy", {"spec.overrideRules.0.overriders": {"fieldOverrider": [{"fieldPath": "/d", "json": [{"subPath": "/a", "operator": "add"}]}]}}, D),
    ("ClusterOverridePolicy", {"spec.overrideRules.0.overriders.plaintext.0.path": "a"}, R), ("ClusterOverridePolicy", {"spec.overrideRules": "<remove>"}, A),
    ("MultiClusterService", {"spec.types": []}, R), ("MultiClusterService", {"spec.types": ["LoadBalancer"]}, A), ("MultiClusterService", {"spec.ports": [{"port": 0}]}, D),
    ("FederatedResourceQuota", {"spec.overall.cpu": "-1"}, D), ("FederatedResourceQuota", {"spec.staticAssignments": [{"clusterName": "m1", "hard": {"cpu": 10}}]}, A),
    ("WorkloadRebalancer", {"spec.workloads": []}, D), ("WorkloadRebalancer", {"spec.workloads.0.name": "<remove>"}, D), ("WorkloadRebalancer", {"spec.foo": 1}, D),
    ("Cluster", {"metadata.name": "c" * 48}, A), ("Cluster", {"metadata.name": "c" * 49}, D), ("Cluster", {"spec.syncMode": "pull"}, D), ("Cluster", {"spec.foo": 1}, D),
    ("Cluster", models(("0", "8"), ("8", LAST)), A), ("Cluster", models(("0", "8"), ("9", LAST)), D), ("Cluster", models(("0", "8")), D), ("Cluster", models(("1", LAST)), D),
    ("DataSourceClaim", {"spec.system": "<remove>"}, D), ("DataSourceClaim", {"spec.workload.name": "<remove>"}, D), ("DataSourceClaim", {"spec.attributes": {"a": 1}}, D),
]  # fmt: skip


def _ids(rows):
    return [f"{number}-{row[-1]}" for number, row in enumerate(rows)]


@pytest.mark.parametrize(("changes", "verdict"), JOB_EDGES, ids=_ids(JOB_EDGES))
def test_a_member_judges_vcjobs(verdict_on, changes, verdict):
    found = verdict_on("Job", changes, server="member")
    assert (found.verdict, changes) == (verdict, changes), found.problems


@pytest.mark.parametrize(("changes", "verdict"), POD_EDGES, ids=_ids(POD_EDGES))
def test_a_member_judges_pod_templates_as_kubernetes_does(verdict_on, changes, verdict):
    found = verdict_on("Job", changes, server="member")
    assert (found.verdict, changes) == (verdict, changes), found.problems


@pytest.mark.parametrize(("kind", "changes", "verdict"), KIND_EDGES, ids=_ids(KIND_EDGES))
def test_other_kinds(verdict_on, kind, changes, verdict):
    found = verdict_on(kind, changes)
    assert (found.verdict, kind, changes) == (verdict, kind, changes), found.problems


PLANE_EDGES = [
    ({"spec.networkTopology": {"highestTierName": "row", "highestTierAllowed": 1}}, A),
    ({"spec.tasks.0.partitionPolicy": {**PARTS, "partitionSize": 2}}, A),
    ({"spec.tasks.0.partitionPolicy": {**PARTS, "partitionSize": 3}}, R),
    ({"spec.policies": [{"event": "PodFailed", "action": "RestartPartition"}]}, D),
    ({"spec.tasks": TWO_TASKS, "spec.plugins": {"mpi": ["--worker=none"]}}, D),
    ({"spec.queue": "shut"}, D),
]


@pytest.mark.parametrize(("changes", "verdict"), PLANE_EDGES, ids=_ids(PLANE_EDGES))
def test_the_planes_older_webhook_judges_differently(verdict_on, changes, verdict):
    assert verdict_on("Job", changes, server="plane").verdict == verdict


LIVE = {"spec.minAvailable": 8, "spec.maxRetry": 3, "spec.tasks.0.minAvailable": 8, "spec.tasks.0.maxRetry": 3}
UPDATES = [
    ({}, A), ({"spec.tasks.0.replicas": 9}, A), ({"spec.tasks.0.replicas": 7}, D), ({"spec.minAvailable": 9}, D),
    ({"spec.tasks.0.replicas": 7, "spec.tasks.0.minAvailable": 7, "spec.minAvailable": 7}, A),
    ({"spec.priorityClassName": "high"}, A), ({"metadata.labels": {"a": "b"}}, A), ({"spec.queue": "child"}, D),
    ({"spec.maxRetry": 4}, D), ({f"{MAIN}.resources.limits.cpu": "1000m"}, A), ({f"{MAIN}.resources.limits.cpu": "2"}, D),
    ({"spec.tasks.0.policies": []}, A), ({f"{POD}.nodeSelector": {"a": "b"}}, D), ({"spec.tasks": TWO_TASKS}, D),
    ({"spec.plugins": {"svc": []}}, D), ({"spec.schedulerName": "other"}, D), ({"spec.tasks.0.name": "other"}, D),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "verdict"), UPDATES, ids=_ids(UPDATES))
def test_a_running_vcjob_takes_few_changes(verdict_on, changes, verdict):
    assert verdict_on("Job", {**LIVE, **changes}, old=LIVE).verdict == verdict


def test_other_updates(verdict_on):
    policy, service, queue = "PropagationPolicy", "MultiClusterService", "Queue"
    assert verdict_on(policy, {"spec.schedulerName": "mine"}, old={}).verdict == D
    assert verdict_on(policy, {"spec.priority": 9}, old={}).verdict == A
    assert verdict_on(service, {"spec.types": ["LoadBalancer"]}, old={}).verdict == D
    assert verdict_on(queue, {"spec.weight": 2}, old={}).verdict == A
    named = {"metadata.name": "parent", "spec.deserved": {"cpu": "50"}}
    assert verdict_on(queue, {**named, "spec.capability": {"cpu": "60"}}, old=named).verdict == A
    assert verdict_on(queue, {"metadata.name": "root", "spec.weight": 2}, old={"metadata.name": "root"}).verdict == D
    assert verdict_on("PodGroup", {"spec.queue": "shut"}, old={}).verdict == A
