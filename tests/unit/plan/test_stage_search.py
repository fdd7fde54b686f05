"""The search with a price of the caller's own, on the instance sailor_het0."""

from pathlib import Path

import pytest

from benchmarks.sailor import Kind, Sailor, Sequence
from hyperflow.plan.stage_search import search_options

FILE = Path(__file__).parents[3] / ".." / "shared" / "data" / "split_instances" / "sailor_het0.json"
pytestmark = pytest.mark.skipif(not FILE.is_file(), reason="the shared split instances are not beside the checkout")


@pytest.fixture(scope="module")
def sailor():
    return Sailor(FILE)


def known(sailor):
    best = sailor.data["best_known_upper_bound"]
    kinds = tuple(Kind(device, int(tp[2:])) for device, tp in (stage.split() for stage in best["stages"]))
    return Sequence(kinds, best["mbs"], best["dp"]), tuple(best["layers"]), best["iter_s"]


def test_the_cost_text_of_the_file_gives_the_cost_in_the_file(sailor):
    sequence, layers, cost = known(sailor)
    assert sailor.cost(sequence, layers) == pytest.approx(cost, rel=1e-12)


def test_the_search_reaches_the_best_known_cost_of_its_degree(sailor):
    _, _, cost = known(sailor)
    options = list(sailor.options(sizes=(2,), degrees=(16,)))
    found = search_options(options, lambda option, layers: sailor.cost(option.tag, layers), seconds=30)
    assert found.price <= cost * (1 + 1e-12)
    assert found.price == pytest.approx(sailor.cost(found.option.tag, found.layers))
    assert found.bound <= found.price


def test_no_option_costs_less_than_its_bound(sailor):
    priced = 0
    for option in list(sailor.options(sizes=(1, 2), degrees=(4, 9, 16, 30)))[::80]:
        for grown in list(option.expand())[:3]:
            found = search_options([grown], lambda option, layers: sailor.cost(option.tag, layers), seconds=5)
            if found.option is not None:
                priced += 1
                assert found.price >= option.bound
    assert priced > 10
