"""The plan as table, notebook HTML and dump, at its edges: one stage, many stages, data parallelism across clusters."""

import json
from html.parser import HTMLParser

import pytest

import hyperflow as hf
from hyperflow.report.dump import dump_record, tree_of
from hyperflow.report.explain_text import explain_lines
from hyperflow.report.html import error_html, plan_html, report_page
from hyperflow.report.plan_table import plan_lines, short_counts


def compiled(layers, parallel, *clusters, **on):
    """Compile a small model on the clusters."""

    def train():
        return hf.megatron()

    shape = {"hidden": 1024, "ffn": 4096, "heads": 8, "vocab": 32000, "seq": 1024}
    for decorate in (hf.on(*clusters, **on), hf.parallel(tp=8, **parallel), hf.model(layers=layers, **shape)):
        train = decorate(train)
    return hf.job(name="edge-case", image="r/t:1")(train).compilation()


@pytest.fixture(scope="module")
def single():
    return compiled(4, {"pp": 1, "dp": 1, "global_batch_size": 8}, hf.Cluster("beijing", gpu="B200:8", nodes=1))


@pytest.fixture(scope="module")
def many():
    return compiled(24, {"pp": 6, "dp": 1, "global_batch_size": 8}, hf.Cluster("beijing", gpu="B200:8", nodes=6))


@pytest.fixture(scope="module")
def two_cities():
    clusters = (hf.Cluster("beijing", gpu="B200:8", nodes=1), hf.Cluster("shanghai", gpu="H100:8", nodes=1))
    link = hf.link("beijing", "shanghai", gbps=100, rtt_ms=25)
    return compiled(8, {"dp": 1, "pp": 2, "global_batch_size": 8}, *clusters, links=[link])


@pytest.fixture(scope="module")
def across():
    clusters = [hf.Cluster(name, gpu="H100:8", nodes=2) for name in ("east", "west")]
    links = [hf.link("east", "west", gbps=3200, rtt_ms=1)]
    return compiled(8, {"pp": 1, "dp": 4, "global_batch_size": 64}, *clusters, links=links)


class Balance(HTMLParser):
    """Checks that tags close in order, and keeps the text."""

    VOID = frozenset({"meta", "br", "path", "rect", "line", "circle"})

    def __init__(self):
        super().__init__()
        self.open, self.words = [], []

    def handle_starttag(self, tag, attrs):
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def read_html(page):
    reader = Balance()
    reader.feed(page)
    assert reader.open == []
    return "".join(reader.words)


@pytest.mark.parametrize("case", ["single", "many", "two_cities", "across"])
def test_every_page_is_balanced_html_that_loads_nothing(case, request):
    done = request.getfixturevalue(case)
    for page in (
        plan_html(done.needed_plan, done.findings),
        report_page(done.needed_resolved, done.needed_plan, done.findings),
    ):
        assert "edge-case" in read_html(page)
        assert "src=" not in page
        assert "href=" not in page


def test_a_single_stage_has_no_links_and_holds_all_layers(single):
    lines = plan_lines(single.needed_plan)
    assert not any(line.startswith("link ") for line in lines)
    assert "<h2>Between clusters</h2>" not in plan_html(single.needed_plan)
    (row,) = [line.split() for line in lines if line.startswith("0 ")]
    assert row[:3] == ["0", "beijing", "0-3"]


def test_many_stages_are_rows_of_their_own_and_their_counts_are_short(many):
    plan = many.needed_plan
    rows = [line for line in plan_lines(plan) if line.split("  ")[0].isdigit()]
    assert [row.split()[0] for row in rows] == [str(index) for index in range(6)]
    counts = [stage.layers for stage in plan.stages]
    chosen = next(line for line in plan_lines(plan) if line.startswith("* chosen"))
    assert short_counts(counts) in chosen
    assert sum(counts) == 24


def test_table_and_html_tell_the_same_stages(two_cities):
    plan = two_cities.needed_plan
    table, words = "\n".join(plan_lines(plan)), read_html(plan_html(plan))
    for stage in plan.stages:
        span = f"{stage.first_layer}-{stage.first_layer + stage.layers - 1}"
        assert span in table
        assert span in words
        assert stage.cluster in table
        assert stage.cluster in words


def test_data_parallelism_across_clusters_numbers_its_replicas_in_table_and_page(across, two_cities):
    plan = across.needed_plan
    assert plan.shape == "data-parallel" and [stage.replica for stage in plan.stages] == [0, 1]
    page, table = plan_html(plan), "\n".join(plan_lines(plan))
    assert "<th>stage</th><th>replica</th>" in page
    assert "<td>0</td><td>0</td><td class='l'>east</td>" in page
    assert "<td>0</td><td>1</td><td class='l'>west</td>" in page
    assert "0 (replica 1)" in table
    assert "<th>replica</th>" not in plan_html(two_cities.needed_plan)


def test_columns_of_the_table_line_up(two_cities):
    lines = plan_lines(two_cities.needed_plan)
    start = next(i for i, line in enumerate(lines) if line.startswith("stage "))
    header, *rows = lines[start : start + 3]
    at = header.index("layers")
    assert all(row[at - 1] == " " and row[at] != " " for row in rows)


def test_findings_in_html_are_escaped():
    from hyperflow.errors import Finding

    page = error_html([Finding(code="HF112", message="<script>x</script>", hint="a & b")])
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert 'class="error"' in page


def test_explain_says_devices_mode_and_findings(two_cities):
    done = two_cities
    lines = explain_lines(done.needed_resolved, done.needed_plan, done.needed_manifests, done.findings)
    assert "devices:" in lines
    assert any(line.strip().startswith("mode hyperjob:") for line in lines)
    assert all(any(finding.code in line for line in lines) for finding in done.findings)


@pytest.mark.parametrize("case", ["single", "many", "two_cities", "across"])
def test_every_record_dumps_as_strict_json(case, request):
    done = request.getfixturevalue(case)
    for record in (done.needed_resolved, done.needed_plan, done.needed_manifests, done.needed_bundle):
        tree = json.loads(dump_record(record), parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
        assert tree.keys() == tree_of(record).keys()
