"""Plain loops over all subsets of the codes of an LBP feature."""

from __future__ import annotations


def subset_masses(codes, positive_part, negative_part):
    """Yield the weight of positives and of negatives in each subset of the codes that are there."""
    there = sorted(set(codes.tolist()))
    for bits in range(2 ** len(there)):
        chosen = [code for i, code in enumerate(there) if bits >> i & 1]
        inside = [code in chosen for code in codes.tolist()]
        yield (
            sum(p for p, is_in in zip(positive_part, inside, strict=True) if is_in),
            sum(n for n, is_in in zip(negative_part, inside, strict=True) if is_in),
        )


def least_subset_error(codes, positive_part, negative_part):
    """Return the least weighted error of a subset that is called negative, the others positive."""
    total = sum(negative_part)
    return min(p + total - n for p, n in subset_masses(codes, positive_part, negative_part))


def least_subset_gini(codes, positive_part, negative_part):
    """Return the least sum of both sides' 2 P N / (P + N) over all subsets."""
    total_p, total_n = sum(positive_part), sum(negative_part)

    def gini(p, n):
        return 2 * p * n / (p + n) if p + n > 0 else 0.0

    weight_sums = subset_masses(codes, positive_part, negative_part)
    return min(gini(p, n) + gini(total_p - p, total_n - n) for p, n in weight_sums)
