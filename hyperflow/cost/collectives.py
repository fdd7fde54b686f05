"""Times of collective communication; bandwidths in bytes per second one way, `size` the bytes each rank holds in full.

Ring and all-to-all forms: cost-formulas section 7 (NCCL tests' bus-bandwidth convention). A message of `size` bytes
pays `latency` once per ring step, which is what makes small messages slow.
"""

from collections.abc import Sequence


def all_reduce_seconds(size: float, ranks: int, bandwidth: float, latency: float) -> float:
    """Ring all-reduce: 2(n-1)/n of the bytes on each link in 2(n-1) steps."""
    return 2 * all_gather_seconds(size, ranks, bandwidth, latency)


def all_gather_seconds(size: float, ranks: int, bandwidth: float, latency: float) -> float:
    """Ring all-gather or reduce-scatter; `size` is the gathered size.

    >>> all_gather_seconds(8e9, 8, 350e9, 0.0)
    0.02
    """
    return (ranks - 1) / ranks * size / bandwidth + (ranks - 1) * latency if ranks > 1 else 0.0


def nvls_all_reduce_seconds(size: float, ranks: int, bandwidth: float, latency: float) -> float:
    """All-reduce inside the switch: (n+1)/n of the bytes on each link, two steps."""
    return (ranks + 1) / ranks * size / bandwidth + 2 * latency if ranks > 1 else 0.0


def all_to_all_seconds(size: float, ranks: int, bandwidth: float, latency: float) -> float:
    """Each rank keeps 1/n of its `size` bytes and sends the rest."""
    return all_gather_seconds(size, ranks, bandwidth, latency)


def p2p_seconds(size: float, bandwidth: float, latency: float) -> float:
    """One message to one peer."""
    return size / bandwidth + latency


def crossing_bytes(size: float, ranks_per_cluster: Sequence[int]) -> float:
    """Bytes over the link of a cluster, one way, when every rank of it exchanges `size` bytes with the other clusters.

    A hierarchical all-reduce sends those of one rank per cluster, in shards; a flat one those of every rank, since
    its rings are laid without regard to the link.

    >>> crossing_bytes(4e9, [1, 1]), crossing_bytes(4e9, [8, 8])
    (4000000000.0, 32000000000.0)
    """
    clusters = len(ranks_per_cluster)
    return 2 * (clusters - 1) / clusters * size * max(ranks_per_cluster)


def hierarchical_all_reduce_seconds(
    size: float,
    ranks_per_cluster: Sequence[int],
    cluster_bandwidth: float,
    latency: float,
    link_bandwidth: float,
    round_trip_seconds: float,
) -> float:
    """Reduce-scatter in each cluster, all-reduce of the shards across, all-gather in each cluster.

    `link_bandwidth` is the whole pipe between clusters, shared by all shards (cost-formulas section 7).
    """
    clusters = len(ranks_per_cluster)
    inside = max(2 * all_gather_seconds(size, ranks, cluster_bandwidth, latency) for ranks in ranks_per_cluster)
    across = crossing_bytes(size, [1] * clusters) / link_bandwidth + 2 * (clusters - 1) * round_trip_seconds
    return inside + across


def flat_all_reduce_seconds(
    size: float,
    ranks_per_cluster: Sequence[int],
    cluster_bandwidth: float,
    latency: float,
    link_bandwidth: float,
    round_trip_seconds: float,
) -> float:
    """One all-reduce over all ranks that knows nothing of clusters; the slower of fabric and link sets the pace."""
    ranks, clusters = sum(ranks_per_cluster), len(ranks_per_cluster)
    inside = all_reduce_seconds(size, ranks, cluster_bandwidth, latency)
    across = crossing_bytes(size, ranks_per_cluster) / link_bandwidth
    return max(inside, across) + 2 * (clusters - 1) * round_trip_seconds
