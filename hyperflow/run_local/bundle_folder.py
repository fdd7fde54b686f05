"""The pods of a bundle on disk."""

from pathlib import Path

from hyperflow.inventory.bundle_reader import read_bundle
from hyperflow.inventory.documents import Document
from hyperflow.run_local.pods import LocalBundle, read_local_bundle


def read_bundle_folder(folder: Path) -> LocalBundle:
    """Read the manifests of a bundle: only those, and only as they were compiled.

    Raises InputError: HF500 for a folder that is no bundle or was changed since, HF451 for one without pods.
    """
    documents = read_bundle(folder).documents
    return read_local_bundle(
        [Document(file=str(folder / one.file), index=i, value=one.value) for i, one in enumerate(documents)]
    )
