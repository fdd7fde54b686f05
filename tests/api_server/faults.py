"""Faults on demand: what goes wrong with which request, by rule or by a seeded chance."""

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.api_server.answers import Refusal, refuse


@dataclass(frozen=True)
class Request:
    """What a fault rule looks at."""

    number: int
    method: str
    path: str
    query: dict[str, str]


@dataclass(frozen=True)
class Fault:
    """What happens instead of the answer: a refusal (`code`, `body`), `drop` hangs up, `slow` waits first.

    `before` drops before the request takes effect; a drop after it leaves the client unsure.
    """

    code: int = 0
    drop: bool = False
    before: bool = True
    slow: float = 0.0
    retry_after: int = 0
    body: dict[str, Any] | None = None

    def refusal(self) -> Refusal:
        """The answer of a refused request."""
        reasons = {
            409: "Conflict",
            429: "TooManyRequests",
            500: "InternalError",
            503: "ServiceUnavailable",
            401: "Unauthorized",
        }
        if self.body is not None:
            return Refusal(self.code, self.body)
        answer = refuse(self.code, f"injected {self.code}", reasons.get(self.code))
        if self.retry_after:
            answer.headers["Retry-After"] = str(self.retry_after)
        return answer


Rule = Callable[[Request], Fault | None]


@dataclass
class Faults:
    """The rules in force, and a count of all requests by method and path."""

    rules: list[Rule] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def meet(self, method: str, path: str, query: dict[str, str]) -> Fault | None:
        """Record a request and give the first fault that a rule has for it."""
        with self.lock:
            request = Request(len(self.requests), method, path, query)
            self.requests.append(request)
            return next((fault for rule in self.rules if (fault := rule(request)) is not None), None)

    def once(self, fault: Fault, method: str = "", part: str = "") -> None:
        """Let the next request that fits fail, and no other."""
        spent: list[bool] = []

        def rule(request: Request) -> Fault | None:
            if spent or (method and request.method != method) or part not in request.path:
                return None
            spent.append(True)
            return fault

        self.rules.append(rule)

    def at_random(self, seed: int, share: float, kinds: list[Fault]) -> None:
        """Let a share of all requests fail, the same ones for the same seed and order."""
        chance = random.Random(seed)
        self.rules.append(lambda _request: chance.choice(kinds) if chance.random() < share else None)
