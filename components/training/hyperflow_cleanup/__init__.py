from .component import hyperflow_cleanup  # noqa: TID252 - the layout of kubeflow/pipelines-components

__all__ = ["hyperflow_cleanup"]
