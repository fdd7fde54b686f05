"""A pipeline timeline as an SVG picture: operations by colour, idle time in red hatching, ranks grouped by cluster.

Several timelines in one picture share one time scale, so that an even and an asymmetric split can be compared by eye.
The picture needs no library and no script. Colours differ in lightness as well as in hue, and idle time is hatched, so
the picture also reads without colour; in a browser it follows the dark or light preference of the reader.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby

from hyperflow.ir.timeline import Timeline

_CHART, _LEFT, _RIGHT = 1180.0, 150.0, 92.0
_ROW, _GAP, _GROUP_GAP = 24.0, 3.0, 20.0
_STRIPE = 4.0  # marks the later chunks of a rank
_HEADER, _AXIS, _LEGEND = 44.0, 34.0, 34.0
_DIGIT = 5.8  # width of a digit at the size of the micro-batch numbers
_CLASSES = {"F": "f", "B": "b", "W": "w", "BW": "b"}

_STYLE = """
.page{fill:#fff}.text{fill:#1a1a1a}.soft{fill:#5a5a5a}.line{stroke:#8a8a8a}
.f{fill:#1f5c99}.b{fill:#f0a830}.w{fill:#9fd8c4}.second{fill:#000;fill-opacity:.6}
.idle{fill:url(#idle)}.ground{fill:#fbd9d5}.hatch{stroke:#d0342c}.end{stroke:#b3261e}
text{font-family:system-ui,-apple-system,"Segoe UI","DejaVu Sans",sans-serif;font-size:12px}
.title{font-size:15px;font-weight:600}.number{font-size:10px;text-anchor:middle}.of-f{fill:#fff}.of-b,.of-w{fill:#1a1a1a}
@media (prefers-color-scheme:dark){.page{fill:#16181c}.text{fill:#ececec}.soft{fill:#a9adb5}.line{stroke:#7a7f88}
.f{fill:#4f8fd0}.of-f{fill:#0b0d10}.ground{fill:#4a1f1d}.hatch{stroke:#ff6b61}.end{stroke:#ff8a80}
.second{fill:#000;fill-opacity:.7}}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One timeline of a picture; `clusters[r]` names the cluster of rank r, none for a pipeline in one place."""

    title: str
    timeline: Timeline
    clusters: tuple[str, ...] = ()

    @property
    def groups(self) -> list[tuple[str, list[int]]]:
        """Consecutive ranks of one cluster."""
        ranks = range(self.timeline.order.num_ranks)
        if not self.clusters:
            return [("", list(ranks))]
        return [(name, list(group)) for name, group in groupby(ranks, key=lambda rank: self.clusters[rank])]

    @property
    def height(self) -> float:
        """Height of the panel in pixels."""
        ranks, groups = self.timeline.order.num_ranks, len(self.groups)
        return _HEADER + ranks * (_ROW + _GAP) + (groups - 1) * _GROUP_GAP + 14.0


def draw_timelines(panels: Sequence[Panel], unit: str = "") -> str:
    """Give the SVG text of one or more timelines on one time scale; `unit` names the unit of their times."""
    longest = max(panel.timeline.makespan for panel in panels)
    scale = _CHART / longest
    width = _LEFT + _CHART + _RIGHT
    height = _LEGEND + sum(panel.height for panel in panels) + _AXIS
    what = "; ".join(_summary(panel, unit) for panel in panels)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" role="img">',
        f"<title>{escape('Pipeline timeline: ' + ', '.join(panel.title for panel in panels))}</title>",
        f"<desc>{escape(what)}</desc>",
        f"<style>{_STYLE}</style>",
        '<defs><pattern id="idle" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
        '<rect class="ground" width="6" height="6"/><path class="hatch" d="M0 0V6" stroke-width="2"/></pattern></defs>',
        f'<rect class="page" width="{width:g}" height="{height:g}"/>',
        *_legend(panels),
    ]
    top = _LEGEND
    for panel in panels:
        parts += _panel(panel, top, scale, unit)
        top += panel.height
    parts += _axis(top, longest, scale, unit)
    parts.append("</svg>")
    return "\n".join(parts) + "\n"


def _summary(panel: Panel, unit: str) -> str:
    timeline = panel.timeline
    measure = f" {unit}" if unit else ""
    return f"{panel.title}: {timeline.makespan:g}{measure}, idle {timeline.bubble_fraction:.1%}"


def _legend(panels: Sequence[Panel]) -> Iterator[str]:
    kinds = {operation.kind for panel in panels for rank in panel.timeline.order.operations for operation in rank}
    entries = [("f", "forward (F)")]
    if "BW" in kinds and not kinds & {"B", "W"}:
        entries.append(("b", "backward (B+W)"))
    else:
        entries.append(("b", "input gradient (B)" if "BW" not in kinds else "backward (B, or B+W)"))
        entries.append(("w", "weight gradient (W)"))
    entries.append(("idle", "idle"))
    if any(panel.timeline.order.num_chunks > 1 for panel in panels):
        entries.append(("f", "underlined: later chunk of the rank"))
    x = _LEFT
    for position, (name, label) in enumerate(entries):
        yield f'<rect class="{name}" x="{x:g}" y="11" width="16" height="14"/>'
        if position == len(entries) - 1 and name == "f":
            yield f'<rect class="second" x="{x:g}" y="{25 - _STRIPE:g}" width="16" height="{_STRIPE:g}"/>'
        yield f'<text class="text" x="{x + 22:g}" y="22">{label}</text>'
        x += 40 + 6.6 * len(label)


def _panel(panel: Panel, top: float, scale: float, unit: str) -> Iterator[str]:
    timeline = panel.timeline
    yield f'<text class="text title" x="{_LEFT:g}" y="{top + 20:g}">{escape(panel.title)}</text>'
    shares = timeline.idle_by_cluster(panel.clusters) if panel.clusters else ()
    by_cluster = ", ".join(f"{name} idle {share:.0%}" for name, share in shares)
    measure = f" {unit}" if unit else ""
    facts = f"{timeline.makespan:g}{measure} for {timeline.order.num_microbatches} micro-batches, "
    facts += f"idle {timeline.bubble_fraction:.0%}" + (f" ({by_cluster})" if by_cluster else "")
    yield f'<text class="soft" x="{_LEFT:g}" y="{top + 37:g}">{escape(facts)}</text>'
    y = top + _HEADER
    first_rank_y = y
    for position, (name, ranks) in enumerate(panel.groups):
        if position:
            delay = timeline.links[ranks[0] - 1]
            yield (
                f'<text class="soft" x="{_LEFT:g}" y="{y + 11:g}">link between the clusters: one-way delay '
                f"{delay:g}{escape(measure)}</text>"
            )
            y += _GROUP_GAP
        yield from _group_label(name, ranks, y)
        for rank in ranks:
            yield from _rank(timeline, rank, y, scale)
            y += _ROW + _GAP
    end = _LEFT + timeline.makespan * scale
    yield f'<path class="end" d="M{end:.1f} {first_rank_y - 4:g}V{y + 2:g}" stroke-width="1.5" fill="none"/>'


def _group_label(name: str, ranks: Sequence[int], y: float) -> Iterator[str]:
    if not name:
        return
    bottom = y + len(ranks) * (_ROW + _GAP) - _GAP
    shown = name if len(name) <= 13 else name[:12] + "…"
    yield f'<path class="line" d="M92 {y + 2:g}H88V{bottom - 2:g}H92" fill="none"/>'
    yield f'<text class="text" x="82" y="{(y + bottom) / 2 + 4:g}" text-anchor="end">{escape(shown)}</text>'


def _rank(timeline: Timeline, rank: int, y: float, scale: float) -> Iterator[str]:
    """Draw one row: label, idle stretches, operations, numbers where they fit, idle share."""
    middle = y + _ROW / 2 + 4
    yield f'<text class="soft" x="{_LEFT - 8:g}" y="{middle:g}" text-anchor="end">rank {rank}</text>'
    idle: list[str] = []
    boxes: dict[str, list[str]] = {}
    second: list[str] = []
    numbers: list[str] = []
    clock = 0.0
    first_stage = timeline.order.num_ranks
    for operation, start, end in zip(
        timeline.order.operations[rank], timeline.starts[rank], timeline.ends[rank], strict=True
    ):
        if (start - clock) * scale > 0.05:
            idle.append(_box(clock, start, y, scale))
        clock = end
        box = _box(start, end, y, scale, gap=0.6)
        boxes.setdefault(_CLASSES[operation.kind], []).append(box)
        if operation.stage >= first_stage:
            second.append(_box(start, end, y + _ROW - _STRIPE, scale, gap=0.6, height=_STRIPE))
        label = str(operation.microbatch)
        if (end - start) * scale >= _DIGIT * len(label) + 1.5:
            x = _LEFT + (start + end) / 2 * scale
            numbers.append(
                f'<text class="number of-{_CLASSES[operation.kind]}" x="{x:.1f}" y="{middle - 1:g}">{label}</text>'
            )
    if (timeline.makespan - clock) * scale > 0.05:
        idle.append(_box(clock, timeline.makespan, y, scale))
    if idle:
        yield f'<path class="idle" d="{"".join(idle)}"/>'
    for name, shapes in sorted(boxes.items()):
        yield f'<path class="{name}" d="{"".join(shapes)}"/>'
    if second:
        yield f'<path class="second" d="{"".join(second)}"/>'
    yield from numbers
    x = _LEFT + timeline.makespan * scale + 6
    yield f'<text class="soft" x="{x:.1f}" y="{middle:g}">idle {timeline.idle_fractions[rank]:.0%}</text>'


def _box(start: float, end: float, y: float, scale: float, gap: float = 0.0, height: float = _ROW) -> str:
    """Give the path of a rectangle; `gap` keeps neighbours apart where there is room for it."""
    whole = (end - start) * scale
    width = max(whole - gap, whole * 0.6)
    return f"M{_LEFT + start * scale:.2f} {y:g}h{width:.2f}v{height:g}h-{width:.2f}z"


def _axis(top: float, longest: float, scale: float, unit: str) -> Iterator[str]:
    step = _round_step(longest / 10)
    yield f'<path class="line" d="M{_LEFT:g} {top:g}H{_LEFT + _CHART:g}" fill="none"/>'
    for tick in range(int(longest / step + 1e-9) + 1):
        x = _LEFT + tick * step * scale
        yield f'<path class="line" d="M{x:.1f} {top:g}v5" fill="none"/>'
        yield f'<text class="soft" x="{x:.1f}" y="{top + 18:g}" text-anchor="middle">{tick * step:g}</text>'
    label = f"time ({unit})" if unit else "time"
    yield f'<text class="soft" x="{_LEFT - 8:g}" y="{top + 18:g}" text-anchor="end">{escape(label)}</text>'


def _round_step(least: float) -> float:
    """Give the smallest of 1, 2, 5 times a power of ten that is not below `least`."""
    power = 10.0**-12
    while power * 10 <= least:
        power *= 10
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= least * (1 - 1e-9))
