"""Typed Kubernetes objects, the subset that HyperFlow emits."""
