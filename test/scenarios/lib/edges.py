"""Whether two recommenders may differ because a percentile falls on the edge of two buckets.

A checkpoint stores weights as whole ten-thousandths of the heaviest, as upstream's does. Who has loaded one knows each weight but for
half of that, and whoever has seen all samples knows it exactly. Where the share of the weights up to some bucket is so close to the percentile
that this decides, the two take different buckets, until the next weight comes. Anything else is no such difference.
"""
import datetime
import json

from formulas import DAY, find_bucket

PERCENTILES = {"target": 0.9, "uncappedTarget": 0.9, "lowerBound": 0.5, "upperBound": 0.95}
FIRST_MEMORY_BUCKET = 1e7
OPEN_INTERVALS = "vpa.autoscaling.k8s.io/open-memory-intervals"


def seconds_of(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def weights_of(checkpoint, kind):
    """Bucket numbers and their weights, with the peaks of intervals that are not over; and by how much all of them may be off."""
    stored = checkpoint["status"][f"{kind}Histogram"]
    numbers = {int(bucket): weight for bucket, weight in (stored.get("bucketWeights") or {}).items()}
    if not numbers:
        return {}, 0.0
    unit = stored["totalWeight"] / sum(numbers.values())
    weights = {bucket: number * unit for bucket, number in numbers.items()}
    intervals = checkpoint["metadata"].get("annotations", {}).get(OPEN_INTERVALS) if kind == "memory" else None
    if intervals:
        intervals = json.loads(intervals)
        for _, usage, later, oom in ((row + [0] * 4)[:4] for row in intervals["peaks"]):
            age = seconds_of(intervals["end"]) + later - seconds_of(stored["referenceTimestamp"])
            bucket = find_bucket(FIRST_MEMORY_BUCKET, max(usage, oom))
            weights[bucket] = weights.get(bucket, 0.0) + 2 ** (age / DAY)
    return weights, 0.5 * unit * len(numbers)


def distance_to_edge(checkpoint, bound, kind):
    """(How far the share of some bucket and those below is from the percentile, how far rounding may move it)."""
    weights, off = weights_of(checkpoint, kind)
    total, below, closest = sum(weights.values()), 0.0, 1.0
    for bucket in sorted(weights):
        below += weights[bucket]
        closest = min(closest, abs(below / total - PERCENTILES[bound]))
    return closest, off / total if total else 0.0
