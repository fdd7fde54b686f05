from .component import hyperflow_train  # noqa: TID252 - the layout of kubeflow/pipelines-components

__all__ = ["hyperflow_train"]
