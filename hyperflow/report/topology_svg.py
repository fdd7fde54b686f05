"""A picture of clusters: domains inside domains, every node a square, coloured and numbered by job.

Colours are the eight of Okabe and Ito, safe for colour-blind eyes; the job's number stands in each square too. The
picture follows the viewer's light or dark setting.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from hyperflow.place.domains import DomainTree, build_tree
from hyperflow.place.records import ClusterRecord, JobPlacement, NodeRecord

# https://jfly.uni-koeln.de/color/ (Okabe and Ito, 2008), each with the ink that reads on it
PALETTE = (
    ("#e69f00", "on-light"), ("#56b4e9", "on-light"), ("#009e73", "on-light"), ("#f0e442", "on-light"),
    ("#0072b2", "on-dark"), ("#d55e00", "on-light"), ("#cc79a7", "on-light"),
)  # fmt: skip
MOST_NUMBERED = 1200  # nodes up to which each square shows its job's number
CELL, GAP, PAD, HEAD, WIDTH = 18, 3, 10, 22, 1180
_STYLE = """
text{font-family:system-ui,sans-serif;fill:#1b1f24}.soft{fill:#57606a}.on-light{fill:#000}.on-dark{fill:#fff}
.paper{fill:#fff}.panel{fill:#f7f9fb;stroke:#c4ccd4}.idle{fill:#e7ebef;stroke:#c4ccd4}.busy{fill:#8c959f}
.out{fill:none;stroke:#8c959f;stroke-dasharray:2 2}
@media (prefers-color-scheme:dark){
text{fill:#e6edf3}.soft{fill:#9aa4af}.on-light{fill:#000}.on-dark{fill:#fff}.paper{fill:#0d1117}
.panel{fill:#151b23;stroke:#3d444d}.idle{fill:#262c34;stroke:#3d444d}.busy{fill:#6e7681}.out{stroke:#6e7681}}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Box:
    """A laid-out part: its size and its drawing at the origin."""

    width: int
    height: int
    body: str

    def at(self, x: int, y: int) -> str:
        return f'<g transform="translate({x} {y})">{self.body}</g>'


def draw_topology(clusters: Sequence[ClusterRecord], placements: Sequence[JobPlacement]) -> str:
    """Draw all clusters with their domains and the nodes of each placed job as one SVG document."""
    numbers = {p.job: at for at, p in enumerate(placements)}
    parts = [_legend(placements)]
    for cluster in clusters:
        users: dict[str, list[int]] = {}
        for placement in placements:
            if placement.cluster == cluster.name:
                for node in sorted({n for n in placement.nodes if n}):
                    users.setdefault(node, []).append(numbers[placement.job])
        parts.append(_cluster(cluster, users))
    height = sum(part.height + PAD for part in parts) + 2 * PAD
    width = max(part.width for part in parts) + 2 * PAD
    body, y = "", PAD
    for part in parts:
        body += part.at(PAD, y)
        y += part.height + PAD
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img" aria-label="Nodes by domain, coloured by job"><style>{_STYLE}</style>'
        f'<rect class="paper" width="100%" height="100%"/>{body}</svg>\n'
    )


def _text(x: float, y: float, words: str, size: int = 13, extra: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}" font-size="{size}" {extra}>{escape(words)}</text>'


def _legend(placements: Sequence[JobPlacement]) -> _Box:
    body, y = "", 0
    for number, placement in enumerate(placements):
        nodes = len({n for n in placement.nodes if n})
        where = f" in {placement.domain} (tier {placement.tier})" if placement.domain else ""
        said = f"{nodes} nodes{where}" if placement.verdict == "fits" else placement.verdict
        body += _square(0, y, [number] if placement.verdict == "fits" else [], "idle", True, "")
        words = f"{placement.job}: {placement.pods_placed} of {placement.pods_total} pods, {said}"
        body += _text(CELL + 8, y + 14, words)
        y += CELL + 6
    body += f'<rect class="busy" x="0" y="{y}" width="{CELL}" height="{CELL}" rx="2"/>'
    body += _text(CELL + 8, y + 14, "runs already", extra='class="soft"')
    body += f'<rect class="idle" x="130" y="{y}" width="{CELL}" height="{CELL}" rx="2"/>'
    body += _text(130 + CELL + 8, y + 14, "idle", extra='class="soft"')
    body += f'<rect class="out" x="215" y="{y}" width="{CELL}" height="{CELL}" rx="2"/>'
    body += _text(215 + CELL + 8, y + 14, "cordoned or not ready", extra='class="soft"')
    longest = max((len(p.job) for p in placements), default=0)
    return _Box(width=min(WIDTH, 360 + 8 * longest), height=y + CELL + PAD, body=body)


def _square(x: int, y: int, jobs: Sequence[int], base: str, numbered: bool, title: str) -> str:
    """One node; several jobs share the square in stripes."""
    shown = f"<title>{escape(title)}</title>" if title else ""
    if not jobs:
        return f'<rect class="{base}" x="{x}" y="{y}" width="{CELL}" height="{CELL}" rx="2">{shown}</rect>'
    stripes = ""
    share = CELL / len(jobs)
    for at, job in enumerate(jobs):
        paint, ink = PALETTE[job % len(PALETTE)]
        left = x + at * share
        stripes += f'<rect x="{left:g}" y="{y}" width="{share:g}" height="{CELL}" rx="2" fill="{paint}"/>'
        if numbered and len(jobs) <= 2:
            style = f'text-anchor="middle" class="{ink}"'
            stripes += _text(left + share / 2, y + 13, str(job + 1), 10 if len(jobs) == 1 else 8, style)
    return f"<g>{shown}{stripes}</g>"


def _cluster(cluster: ClusterRecord, users: dict[str, list[int]]) -> _Box:
    names = sorted(node.name for node in cluster.nodes)
    tree = build_tree(cluster.hypernodes, names)
    drawing = _Drawing(cluster, tree, names, users)
    parts = [drawing.domain(root) for root in tree.domains[tree.top].children]
    outside = [names[n] for n, own in enumerate(tree.owners) if own == (tree.top,)]
    if outside:
        parts.append(drawing.nodes("in no HyperNode", outside))
    title = f"cluster {cluster.name}" if cluster.name else "cluster"
    return _frame(title, _stack(parts) if len(parts) > 1 else parts[0])


class _Drawing:
    """Draws the domains of one cluster; a node in several domains is drawn in each."""

    def __init__(
        self, cluster: ClusterRecord, tree: DomainTree, names: Sequence[str], users: dict[str, list[int]]
    ) -> None:
        self.tree, self.names, self.users = tree, names, users
        self.records: dict[str, NodeRecord] = {node.name: node for node in cluster.nodes}
        self.busy = {pod.node for pod in cluster.pods}
        self.numbered = len(names) <= MOST_NUMBERED

    def domain(self, at: int) -> _Box:
        domain = self.tree.domains[at]
        kind = f"{domain.tier_name}, " if domain.tier_name else ""
        title = f"{domain.name} ({kind}tier {domain.tier})"
        children = sorted(domain.children, key=lambda c: self.tree.domains[c].name or "")
        inside = {n for c in children for n in self.tree.domains[c].nodes}
        direct = [self.names[n] for n in domain.nodes if n not in inside]
        if not children:
            return self.nodes(title, direct)
        parts = [self.domain(child) for child in children]
        if direct:
            parts.append(self.nodes("directly in it", direct))
        leaves = all(not self.tree.domains[c].children for c in children)
        return _frame(title, _flow(parts) if leaves else _stack(parts))

    def nodes(self, title: str, names: Sequence[str]) -> _Box:
        columns = max(1, min(len(names), 6 if len(names) <= 36 else 16))
        body = ""
        for at, name in enumerate(names):
            x, y = at % columns * (CELL + GAP), at // columns * (CELL + GAP)
            jobs = self.users.get(name, [])
            node = self.records[name]
            base = "out" if node.cordoned or not node.ready else "busy" if name in self.busy else "idle"
            body += _square(x, y, jobs, base, self.numbered, name)
        rows = -(-len(names) // columns)
        inner = _Box(width=columns * (CELL + GAP) - GAP, height=max(rows, 1) * (CELL + GAP) - GAP, body=body)
        return _frame(title, inner)


def _frame(title: str, inner: _Box) -> _Box:
    width = max(inner.width + 2 * PAD, 7 * len(title) + 2 * PAD)
    height = inner.height + HEAD + PAD
    body = f'<rect class="panel" width="{width}" height="{height}" rx="5"/>'
    body += _text(PAD, 15, title, 12, 'class="soft"') + inner.at(PAD, HEAD)
    return _Box(width=width, height=height, body=body)


def _flow(parts: Iterable[_Box]) -> _Box:
    """Lay boxes in lines, as words are."""
    body, x, y, line, widest = "", 0, 0, 0, 0
    for part in parts:
        if x and x + part.width > WIDTH:
            x, y, line = 0, y + line + PAD, 0
        body += part.at(x, y)
        x += part.width + PAD
        widest, line = max(widest, x - PAD), max(line, part.height)
    return _Box(width=widest, height=y + line, body=body)


def _stack(parts: Iterable[_Box]) -> _Box:
    body, y, widest = "", 0, 0
    for part in parts:
        body += part.at(0, y)
        y += part.height + PAD
        widest = max(widest, part.width)
    return _Box(width=widest, height=y - PAD, body=body)
