"""Which differences of two recommenders are put down to rounded weights (test/scenarios/lib/edges.py)."""
import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scenarios/lib"))

from edges import OPEN_INTERVALS, distance_to_edge  # noqa: E402


def on_an_edge(weights, total, *peaks):
    """Of the 95th percentile."""
    checkpoint = {"metadata": {"annotations": {OPEN_INTERVALS: json.dumps({"end": "2026-03-03T00:00:00Z", "peaks": peaks})}},
                  "status": {"memoryHistogram": {"referenceTimestamp": "2026-03-02T00:00:00Z", "bucketWeights": weights,
                                                 "totalWeight": total}}}
    distance, rounding = distance_to_edge(checkpoint, "upperBound", "memory")
    return distance <= rounding


class Edges(unittest.TestCase):
    def test_a_share_that_rounding_can_move_to_the_other_side(self):
        self.assertEqual([on_an_edge({"3": 10000, "9": weight}, 20.0) for weight in (525, 526, 527, 528)], [False, True, True, False])

    def test_the_peak_of_an_open_interval_counts(self):
        self.assertTrue(on_an_edge({"3": 10000}, 38.0, [1, 10**9]))  # it weighs 2, a twentieth of all
        self.assertFalse(on_an_edge({"3": 10000}, 38.0, [1, 10**9, 3600]))  # an hour later it is 3 % heavier
        self.assertTrue(on_an_edge({"3": 10000}, 38.0, [1, 5, 0, 10**9]))  # what an OOM kill stands for
        self.assertFalse(on_an_edge({"3": 10000}, 38.0, [1, 3 * 10**7]))  # in the bucket of the rest

    def test_nothing_has_no_edge(self):
        self.assertFalse(on_an_edge({}, 0.0))


if __name__ == "__main__":
    unittest.main()
