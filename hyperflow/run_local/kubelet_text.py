"""What the kubelet makes of commands, arguments and variables before a container sees them."""

import re
from collections.abc import Mapping

_REFERENCE = re.compile(r"\$\$|\$\(([A-Za-z_.-][A-Za-z0-9_.-]*)\)")


def expand(text: str, known: Mapping[str, str]) -> str:
    """Replace `$(NAME)` by a known variable and `$$` by `$`; an unknown name stays as it is.

    >>> expand("$$(HOME) $(HOME) $(AWAY) $HOME", {"HOME": "/root"})
    '$(HOME) /root $(AWAY) $HOME'
    """

    def one(found: re.Match[str]) -> str:
        return "$" if found[1] is None else known.get(found[1], found[0])

    return _REFERENCE.sub(one, text)
