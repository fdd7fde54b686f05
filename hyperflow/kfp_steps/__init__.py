"""HyperFlow as a step of a Kubeflow pipeline."""
