"""PodGroup, HyperNode, JobFlow, CronJob and JobTemplate on a member.

Source: volcano pkg/webhooks/admission/{podgroups,hypernodes,jobflows,cronjobs}/validate at ed72c7c81, and recordings of
2026-11-30.
"""

from collections.abc import Iterator

from hyperflow.admission.names import qualified_name
from hyperflow.admission.problem import Path, Problem, denial, risk
from hyperflow.admission.rules.case import Case
from hyperflow.admission.rules.cron import is_cron
from hyperflow.admission.rules.job_view import entries
from hyperflow.admission.rules.topology_risks import topology_risks
from hyperflow.admission.state import is_open
from hyperflow.errors import nearest
from hyperflow.json_tree import dig, mapping, sequence, text
from hyperflow.k8s.go_regex import compile_go_regex
from hyperflow.k8s.go_regex_parser import GoRegexError

_POD_GROUP = "the webhook validatepodgroup.volcano.sh"
_HYPERNODE = "the webhook validatehypernodes.volcano.sh"
_JOB_FLOW = "the webhook validatejobflow.volcano.sh"
_CRON_JOB = "the webhook validatecronjob.volcano.sh"
_LABEL_OPERATORS = ("DoesNotExist", "Exists", "In", "NotIn")
_MAX_CRON_NAME = 52


def pod_group_queue(case: Case) -> Iterator[Problem]:
    """Deny a new PodGroup whose queue is absent or not open."""
    name = text(case.spec.get("queue"))
    if not name or case.old is not None:
        return
    found = case.state.queue(name)
    if found is None and case.state.knows("scheduling.volcano.sh", "Queue"):
        yield denial("HF843", "pod-group-queue", ("spec", "queue"), f"there is no queue {name}", _POD_GROUP, got=name,
                     expected="a queue that exists", hint="create the queue first")  # fmt: skip
    elif found is not None and not is_open(found):
        yield denial("HF843", "pod-group-queue", ("spec", "queue"), f"the queue {name} is not open", _POD_GROUP,
                     got=name,
                     expected="an open queue", hint="open it or use another")  # fmt: skip


def pod_group_topology(case: Case) -> Iterator[Problem]:
    """Deny a tier number and a tier name at once; warn of topologies without effect."""
    places: list[tuple[Path, object]] = [(("spec", "networkTopology"), case.posted_spec.get("networkTopology"))]
    for index, group in entries(case.posted_spec.get("subGroupPolicy")):
        places.append((("spec", "subGroupPolicy", index, "networkTopology"), group.get("networkTopology")))
    for path, tree in places:
        both = mapping(tree)
        if "highestTierAllowed" in both and text(both.get("highestTierName")):
            yield denial("HF843", "pod-group-tier", (*path, "highestTierName"),
                         "highestTierAllowed and highestTierName exclude each other", _POD_GROUP,
                         got=both["highestTierName"], expected="one of the two",
                         hint="keep highestTierAllowed")  # fmt: skip
        yield from topology_risks(path, tree, case.state)


def hypernode_members(case: Case) -> Iterator[Problem]:
    """Deny a HyperNode without members, and a pattern that Go cannot compile."""
    if "members" not in case.spec:
        yield denial("HF844", "hypernode-members", ("spec", "members"), "a HyperNode needs a member", _HYPERNODE,
                     expected="at least one member", hint="add a member")  # fmt: skip
    for index, member in entries(case.spec.get("members")):
        pattern = dig(member, "selector", "regexMatch", "pattern")
        if isinstance(pattern, str) and pattern and not is_re2(pattern):
            yield denial("HF844", "hypernode-regex", ("spec", "members", index, "selector", "regexMatch", "pattern"),
                         "Go cannot compile the pattern", _HYPERNODE, got=pattern,
                         expected="RE2 syntax, without look-around and back references",
                         hint="write it in RE2")  # fmt: skip


def is_re2(pattern: str) -> bool:
    """Say whether Go's regexp compiles a pattern."""
    try:
        compile_go_regex(pattern)
    except GoRegexError:
        return False
    return True


def hypernode_risks(case: Case) -> Iterator[Problem]:
    """Warn of members that match nothing, match themselves, stand twice or mix nodes with HyperNodes."""
    seen: dict[str, int] = {}
    types: dict[str, int] = {}
    for index, member in entries(case.spec.get("members")):
        path = ("spec", "members", index)
        selector, kind = mapping(member.get("selector")), text(member.get("type"))
        exact = text(dig(selector, "exactMatch", "name"))
        if "selector" not in case_member(case, index):
            yield risk("HF868", "member-selector", (*path, "selector"), "a member without a selector holds no node",
                       expected="exactMatch, regexMatch or labelMatch", hint="add the selector")  # fmt: skip
        if kind == "HyperNode" and ("labelMatch" in selector or "regexMatch" in selector):
            yield risk("HF868", "hypernode-selector", (*path, "selector"), "HyperNodes are found by exactMatch alone",
                       got=sorted(selector), expected="exactMatch",
                       hint="write one member for each HyperNode")  # fmt: skip
        if kind == "HyperNode" and exact and exact == case.name:
            yield risk("HF868", "own-member", (*path, "selector", "exactMatch", "name"),
                       "a HyperNode inside itself stops every hard job of the cluster", got=exact,
                       expected="another HyperNode", hint="take the member out")  # fmt: skip
        key = repr((kind, selector))
        if key in seen and selector:
            yield risk("HF868", "member-twice", path, f"the member stands at {seen[key]} too: its nodes count twice",
                       got=selector, expected="each member once", hint="remove one")  # fmt: skip
        seen.setdefault(key, index)
        types.setdefault(kind, index)
        yield from _label_match((*path, "selector", "labelMatch"), selector.get("labelMatch"))
    if len(types) > 1:
        yield risk("HF868", "mixed-members", ("spec", "members", max(types.values())),
                   "nodes beside HyperNodes: the tree is not what it seems", got=sorted(types),
                   expected="members of one type", hint="put the nodes into a HyperNode of their own")  # fmt: skip


def case_member(case: Case, index: int) -> dict[str, object]:
    """Give a member as it was written."""
    return mapping(dig(case.posted_spec, "members", index))


def _label_match(path: Path, match: object) -> Iterator[Problem]:
    if match is None:
        return
    labels, rules = mapping(mapping(match).get("matchLabels")), entries(mapping(match).get("matchExpressions"))
    if not labels and not rules:
        yield risk("HF868", "label-match-empty", path, "an empty label selector", got=mapping(match),
                   expected="matchLabels or matchExpressions", hint="name a label")  # fmt: skip
    yield from odd_operators(path, rules, "HF868")


def odd_operators(path: Path, rules: list[tuple[int, dict[str, object]]], code: str) -> Iterator[Problem]:
    """Warn of label operators that do not exist: the selector then matches nothing."""
    for index, rule in rules:
        operator = text(rule.get("operator"))
        values = sequence(rule.get("values"))
        if operator not in _LABEL_OPERATORS or (operator in ("In", "NotIn")) != bool(values):
            yield risk(code, "label-operator", (*path, "matchExpressions", index, "operator"),
                       "no such label selector: it matches nothing", got=operator,
                       expected="In or NotIn with values, Exists or DoesNotExist without",
                       hint=nearest(operator, _LABEL_OPERATORS))  # fmt: skip


def job_flow_order(case: Case) -> Iterator[Problem]:
    """Deny flows that wait for themselves, for each other, or for a flow that is not there."""
    flows = entries(case.spec.get("flows"))
    waits = {text(f.get("name")): [text(t) for t in sequence(dig(f, "dependsOn", "targets"))] for _, f in flows}
    done: set[str] = set()
    while ready := {name for name, targets in waits.items() if name not in done and done.issuperset(targets)}:
        done |= ready
    for index, flow in flows:
        name, path = text(flow.get("name")), ("spec", "flows", index, "dependsOn", "targets")
        for number, target in enumerate(waits[name]):
            if target not in waits:
                yield denial("HF845", "flow-target", (*path, number), f"there is no flow {target}", _JOB_FLOW,
                             got=target,
                             expected="the name of another flow", hint=nearest(target, waits))  # fmt: skip
        if name not in done and all(target in waits for target in waits[name]):
            yield denial("HF845", "flow-order", path, f"the flow {name} waits for itself, directly or through others",
                         _JOB_FLOW, got=waits[name], expected="an order without a circle",
                         hint="take one of the waits out")  # fmt: skip


def cron_job(case: Case) -> Iterator[Problem]:
    """Deny a schedule that is no cron line, a time zone that does not exist, and a name too long for its jobs."""
    schedule, zone = case.spec.get("schedule"), case.spec.get("timeZone")
    if isinstance(schedule, str) and ("TZ" in schedule or not is_cron(schedule)):
        yield denial("HF846", "schedule", ("spec", "schedule"), "no cron schedule", _CRON_JOB, got=schedule,
                     expected="minute hour day month weekday; the zone goes into timeZone",
                     hint='such as "0 3 * * *"')  # fmt: skip
    if isinstance(zone, str) and not _is_zone(zone):
        yield denial("HF846", "time-zone", ("spec", "timeZone"), "no such time zone", _CRON_JOB, got=zone,
                     expected="an IANA name", hint="such as Asia/Shanghai or Etc/UTC")  # fmt: skip
    if len(case.name) > _MAX_CRON_NAME or (case.name and qualified_name(case.name)):
        yield denial("HF846", "cron-name", ("metadata", "name"), f"{len(case.name)} characters are too many", _CRON_JOB,
                     got=case.name, expected=f"at most {_MAX_CRON_NAME}", hint="shorten the name")  # fmt: skip


def _is_zone(zone: str) -> bool:
    import zoneinfo

    if not zone or zone.lower() == "local":
        return False
    try:
        zoneinfo.ZoneInfo(zone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


POD_GROUP_RULES = (pod_group_queue, pod_group_topology)
HYPERNODE_RULES = (hypernode_members, hypernode_risks)
JOB_FLOW_RULES = (job_flow_order,)
CRON_JOB_RULES = (cron_job,)
