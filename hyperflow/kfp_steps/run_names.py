"""Names that follow from the pipeline run, so that a retried or restarted step finds its own job again."""

import hashlib
import json
from collections.abc import Mapping

from hyperflow.resolve.names import MAX_JOB_NAME

KEY_LENGTH = 8
RUN_LABEL = "kfp-run"
"""The label of every object of a run; its value is the run's key."""


def run_key(run_id: str) -> str:
    """Give the short key of a pipeline run, fit for names and label values.

    >>> run_key("0f3c9a52-0000-4a6e-9d52-2f6f2f5c1a11")
    '83bcdf37'
    """
    return hashlib.sha256(run_id.encode()).hexdigest()[:KEY_LENGTH]


def name_in_run(name: str, run_id: str, values: Mapping[str, object]) -> str:
    """Give the job's name in a run; without a run id (a trial by hand) the declared name stands.

    The late values are in it, since the turns of a loop are jobs of their own and a plane runs one of each name. A long
    name is cut to make room for the key.

    >>> name_in_run("llama70b", "0f3c9a52-0000-4a6e-9d52-2f6f2f5c1a11", {}), name_in_run("llama70b", "", {})
    ('llama70b-83bcdf37', 'llama70b')
    """
    if not run_id:
        return name
    bound = json.dumps(values, sort_keys=True) if values else ""
    room = MAX_JOB_NAME - KEY_LENGTH - 1
    # what is cut off goes into the key, so that jobs with a long common beginning stay apart
    return f"{name[:room].rstrip('-')}-{run_key(run_id + bound + name[room:])}"
