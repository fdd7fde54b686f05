"""One document on one server, as the rules of kinds other than vcjob see it."""

from dataclasses import dataclass
from typing import Any

from hyperflow.admission.rules.job_view import JobView
from hyperflow.admission.state import ServerState
from hyperflow.admission.tables import Server
from hyperflow.json_tree import dig, mapping, text


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A document after mutation (`document`), as it was written (`posted`), and what it replaces (`old`)."""

    group_kind: str
    document: dict[str, Any]
    posted: dict[str, Any]
    old: dict[str, Any] | None
    server: Server
    state: ServerState

    @property
    def name(self) -> str:
        """The name of the object."""
        return text(dig(self.document, "metadata", "name"))

    @property
    def namespace(self) -> str:
        """The namespace, `default` where it is left out."""
        return text(dig(self.document, "metadata", "namespace"), "default")

    @property
    def spec(self) -> dict[str, Any]:
        """The spec after mutation."""
        return mapping(self.document.get("spec"))

    @property
    def posted_spec(self) -> dict[str, Any]:
        """The spec as it was written."""
        return mapping(self.posted.get("spec"))

    def job(self) -> JobView:
        """The document seen as a vcjob."""
        return JobView(
            name=self.name,
            namespace=self.namespace,
            path=("spec",),
            spec=self.spec,
            posted=self.posted_spec,
            server=self.server,
            state=self.state,
        )
