"""Kubernetes objects as typed records: the kinds that HyperFlow writes, unknown fields refused."""
