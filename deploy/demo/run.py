#!/usr/bin/env python3
"""The demo: a simulated cluster, the three daemons, a live table and a log of what happened (see demo.sh)."""
import argparse
import datetime
import os
import pathlib
import shutil
import signal
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "test/scenarios/lib"), str(ROOT / "deploy/demo")]

from cluster import Cluster, documents  # noqa: E402
from kube import ApiError  # noqa: E402
from processes import kill_everything  # noqa: E402
from screen import LEGEND, Screen, side_by_side, table, totals_lines  # noqa: E402
from story import Story  # noqa: E402
from workloads import DEMO, Shares, Workload  # noqa: E402

NAMESPACE = "demo"
BOOSTED = "orders"
LIMIT_SECONDS = 240  # of --once, the build not included
START_HOUR = 12  # of the simulated day: usage follows the hours, whenever somebody runs the demo
CRANE = "-crane"  # ends the names of VPAs that only show what Crane's algorithm would recommend
NEXT = ("", "Three things to try next:",
        "  ./deploy/demo.sh           # live until Ctrl-C, with commands for its cluster",
        "  more docs/install.md       # how it comes into a cluster of yours",
        "  ./test/run.sh unit golden  # its tests")
KINDS = ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "CronJob")


def for_comparison(vpa):
    """The same VPA for another algorithm: it recommends and changes nothing."""
    return {**vpa, "metadata": {**vpa["metadata"], "name": vpa["metadata"]["name"] + CRANE},
            "spec": {"targetRef": vpa["spec"]["targetRef"], "updatePolicy": {"updateMode": "Off"},
                     "recommenders": [{"name": "crane"}]}}


class Demo:
    def __init__(self, cluster, once, screen):
        self.cluster, self.once, self.screen = cluster, once, screen
        self.story, self.shares = Story(BOOSTED), Shares()
        self.targets, self.works, self.trouble = {}, [], None

    def start(self):
        steps = (("custom resources and rights", self.cluster.install),
                 ("nodes and usage", lambda: self.cluster.start_fakelet("--nodes=3")),
                 ("the workloads", lambda: self.cluster.apply(ROOT / "deploy/demo/workloads.yaml")),
                 ("the three daemons", self.cluster.start_all),
                 ("the autoscalers of the workloads", self.autoscalers))
        for text, step in steps:
            self.screen.say(f"Starting {text} ...")
            step()

    def autoscalers(self):
        for vpa in documents(ROOT / "deploy/demo/vpas.yaml"):
            self.cluster.client.apply(vpa)
            self.cluster.client.apply(for_comparison(vpa))

    def look(self):
        """Reads the cluster; what anybody deletes or adds meanwhile is only what it shows next."""
        client = self.cluster.client
        vpas = client.list("VerticalPodAutoscaler", NAMESPACE)
        pods, usage = client.list("Pod", NAMESPACE), client.list("PodMetrics", NAMESPACE)
        crane = [v for v in vpas if v["metadata"]["name"].endswith(CRANE)]
        others = {v["metadata"]["name"].removesuffix(CRANE): v for v in crane}
        self.works = [Workload(name, target, vpa, pods, usage, others.get(name))
                      for name, target, vpa in self.subjects([v for v in vpas if v not in crane])]
        self.story.look(pods, client.list("Event", NAMESPACE))
        self.shares.add(self.works)

    def subjects(self, vpas):
        """(name, workload or None, VPA or None): the demo's own workloads first, then what others brought."""
        found, named = [], {}
        for vpa in vpas:
            ref = vpa["spec"].get("targetRef") or {}
            if ref.get("kind") in KINDS:
                named[ref["kind"], ref["name"]] = vpa
        for kind in KINDS:
            if kind in ("Deployment", "StatefulSet", "CronJob") or any(k == kind for k, _ in named):
                for target in self.cluster.client.list(kind, NAMESPACE):
                    name = target["metadata"]["name"]
                    vpa = named.pop((kind, name), None)
                    if vpa or name in DEMO:
                        found.append((name, {**target, "kind": kind}, vpa))
        found += [(name, None, vpa) for (_, name), vpa in named.items()]
        return sorted(found, key=lambda s: (DEMO.index(s[0]) if s[0] in DEMO else len(DEMO), s[0]))

    def now(self):
        return self.cluster.plane.now()[:16].replace("T", " ")

    def step(self):
        """One look and one picture. A cluster that does not answer for a moment is told once."""
        try:
            self.look()
            self.screen.draw(self.story.take(), self.works, self.shares, self.now())
            self.trouble = None
        except (ApiError, OSError) as problem:
            if self.trouble is None:
                self.screen.say(f"The cluster does not answer: {problem}")
            self.trouble = problem

    def settled(self):
        both_starts = BOOSTED not in (w.name for w in self.works if w.vpa) or \
            None not in (self.story.mean_start(True), self.story.mean_start(False))
        return self.trouble is None and both_starts and all(w.settled() for w in self.works)

    def run(self):
        begin, settled, told = time.monotonic(), 0, False
        while True:
            self.step()
            settled = settled + 1 if self.settled() else 0
            if settled == 3 and not told and not self.once:
                told = True
                self.screen.say("Every workload is right-sized. Try in another terminal:", *self.tries())
            if self.once and (settled >= 3 or time.monotonic() - begin > LIMIT_SECONDS):
                return self.finish(settled >= 3)
            time.sleep(1)

    def finish(self, good):
        say = self.screen.say
        say("", *table(self.works, self.screen.width()), "", *totals_lines(self.works), "",
            *side_by_side(self.works), "", *LEGEND, "",
            "Evictions: " + ", ".join(f"{w.name} {self.story.evicted(w.name)}" for w in self.works))
        for boosted, how in ((False, "without a boost"), (True, "with its CPU boost")):
            if self.story.mean_start(boosted) is not None:
                say(f"Time to Ready of {BOOSTED} {how}: {self.story.mean_start(boosted):.0f} s")
        waiting = ", ".join(w.name for w in self.works if not w.settled())
        say("Every workload is right-sized." if good else f"Not right-sized within {LIMIT_SECONDS} s: {waiting}", *NEXT)
        return 0 if good else 1

    def tries(self):
        """Three commands for another terminal; without kubectl the requests that it would send."""
        plane, recreate = self.cluster.plane, '{"spec":{"updatePolicy":{"updateMode":"Recreate"}}}'
        if shutil.which("kubectl"):
            kubectl = f"kubectl --kubeconfig={plane.kubeconfig} -n {NAMESPACE}"
            return (f"  {kubectl} describe vpa mongodb", f"  {kubectl} patch vpa web --type=merge -p '{recreate}'",
                    f"  {kubectl} apply -f {ROOT / 'deploy/demo/own.yaml'}")
        vpas = f"{plane.url}/apis/autoscaling.k8s.io/v1/namespaces/{NAMESPACE}/verticalpodautoscalers"
        return (f"  curl -s {vpas}/mongodb", f"  curl -s -X PATCH -H 'Content-Type: application/merge-patch+json' -d '{recreate}' {vpas}/web",
                f"  curl -s -X DELETE {vpas}/backup")

    def farewell(self):
        self.screen.say("", *LEGEND)
        if not self.once:
            self.screen.say("", "While the demo runs, try in another terminal:", *self.tries())
        self.screen.say("", f"Logs of all programs: {self.cluster.processes.folder}",
                        "Ctrl-C stops everything." if not self.once else "", "")


def play(folder, arguments):
    """Starts the cluster, runs the demo, ends everything. The exit status."""
    today = datetime.datetime.now(datetime.timezone.utc).date()
    status, cluster = 1, None
    try:
        cluster = Cluster(folder, "sim", arguments.rate, "release", [f"--start-time={today}T{START_HOUR:02}:00:00Z"])
        demo = Demo(cluster, arguments.once, Screen())
        demo.start()
        demo.farewell()
        status = demo.run()
    except KeyboardInterrupt:
        print("\nStopping.", *NEXT, sep="\n")
        status = 0
    except AssertionError as problem:
        print(f"The demo failed: {problem}\nLogs: {folder}", file=sys.stderr)
    finally:
        problems = cluster.close() if cluster else []
    for problem in problems:
        print(problem, file=sys.stderr)
        status = status or 1
    return status


def leave_nothing(folder):
    """A handler of signals: a closed terminal leaves no process and no file behind."""
    def handler(number, _frame):
        kill_everything()
        shutil.rmtree(folder, ignore_errors=True)
        os._exit(128 + number)
    return handler


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--once", action="store_true", help="until every workload is right-sized")
    parser.add_argument("--rate", type=float, default=300.0, help="cluster seconds per second")
    arguments = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="plumb-demo-"))
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, leave_nothing(folder))
    status = play(folder, arguments)
    if status == 0:
        shutil.rmtree(folder)
    return status


if __name__ == "__main__":
    sys.exit(main())
