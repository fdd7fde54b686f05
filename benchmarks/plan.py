"""Speed of the planner next to plain baselines, in one run: `python -m benchmarks.plan [shared data folder]`.

Each line: what was solved, seconds of the process, whether proven, the objective, and beside it the even split or the
peer's figure from the instance's file.
"""

import json
import random
import sys
import time
from dataclasses import replace
from pathlib import Path

from benchmarks.sailor import Sailor
from hyperflow.plan.best import search_exact
from hyperflow.plan.make_plan import make_plan
from hyperflow.plan.price import price_split
from hyperflow.plan.problem import Cuts, LayerTable, Objective, Place, Split, SplitProblem
from hyperflow.plan.split import solve_split
from hyperflow.plan.symmetry import merge_equal_places
from tests.plan_jobs import cluster, decoder, link, resolved

OBJECTIVES: tuple[Objective, ...] = ("1f1b", "1f1b-links")
SHARED = Path(__file__).parents[1] / ".." / "shared" / "data"


def unequal(layers: int, stages: int, *, alike: bool, objective: str = "1f1b") -> SplitProblem:
    """Stages of devices of 1 to 4 times the speed; layers alike, or each with its own weight and memory."""
    r = random.Random(1)
    weights = [1.0 if alike else r.uniform(0.5, 1.5) for _ in range(layers)]
    sizes = None if alike else tuple(r.uniform(0.5, 1.5) for _ in range(layers))
    tables: dict[str, LayerTable] = {}
    for i in range(stages):
        speed = r.uniform(1, 4)
        tables[f"d{i}"] = LayerTable(
            seconds=tuple(w * (1 if alike else r.uniform(0.9, 1.1)) / speed for w in weights), state_bytes=sizes
        )
    memory = None if alike else layers / stages * 1.6
    return SplitProblem(
        places=tuple(Place(name=f"s{i}", device=f"d{i}", memory_bytes=memory) for i in range(stages)),
        tables=tables,
        num_stages=stages,
        microbatches=64,
        objective=objective,  # pyright: ignore[reportArgumentType] one of the literals
        order=tuple(range(stages)),
    )


def free_order(clusters: int, kinds: int, *, links: bool) -> SplitProblem:
    """Clusters of a few device types in free order, with or without pairwise links."""
    r = random.Random(1)
    tables = {f"d{k}": LayerTable(seconds=(1 / r.uniform(1, 4),) * 96) for k in range(kinds)}
    places = tuple(Place(name=f"c{i:02}", device=f"d{i % kinds}") for i in range(clusters))
    pairs = {(a.name, b.name): r.uniform(0.1, 0.5) for a in places for b in places if a.name < b.name}
    both = {**pairs, **{(b, a): seconds for (a, b), seconds in pairs.items()}}
    return SplitProblem(
        places=places,
        tables=tables,
        num_stages=clusters,
        microbatches=32,
        cuts=Cuts(by_pair=both if links else None),
    )


def unlike(clusters: int, stages: int, *, alike: bool, objective: Objective) -> SplitProblem:
    """Clusters no two of which are alike, in free order with a link of its own between any two, or a choice of them.

    Layers are alike, or each has its own weight and on each device a time up to 10 % off its weight.
    """
    r = random.Random(1)
    weights = [1.0 if alike else r.uniform(0.5, 1.5) for _ in range(96)]
    tables: dict[str, LayerTable] = {}
    for i in range(clusters):
        speed = r.uniform(1, 4)
        seconds = tuple(w * (1 if alike else r.uniform(0.9, 1.1)) / speed for w in weights)
        tables[f"d{i}"] = LayerTable(seconds=seconds)
    places = tuple(Place(name=f"c{i:02}", device=f"d{i}") for i in range(clusters))
    pairs = {(a.name, b.name): r.uniform(0.1, 0.5) for a in places for b in places if a.name < b.name}
    return SplitProblem(
        places=places,
        tables=tables,
        num_stages=stages,
        microbatches=32,
        objective=objective,
        cuts=Cuts(by_pair={**pairs, **{(b, a): seconds for (a, b), seconds in pairs.items()}}),
    )


def nearest_seconds(problem: SplitProblem) -> float:
    """The best objective over chains that go on to the nearest place left, from each start, each split at its best."""
    pairs = problem.cuts.by_pair or {}
    names = [place.name for place in problem.places]
    best = float("inf")
    for start in range(len(names)):
        chain = [start]
        while len(chain) < problem.num_stages:
            rest = [place for place in range(len(names)) if place not in chain]
            chain.append(min(rest, key=lambda place: (pairs.get((names[chain[-1]], names[place]), 0.0), place)))
        best = min(best, search_exact(replace(problem, order=tuple(chain))).objective_seconds)
    return best


def even_seconds(problem: SplitProblem) -> float:
    """The objective of the even split in listed order."""
    stages = problem.num_stages
    each, rest = divmod(problem.num_layers, stages)
    layers = tuple(each + (i < rest) for i in range(stages))
    return price_split(problem, Split(order=problem.order or tuple(range(stages)), layers=layers)).objective_seconds


def show_split(name: str, problem: SplitProblem, seconds: float = 60.0) -> None:
    """Solve as `hyperflow split` does and print one line."""
    start = time.perf_counter()
    solved = solve_split(merge_equal_places(problem).problem, seconds=seconds)
    spent = time.perf_counter() - start
    found = solved.price.objective_seconds if solved.price else float("nan")
    exact = search_exact(problem, seconds) if problem.order is not None else None
    same = f", exact search alone {exact.objective_seconds:.6g}" if exact else ""
    if problem.cuts.by_pair is not None and all(place.copies == 1 for place in problem.places):
        same += f", nearest chain {nearest_seconds(problem):.6g}"
    proof = "proven" if solved.proven else f"gap {solved.gap:.2%}"
    print(
        f"{name}: {spent:.2f} s, {proof}, {found:.6g} (even split {even_seconds(problem):.6g}{same}); {solved.solver}"
    )


def show_sailor(folder: Path) -> None:
    """The instance sailor_het0 with its own cost function."""
    path = folder / "split_instances" / "sailor_het0.json"
    if not path.is_file():
        print(f"sailor_het0: skipped, {path} is not there")
        return
    start = time.perf_counter()
    sailor = Sailor(path)
    found = sailor.search(seconds=4.0)
    peer = json.loads(path.read_text())["peers"][0]
    spent = time.perf_counter() - start
    print(
        f"sailor_het0: {spent:.2f} s, {found.price:.6f} s a step (peer {peer['planner']}: {peer['iter_s']:.3f} s "
        f"in {peer['search_s']:.1f} s), {found.option.tag if found.option else None}"
    )


def show_compile() -> None:
    """Llama-3.1-405B over 8 clusters of 4 device types, every degree open."""
    names = ["b200a", "b200b", "h200a", "h200b", "h100a", "h100b", "a100a", "a100b"]
    clusters = [cluster(name, name[:-1].upper(), 16) for name in names]
    links = [
        link(a, b, gbps=400, rtt_ms=4 + 4 * (j - i)) for i, a in enumerate(names) for j, b in enumerate(names) if i < j
    ]
    model = decoder(126, hidden=16384, ffn=53248, heads=128, kv_heads=8)
    auto = dict.fromkeys(("tp", "cp", "ep", "pp", "dp", "micro_batch_size", "recompute"), "auto")
    job = resolved(clusters, links, model, parallel={**auto, "global_batch_size": 512})
    start, cpu = time.perf_counter(), time.process_time()
    plan = make_plan(job)
    fits = all(stage.memory_bytes <= stage.memory_limit_bytes for stage in plan.stages)
    print(
        f"405B over 8 clusters: {time.perf_counter() - start:.2f} s ({time.process_time() - cpu:.2f} s of CPU), step "
        f"{plan.step_seconds:.2f} s, gap {plan.optimal.gap:.2%}, {plan.degrees}, every stage fits: {fits}"
    )


def main() -> None:
    """Run all."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else SHARED
    show_split("128 unlike layers, 16 stages", unequal(128, 16, alike=False))
    show_split("128 unlike layers, 16 stages, links", unequal(128, 16, alike=False, objective="1f1b-links"))
    show_split("1024 equal layers, 64 stages", unequal(1024, 64, alike=True))
    show_split("free order, 8 clusters of 4 types, links", free_order(8, 4, links=True))
    show_split("free order, 16 clusters of 3 types", free_order(16, 3, links=False))
    show_split("free order, 16 clusters of 3 types, links", free_order(16, 3, links=True))
    for clusters, stages in ((8, 8), (8, 6), (16, 16), (16, 12)):
        for alike in (True, False):
            for objective in OBJECTIVES:
                name = f"free order, {stages} of {clusters} unlike clusters, {'like' if alike else 'unlike'} layers"
                show_split(f"{name}, {objective}", unlike(clusters, stages, alike=alike, objective=objective))
    show_sailor(folder)
    show_compile()


if __name__ == "__main__":
    main()
