"""Equal places merged before a free order is searched, and their names given back to the answer."""

from dataclasses import dataclass, replace

from hyperflow.plan.problem import Cuts, Place, Split, SplitProblem


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """A problem whose places stand for groups of equal stages; `members[k]` are the names behind place k."""

    problem: SplitProblem
    members: tuple[tuple[str, ...], ...]

    def names(self, split: Split) -> list[str]:
        """Give the name of each stage of an answer; equal stages are named in order of name."""
        waiting = [list(names) for names in self.members]
        return [waiting[place].pop(0) for place in split.order]


def merge_equal_places(problem: SplitProblem) -> Merged:
    """Merge the stages that no constraint tells apart, ordered by name; a fixed order stays as it is."""
    if problem.order is not None:
        return Merged(problem=problem, members=tuple((place.name,) * place.copies for place in problem.places))
    places = sorted(problem.places, key=lambda place: place.name)
    groups: list[list[Place]] = []
    for place in places:
        home = next((group for group in groups if _alike(problem.cuts, group, place, places)), None)
        if home is None:
            groups.append([place])
        else:
            home.append(place)
    pairs = problem.cuts.by_pair
    if pairs is not None:
        inner = {(g[0].name, g[0].name): pairs[g[0].name, g[1].name] for g in groups if len(g) > 1}
        pairs = {**pairs, **inner}
    return Merged(
        problem=replace(
            problem,
            places=tuple(replace(group[0], copies=len(group)) for group in groups),
            cuts=replace(problem.cuts, by_pair=pairs),
        ),
        members=tuple(tuple(place.name for place in group) for group in groups),
    )


def _alike(cuts: Cuts, group: list[Place], place: Place, places: list[Place]) -> bool:
    """Say whether a place equals those of a group in device, memory and every boundary."""
    first = group[0]
    if replace(first, name=place.name) != place:
        return False
    pairs = cuts.by_pair
    if pairs is None:
        return True
    others = [other.name for other in places if other.name not in (place.name, first.name)]
    same = all(
        pairs.get((first.name, other)) == pairs.get((place.name, other))
        and pairs.get((other, first.name)) == pairs.get((other, place.name))
        for other in others
    )
    inner = {pairs.get((a.name, b.name)) for a in (*group, place) for b in (*group, place) if a.name != b.name}
    return same and len(inner) == 1 and None not in inner
