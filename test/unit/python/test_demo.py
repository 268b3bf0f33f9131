"""The demo's table, charts and story on objects made by hand."""
import io
import os
import pathlib
import sys
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "test/scenarios/lib"), str(ROOT / "deploy/demo")]

import screen  # noqa: E402
from kube import ApiError  # noqa: E402
from run import Demo, for_comparison  # noqa: E402
from screen import Screen  # noqa: E402
from story import Story  # noqa: E402
from workloads import Shares, Workload, amount, totals  # noqa: E402


def pod(name, cpu="500m", memory="1Gi", labels=None, annotations=None, phase="Running", created="2026-03-02T12:00:00Z"):
    requests = {k: v for k, v in (("cpu", cpu), ("memory", memory)) if v}
    return {"metadata": {"name": name, "uid": "uid-" + name, "creationTimestamp": created, "labels": labels or {"app": "web"},
                         "annotations": annotations or {}},
            "spec": {"containers": [{"resources": {"requests": requests}}]},
            "status": {"phase": phase, "startTime": created, "conditions": []}}


def deployment(name="web", cpu="1", memory="1Gi", trace=True):
    annotations = {"fakelet.plumb/trace": "nginx"} if trace else {}
    return {"kind": "Deployment", "metadata": {"name": name},
            "spec": {"template": {"metadata": {"labels": {"app": name}, "annotations": annotations},
                                  "spec": pod("t", cpu, memory)["spec"]}}}


def bounds(cpu, memory):
    return {"cpu": cpu, "memory": memory}


def vpa(mode="Recreate", upper="800m", name="web"):
    recommendation = {"containerName": "c", "lowerBound": bounds("400m", "500Mi"), "target": bounds("671m", "700Mi"),
                      "upperBound": bounds(upper, "2Gi")}
    return {"metadata": {"name": name}, "spec": {"updatePolicy": {"updateMode": mode},
                                                 "targetRef": {"kind": "Deployment", "name": name}},
            "status": {"recommendation": {"containerRecommendations": [recommendation]}}}


def usage(name, cpu="250m", memory="512Mi"):
    return {"metadata": {"name": name}, "containers": [{"usage": bounds(cpu, memory)}]}


def event(pod_name, when, reason="EvictedByVPA", uid="e1", message="why"):
    return {"metadata": {"uid": uid, "creationTimestamp": when}, "lastTimestamp": when, "reason": reason, "count": 1,
            "involvedObject": {"kind": "Pod", "name": pod_name}, "message": message}


UPDATED = {"vpaUpdates": "Pod resources updated by web"}


class WorkloadTest(unittest.TestCase):
    def test_amounts_are_short(self):
        self.assertEqual([amount("cpu", 0.671), amount("cpu", 12.34), amount("cpu", None)], ["671m", "12.3", "-"])
        self.assertEqual([amount("memory", 512 * 2 ** 20), amount("memory", 12.5 * 2 ** 30)], ["512Mi", "12.5Gi"])

    def test_an_upper_bound_without_history_is_young(self):
        self.assertEqual(Workload("web", deployment(), vpa(upper="268"), [], []).upper(), "young / 2048Mi")
        self.assertEqual(Workload("web", deployment(), vpa(upper="6"), [], []).upper(), "6000m / 2048Mi")

    def test_a_watched_workload_is_not_called_right_sized(self):
        work = Workload("web", deployment(), vpa("Off"), [pod("web-1", cpu="1")], [])
        self.assertEqual((work.verdict(), work.settled()), ("watched", True))

    def test_right_sized_pods_were_touched_and_lie_inside(self):
        for annotations, cpu, verdict in ((UPDATED, "500m", "yes"), ({}, "500m", "not yet"), (UPDATED, "300m", "not yet"),
                                          (UPDATED, "900m", "not yet"), (UPDATED, None, "not yet")):
            work = Workload("web", deployment(), vpa(), [pod("web-1", cpu=cpu, annotations=annotations)], [])
            self.assertEqual(work.verdict(), verdict, (annotations, cpu))

    def test_without_a_vpa_nothing_is_waited_for(self):
        work = Workload("web", deployment(), None, [pod("web-1")], [])
        self.assertEqual((work.mode, work.verdict(), work.settled(), work.upper()), ("no VPA", "-", True, "- / -"))

    def test_hints_for_workloads_of_ones_own(self):
        self.assertIn("no usage", Workload("own", deployment("own", trace=False), vpa(), [pod("own-1", labels={"app": "own"})],
                                           []).hint())
        self.assertIn("does not exist", Workload("own", None, vpa(), [], []).hint())
        self.assertIsNone(Workload("web", deployment(), vpa(), [pod("web-1")], []).hint())

    def test_totals_compare_what_was_written_with_what_is(self):
        work = Workload("web", deployment(), vpa(), [pod("web-1"), pod("web-2"), pod("web-3", phase="Succeeded")],
                        [usage("web-1"), usage("web-2")])
        self.assertEqual(totals([work])["cpu"], (2.0, 1.0, 0.5))
        self.assertIn("1000m less / 0Mi less", "\n".join(screen.totals_lines([work])))


class ScreenTest(unittest.TestCase):
    def works(self):
        return [Workload("web", deployment(), vpa("InPlaceOrRecreate"), [pod("web-1")], [usage("web-1")])]

    def test_the_result_is_seen_at_every_width(self):
        for width in (60, 80, 120, 200):
            lines = screen.table(self.works(), width)
            self.assertLessEqual(max(len(line) for line in lines), width)
            for column in ("WORKLOAD", "REQUESTS", "TARGET", "RIGHT-SIZED"):
                self.assertIn(column, lines[0], width)
        self.assertEqual(lines[0].split(), list(screen.PLACE))

    def test_charts_are_shares_of_the_request(self):
        shares = Shares()
        shares.add(self.works())
        line, = screen.chart(self.works(), shares, 80, screen.PLAIN)
        self.assertRegex(line, r"^web  cpu +=   50 %  memory +=   50 %$")
        self.assertEqual(screen.spark([0, 0.5, 1, 7, -1], 9), " ▄██ ")

    def test_hostile_names_do_not_reach_the_terminal(self):
        out = io.StringIO()
        Screen(out).say("a\x1b[2Jb\x07\x9bc")
        self.assertEqual(out.getvalue(), "a?[2Jb??c\n")

    def test_prose_breaks_between_words_and_commands_stay_whole(self):
        out = io.StringIO()
        shown, command = Screen(out), "  kubectl " + "x" * 30 + " " + "y" * 60
        shown.terminal = True
        with mock.patch.dict(os.environ, {"COLUMNS": "80", "LINES": "24"}):
            shown.say("2026-11-23 12:30  created   orders-6848dcfcb6-bl6hd: as written, requests 500m / 2048Mi", command)
        lines = out.getvalue().splitlines()
        self.assertEqual(lines, ["2026-11-23 12:30  created   orders-6848dcfcb6-bl6hd: as written, requests 500m",
                                 "    / 2048Mi", command])

    def test_a_file_gets_lines_as_they_are(self):
        out = io.StringIO()
        Screen(out).say("word " * 60)
        self.assertEqual(out.getvalue(), "word " * 60 + "\n")

    def test_the_picture_fits_the_terminal(self):
        out = io.StringIO()
        out.isatty = lambda: True
        with mock.patch.dict(os.environ, {"COLUMNS": "60", "LINES": "12", "NO_COLOR": "1"}):
            shown = Screen(out)
            shown.draw(["news"], self.works(), Shares(), "now")
            shown.draw([], self.works(), Shares(), "now")
        self.assertLessEqual(shown.drawn, 11)
        self.assertLessEqual(max(len(line) for line in out.getvalue().splitlines()), 62)
        self.assertIn(f"\x1b[{shown.drawn}A", out.getvalue())


class StoryTest(unittest.TestCase):
    def test_told_in_the_order_of_time_and_cause(self):
        story = Story("orders")
        story.look([pod("web-2", created="2026-03-02T12:01:00Z", annotations=UPDATED),
                    pod("web-3", created="2026-03-02T12:02:00Z", annotations=UPDATED)],
                   [event("web-1", "2026-03-02T12:02:00Z", uid="b"), event("web-0", "2026-03-02T12:01:00Z", uid="a")])
        lines = story.take()
        self.assertEqual([line[11:36] for line in lines], ["12:01  evicted   web-0: w", "12:01  created   web-2: p",
                                                           "12:02  evicted   web-1: w", "12:02  created   web-3: p"])
        self.assertEqual((story.evicted("web"), story.evicted("we")), (2, 0))
        story.look([], [event("web-1", "2026-03-02T12:02:00Z", uid="b")])
        self.assertEqual(story.take(), [])

    def test_starts_with_and_without_a_boost(self):
        story = Story("orders")
        slow, fast = pod("orders-1", labels={"app": "orders"}), pod("orders-2", labels={"app": "orders"},
                                                                    annotations={"vpaCpuStartupBoost/c": "x"})
        for started, minute in ((slow, "01:00"), (fast, "00:20")):
            started["status"]["conditions"] = [{"type": "Ready", "status": "True",
                                                "lastTransitionTime": f"2026-03-02T12:{minute}Z"}]
        story.look([slow, fast, pod("web-1")], [])
        self.assertEqual((story.mean_start(False), story.mean_start(True)), (60.0, 20.0))


class Cluster:
    """Answers what a cluster would."""

    def __init__(self, **lists):
        self.lists, self.client, self.plane, self.fails = lists, self, self, False

    def list(self, kind, _namespace):
        if self.fails:
            raise ApiError(503, "away")
        return self.lists.get(kind, [])

    def now(self):
        return "2026-03-02T12:00:00Z"


class DemoTest(unittest.TestCase):
    def test_a_deleted_vpa_leaves_its_workload_in_the_table(self):
        demo = Demo(Cluster(Deployment=[deployment()], Pod=[pod("web-1")]), True, Screen(io.StringIO()))
        demo.step()
        self.assertEqual([(w.name, w.mode) for w in demo.works], [("web", "no VPA")])
        self.assertTrue(demo.settled())

    def test_workloads_of_ones_own_follow_the_demos(self):
        lists = {"Deployment": [deployment("own"), deployment("a-stranger"), deployment("web")],
                 "VerticalPodAutoscaler": [vpa(name="own"), vpa(name="gone"), vpa(name="web")]}
        demo = Demo(Cluster(**lists), True, Screen(io.StringIO()))
        demo.step()
        self.assertEqual([w.name for w in demo.works], ["web", "gone", "own"])
        self.assertFalse(demo.settled())

    def test_crane_stands_beside(self):
        both = [vpa(name="web"), for_comparison(vpa(name="web"))]
        both[1]["status"] = {"recommendation": {"containerRecommendations": [{"target": bounds("555m", "640Mi")}]}}
        demo = Demo(Cluster(Deployment=[deployment()], Pod=[pod("web-1")], VerticalPodAutoscaler=both), True,
                    Screen(io.StringIO()))
        demo.step()
        self.assertEqual([w.name for w in demo.works], ["web"])
        self.assertEqual([line.split("  ")[0] for line in screen.side_by_side(demo.works)], ["WORKLOAD", "web"])
        self.assertIn("555m / 640Mi", screen.side_by_side(demo.works)[1])
        self.assertEqual(both[1]["spec"]["updatePolicy"], {"updateMode": "Off"})

    def test_a_cluster_that_is_away_is_told_once(self):
        out = io.StringIO()
        demo = Demo(Cluster(), True, Screen(out))
        demo.cluster.fails = True
        demo.step()
        demo.step()
        self.assertEqual(out.getvalue().count("does not answer"), 1)
        self.assertFalse(demo.settled())


if __name__ == "__main__":
    unittest.main()
