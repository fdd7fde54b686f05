import pytest

from hyperflow.errors import InputError


def _text(read, node, hypernodes, code, nodes=("n1", "n2", "n3", "n4")):
    _, findings = read([*(node(name) for name in nodes), *hypernodes])
    return findings[code].as_text()


def _refused(read, objects):
    with pytest.raises(InputError) as caught:
        read(objects)
    return str(caught.value)


def test_a_sound_tree_of_all_selector_kinds_is_read_without_a_word(read, node, hypernode):
    nodes = [
        *(node(f"a{i}", {"nvidia.com/gpu.product": "NVIDIA-H200", "rack": "a"}) for i in range(4)),
        *(node(f"b{i}") for i in range(3)),
        node("c"),
    ]
    tree = [
        hypernode("rack-a", 1, [{"labelMatch": {"matchLabels": {"rack": "a"}}}], "rack"),
        hypernode("rack-b", 1, [{"regexMatch": {"pattern": "^b[0-2]$"}}], "rack"),
        hypernode("rack-c", 1, ["c"], "rack"),
        hypernode("row", 2, ["@rack-a", "@rack-b", "@rack-c"], "row"),
    ]
    fleet, findings = read([*nodes, *tree])
    assert [(t.tier, t.name, t.domain_nodes) for t in fleet.clusters[0].tiers] == [
        (1, "rack", (4, 3, 1)),
        (2, "row", (8,)),
    ]
    assert set(findings) == {"HF347"}  # no pods were given


def test_tiers_count_usable_nodes_only(read, node, hypernode):
    nodes = [node("n1"), node("n2", spec={"unschedulable": True})]
    fleet, _ = read([*nodes, hypernode("rack", 1, ["n1", "n2"])])
    assert fleet.clusters[0].tiers[0].domain_nodes == (1,)


def test_two_parents_are_an_error_that_names_the_harm(read, node, hypernode):
    tree = [
        hypernode("rack", 1, ["n1", "n2", "n3", "n4"]),
        hypernode("row-a", 2, ["@rack"]),
        hypernode("row-b", 2, ["@rack"]),
    ]
    assert _text(read, node, tree, "HF320") == (
        "error[HF320] HyperNode rack has 2 parents: every hard job of this cluster waits for ever\n"
        "  --> cluster beijing\n"
        "  got row-a, row-b\n"
        "  hint: remove rack from all but one of them"
    )


@pytest.mark.parametrize("ring", [["a"], ["a", "b"], ["a", "b", "c"]])
def test_a_ring_is_an_error_that_names_the_harm(read, node, hypernode, ring):
    pairs = zip(ring, [*ring[1:], ring[0]], strict=True)
    tree = [hypernode("rack", 1, ["n1", "n2", "n3", "n4"]), hypernode("above", 9, [f"@{ring[0]}"])]
    tree += [hypernode(name, 2 + i, [f"@{child}"]) for i, (name, child) in enumerate(pairs)]
    text = _text(read, node, tree, "HF321")
    assert text == (
        "error[HF321] HyperNodes contain one another in a ring: every hard job of this cluster waits for ever\n"
        "  --> cluster beijing\n"
        f"  got {', '.join(ring)}\n"
        "  hint: a HyperNode must not be its own member, however far down"
    )


def test_a_missing_child_is_a_warning(read, node, hypernode):
    tree = [hypernode("rack", 1, ["n1", "n2", "n3", "n4"]), hypernode("row", 2, ["@rack", "@gone"])]
    assert _text(read, node, tree, "HF322") == (
        "warning[HF322] 1 child HyperNode missing: the nodes below are in no domain\n"
        "  --> cluster beijing\n"
        "  got gone\n"
        "  hint: create them, or remove them from their parents"
    )


def test_nesting_within_one_tier_is_a_warning(read, node, hypernode):
    tree = [hypernode("rack", 1, ["n1", "n2", "n3", "n4"]), hypernode("row", 1, ["@rack"])]
    assert _text(read, node, tree, "HF323") == (
        "warning[HF323] HyperNode row of tier 1 holds HyperNodes of no lower tier: hard tier 1 means all of row\n"
        "  --> cluster beijing\n"
        "  got rack (tier 1)\n"
        "  hint: give a parent a higher tier than its children"
    )


def test_gaps_between_tiers_are_a_note(read, node, hypernode):
    tree = [hypernode("rack", 1, ["n1", "n2", "n3", "n4"]), hypernode("row", 2147483647, ["@rack"])]
    assert _text(read, node, tree, "HF324") == (
        "note[HF324] tier numbers have gaps; a hard tier inside a gap means the tier below it\n"
        "  --> cluster beijing\n"
        "  got 1 to 2147483647\n"
        "  hint: number tiers without gaps"
    )


@pytest.mark.parametrize(
    ("selector", "got"),
    [
        ({"regexMatch": {"pattern": "^rack$"}}, "^rack$"),
        ({"labelMatch": {"matchLabels": {"rack": "r9"}}}, "rack=r9"),
        ({"labelMatch": {"matchExpressions": [{"key": "rack", "operator": "Exists"}]}}, "an expression"),
    ],
)
def test_a_selector_without_a_match_is_an_error(read, node, hypernode, tmp_path, selector, got):
    tree = [hypernode("rack", 1, ["n1", "n2", "n3", "n4", selector])]
    assert _text(read, node, tree, "HF325") == (
        "error[HF325] a selector matches no node of this cluster\n"
        f"  --> {tmp_path / 'beijing.json'}: HyperNode rack\n"
        f"  got {got}, expected at least one node\n"
        "  hint: compare it with `kubectl get nodes --show-labels`"
    )


def test_a_node_in_two_hypernodes_is_an_error(read, node, hypernode):
    tree = [hypernode("r1", 1, ["n1", "n2"]), hypernode("r2", 1, ["n2", "n3", "n4"])]
    assert _text(read, node, tree, "HF326") == (
        "error[HF326] 1 node in two HyperNodes, so the devices would count twice (n2: r1 and r2)\n"
        "  --> cluster beijing\n"
        "  got n2\n"
        "  hint: make each node a member of one HyperNode"
    )


def test_a_selector_that_go_cannot_read_is_refused(read, node, hypernode, tmp_path):
    objects = [node("n1"), hypernode("rack", 1, [{"regexMatch": {"pattern": "^n(?=1)"}}])]
    assert _refused(read, objects) == (
        "error[HF327] the selector cannot be evaluated: invalid or unsupported Perl syntax in '^n(?=1)':"
        " Go has no lookaround\n"
        f"  --> {tmp_path / 'beijing.json'}: HyperNode rack: members[0]\n"
        "  hint: mend the selector"
    )


def test_nodes_outside_the_tree_are_a_warning(read, node, hypernode):
    assert _text(read, node, [hypernode("rack", 1, ["n1", "n2"])], "HF328") == (
        "warning[HF328] 2 nodes in no topology domain: jobs with a hard tier cannot use them\n"
        "  --> cluster beijing\n"
        "  got n[3-4]\n"
        "  hint: label them or add them to a HyperNode"
    )


def test_one_tier_name_for_two_tiers_is_a_warning(read, node, hypernode):
    tree = [hypernode("rack", 1, ["n1", "n2", "n3", "n4"], "rack"), hypernode("row", 2, ["@rack"], "rack")]
    assert _text(read, node, tree, "HF330") == (
        "warning[HF330] tier name 'rack' stands for 2 tiers; Volcano keeps the last one it reads\n"
        "  --> cluster beijing\n"
        "  got 1, 2\n"
        "  hint: one name, one tier in the whole cluster"
    )


def test_what_people_copy_from_the_design_document_is_refused(read, tmp_path):
    copied = {"version": "topology.volcano.sh/v1alpha1", "kind": "HyperNode", "name": "a_b", "spec": {"tier": 1}}
    copied["spec"]["members"] = [{"name": "node1", "type": "Node"}]
    place = f"{tmp_path / 'beijing.json'}: HyperNode a_b"
    assert _refused(read, [copied]) == (
        "error[HF332] it has `version` instead of `apiVersion`\n"
        f"  --> {place}\n"
        "  hint: write apiVersion: topology.volcano.sh/v1alpha1\n"
        "error[HF332] its name stands outside metadata\n"
        f"  --> {place}\n"
        "  hint: write metadata: {name: ...}\n"
        "error[HF332] a_b is no legal object name\n"
        f"  --> {place}\n"
        "  hint: use lower-case letters, digits and dashes\n"
        "error[HF332] a member has a name instead of a selector\n"
        f"  --> {place}: members[0]\n"
        "  hint: write selector: {exactMatch: {name: node1}}"
    )


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"tier": -1, "members": [{}]}, "spec.tier is -1"),
        ({"tier": "1", "members": [{}]}, "spec.tier is 1"),
        ({"tier": 1}, "it has no members"),
        ({"tier": 1, "members": []}, "it has no members"),
        ({"tier": 1, "members": ["n1"]}, "a member is no mapping"),
        ({"tier": 1, "members": [{"type": "Pod", "selector": {}}]}, "member type is Pod"),
    ],
)
def test_a_hypernode_that_no_server_would_take_is_refused(read, hypernode, spec, message):
    assert f"error[HF332] {message}\n" in _refused(read, [hypernode("rack", 1, ["n1"], spec=spec)])


def test_children_chosen_by_pattern_are_refused(read, hypernode, tmp_path):
    member = {"type": "HyperNode", "selector": {"regexMatch": {"pattern": "^rack"}}}
    row = hypernode("row", 2, [], spec={"tier": 2, "members": [member]})
    assert _refused(read, [row]) == (
        "error[HF333] a HyperNode member is selected by pattern or label, which Volcano ignores without a word\n"
        f"  --> {tmp_path / 'beijing.json'}: HyperNode row: members[0]\n"
        "  hint: name each child with exactMatch"
    )


def test_sizes_are_unknown_while_the_nodes_are(read, hypernode):
    fleet, findings = read([hypernode("rack", 1, [{"regexMatch": {"pattern": "^n"}}])])
    assert not fleet.clusters[0].tiers[0].known
    assert findings["HF334"].as_text() == (
        "warning[HF334] members are selected by pattern or label, so their number is unknown without the node list\n"
        "  --> HyperNodes rack\n"
        "  hint: give the output of `kubectl get nodes -o json` too"
    )


def test_members_that_are_no_nodes_are_a_warning(read, node, hypernode):
    assert _text(read, node, [hypernode("rack", 1, ["n1", "n2", "n3", "n4", "gone"])], "HF348") == (
        "warning[HF348] 1 HyperNode member not among the nodes of this cluster\n"
        "  --> cluster beijing\n"
        "  got gone\n"
        "  hint: compare the names with `kubectl get nodes`"
    )


def test_a_tree_of_other_nodes_is_an_error(read, node, hypernode):
    text = _text(read, node, [hypernode("rack", 1, ["x1", "x2"])], "HF325")
    assert text.startswith("error[HF325] no member of the HyperNodes is a node of this cluster\n")


@pytest.mark.parametrize(
    ("condition", "healthy"),
    [
        ({"type": "Healthy", "status": "False", "message": "link flaps"}, False),
        ({"type": "Ready", "status": "False", "reason": "SwitchDown"}, False),
        ({"type": "Unhealthy", "status": "True"}, False),
        ({"type": "Healthy", "status": "True"}, True),
        ({"type": "Unhealthy", "status": "False"}, True),
        ({"type": "Progressing", "status": "False"}, True),
    ],
)
def test_an_unhealthy_hypernode_takes_its_nodes_out(read, node, hypernode, condition, healthy):
    tree = [
        hypernode("r1", 1, ["n1", "n2"], status={"conditions": [condition]}),
        hypernode("r2", 1, ["n3"]),
        hypernode("row", 2, ["@r1", "@r2"]),
    ]
    fleet, findings = read([*(node(f"n{i}") for i in (1, 2, 3)), *tree])
    assert fleet.clusters[0].nodes_usable == (3 if healthy else 1)
    assert ("HF309" in findings) != healthy
    if not healthy:
        assert fleet.clusters[0].excluded[0].nodes == ("n1", "n2")


def test_an_unhealthy_hypernode_is_named_with_its_nodes(read, node, hypernode):
    sick = hypernode("r1", 1, ["n1", "n2"], status={"conditions": [{"type": "Healthy", "status": "False"}]})
    assert _text(read, node, [sick, hypernode("r2", 1, ["n3", "n4"])], "HF309") == (
        "warning[HF309] HyperNode r1 is unhealthy (Healthy=False); left out: 2 nodes\n"
        "  --> cluster beijing\n"
        "  got n[1-2]\n"
        "  hint: repair it, or correct its status"
    )


def test_two_hypernodes_of_one_name_are_an_error(read, node, hypernode):
    tree = [hypernode("rack", 1, ["n1", "n2"]), hypernode("rack", 1, ["n3", "n4"])]
    assert _text(read, node, tree, "HF304").startswith("error[HF304] two HyperNodes are named 'rack'\n")
