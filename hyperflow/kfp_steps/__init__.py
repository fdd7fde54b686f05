"""HyperFlow as a step of a Kubeflow pipeline: `import hyperflow.kfp_steps as hfk`.

Only compiling a pipeline needs kfp; what a step runs in its pod does not import it.
"""

from hyperflow.kfp_steps.components import cleanup, component, discover
from hyperflow.kfp_steps.inputs import artifact, value
from hyperflow.kfp_steps.pack_job import pack_job
from hyperflow.kfp_steps.step import Step, plan_step, step

__all__ = ["Step", "artifact", "cleanup", "component", "discover", "pack_job", "plan_step", "step", "value"]
