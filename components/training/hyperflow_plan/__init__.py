from .component import hyperflow_plan  # noqa: TID252 - the layout of kubeflow/pipelines-components

__all__ = ["hyperflow_plan"]
