"""Model parts for schedules that hold several parts per pipeline rank."""

from collections.abc import Sequence

from hyperflow.errors import Finding, InfeasibleError

V_PLACED = ("zb-v", "dualpipev")
LOOPED = ("interleaved-1f1b", "looped-bfs", "interleaved-zero-bubble")
PARTS_PER_RANK = 2


def schedule_key(schedule: str) -> str:
    """Bring the spellings of a schedule to one.

    >>> schedule_key("ZB-H1"), schedule_key("ZBVZeroBubble"), schedule_key("Interleaved1F1B")
    ('zero-bubble', 'zb-v', 'interleaved-1f1b')
    """
    plain = schedule.casefold().replace("_", "-")
    return _SPELLINGS.get(plain.replace("-", ""), plain)


_SPELLINGS = {
    "1f1b": "1f1b",
    "gpipe": "gpipe",
    "zerobubble": "zero-bubble", "zbh1": "zero-bubble", "zb": "zero-bubble", "zb1p": "zero-bubble",
    "zbv": "zb-v", "zbvzerobubble": "zb-v",
    "dualpipev": "dualpipev",
    "interleaved": "interleaved-1f1b", "interleaved1f1b": "interleaved-1f1b",
    "loopedbfs": "looped-bfs",
    "interleavedzerobubble": "interleaved-zero-bubble", "interleavedzb": "interleaved-zero-bubble",
}  # fmt: skip


def split_into_parts(layers: Sequence[int], schedule: str, where: str) -> list[int]:
    """Give the layers of each model part in model order, from the layers of each pipeline rank.

    Looped schedules put part c*p+r on rank r, V-placed ones parts r and 2p-1-r. Raises InfeasibleError (HF406) when a
    rank has too few layers for its parts.
    """
    key = schedule_key(schedule)
    if key not in (*V_PLACED, *LOOPED):
        return list(layers)
    thin = [rank for rank, count in enumerate(layers) if count < PARTS_PER_RANK]
    if thin:
        raise InfeasibleError(
            Finding(
                code="HF406",
                message=f"schedule {schedule} needs {PARTS_PER_RANK} layers or more on each stage",
                where=where,
                got=f"{layers[thin[0]]} layers on stage {thin[0]}",
                expected=f"at least {PARTS_PER_RANK}",
                hint="use schedule 1f1b, or fewer stages",
            )
        )
    first = [count - count // PARTS_PER_RANK for count in layers]
    second = [count // PARTS_PER_RANK for count in layers]
    return first + (second[::-1] if key in V_PLACED else second)
