"""One breach of a law of bundles."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Breach:
    """Where a law is broken, what is wrong, and what would happen at run time."""

    where: str
    message: str
    effect: str
