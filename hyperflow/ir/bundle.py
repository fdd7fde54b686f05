"""The written result: paths and texts, and the objects they were rendered from."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleFile:
    """One file of a bundle; `path` is relative, names start with a number in apply order."""

    path: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """All files of a compiled job; `name` carries the content hash. `mode` is `hyperjob`, `direct` or `single`."""

    job: str
    name: str
    namespace: str
    mode: str
    mode_reason: str
    files: tuple[BundleFile, ...]
