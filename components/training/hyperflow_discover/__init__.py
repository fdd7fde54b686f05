from .component import hyperflow_discover  # noqa: TID252 - the layout of kubeflow/pipelines-components

__all__ = ["hyperflow_discover"]
