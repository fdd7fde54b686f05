"""Writing of YAML that every reader takes alike: Go's reader takes 1e5 or 0o7 for a number where PyYAML's does not."""

import re
from collections.abc import Iterable
from typing import Any

import yaml

_NUMBER_LIKE = re.compile(r"[-+.]?[0-9][0-9a-fA-FxXoObB_.:+-]*|[-+.]?(?:inf|nan)", re.IGNORECASE)


class _Dumper(yaml.SafeDumper):
    """Quotes texts that any YAML reader might take for a number; writes texts of several lines as blocks."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _represent_text(dumper: yaml.SafeDumper, data: str) -> yaml.ScalarNode:
    style = "|" if "\n" in data else "'" if _NUMBER_LIKE.fullmatch(data) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", data, style=style)  # pyright: ignore[reportUnknownMemberType]  # PyYAML's stubs leave it open


_Dumper.add_representer(str, _represent_text)


def flow_text(value: Any) -> str:
    """Give a value on one line.

    >>> flow_text({"a": "1e5", "b": [1, None]})
    "{a: '1e5', b: [1, null]}"
    """
    text = yaml.dump(
        value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=1_000_000, default_flow_style=True
    )
    return text.rstrip().removesuffix("...").rstrip()


def block_text(value: Any) -> str:
    """Give a value as a document of several lines."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=1_000_000)


def documents_text(values: Iterable[Any]) -> str:
    """Give values as documents of one stream."""
    return "".join("---\n" + block_text(value) for value in values)
