#!/usr/bin/env python3
"""The demo: a simulated cluster, the three daemons, a live table and a log of what happened (see demo.sh)."""
import argparse
import datetime
import pathlib
import shutil
import signal
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test/scenarios/lib"))

from cluster import Cluster  # noqa: E402
from formulas import parse_quantity  # noqa: E402

NAMESPACE = "demo"
BOOSTED = "orders"
WORKLOADS = ("mongodb", "etcd", "backup", "orders", "web")
LIMIT_SECONDS = 240  # of --once, the build not included
START_HOUR = 12  # of the simulated day: usage follows the hours, whenever somebody runs the demo


def cpu(text):
    return "-" if text is None else f"{1000 * parse_quantity(text):.0f}m"


def memory(text):
    return "-" if text is None else f"{parse_quantity(text) / 2 ** 20:.0f}Mi"


def pair(values):
    return f"{cpu(values.get('cpu'))} / {memory(values.get('memory'))}"


def seconds(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def annotations_of(pod):
    return pod["metadata"].get("annotations") or {}


def time_to_ready(pod):
    """Seconds from the pod's start, None until it is Ready."""
    for condition in pod["status"].get("conditions") or []:
        if condition["type"] == "Ready" and condition["status"] == "True":
            return seconds(condition["lastTransitionTime"]) - seconds(pod["status"]["startTime"])
    return None


class Workload:
    """What the table shows of one workload."""

    def __init__(self, name, mode):
        self.name, self.mode = name, mode
        self.pods, self.usage, self.recommendation = [], [], {}

    def newest(self):
        return max(self.pods, key=lambda p: (p["metadata"]["creationTimestamp"], p["metadata"]["name"]))

    def requests(self):
        """Of the newest pod."""
        return self.newest()["spec"]["containers"][0]["resources"].get("requests") or {} if self.pods else {}

    def row(self):
        rec = self.recommendation
        use = {}
        if self.usage:
            containers = [m["containers"][0]["usage"] for m in self.usage if m["containers"]]
            use = {k: f"{sum(parse_quantity(c[k]) for c in containers) / len(containers)}" for k in ("cpu", "memory")}
        return [self.name, self.mode, str(len(self.pods)), pair(self.requests()), pair(use),
                *(pair(rec.get(b) or {}) if rec else "- / -" for b in ("lowerBound", "target", "upperBound")),
                "yes" if self.right_sized() else "not yet"]

    def right_sized(self):
        """Every live pod has requests inside the recommended range, and between two runs of a CronJob the pod of the
        last one; a workload that is only watched has a recommendation and untouched pods."""
        if not self.recommendation or not self.pods:
            return False
        if self.mode == "Off":
            return not any("vpaUpdates" in (p["metadata"].get("annotations") or {}) for p in self.pods)
        live = [p for p in self.pods if p["status"].get("phase") in ("Running", "Pending")]
        return all(self.inside(p) for p in live or [self.newest()])

    def inside(self, pod):
        requests = pod["spec"]["containers"][0]["resources"].get("requests") or {}
        rec = self.recommendation
        return {"vpaUpdates", "vpaInPlaceUpdated"} & set(annotations_of(pod)) and all(
            resource in requests and
            parse_quantity(rec["lowerBound"][resource]) <= parse_quantity(requests[resource]) <=
            parse_quantity(rec["upperBound"][resource]) for resource in ("cpu", "memory"))


class Demo:
    def __init__(self, cluster, once):
        self.cluster, self.once = cluster, once
        self.terminal = sys.stdout.isatty()
        self.seen_events, self.seen_pods, self.log = set(), {}, []
        self.drawn = 0
        self.evictions = dict.fromkeys(WORKLOADS, 0)
        self.started = {}  # UID: (seconds to Ready, boosted) of the pods of one workload

    def start(self):
        steps = (("custom resources and rights", self.cluster.install),
                 ("nodes and usage", lambda: self.cluster.start_fakelet("--nodes=3")),
                 ("the workloads", lambda: self.cluster.apply(ROOT / "deploy/demo/workloads.yaml")),
                 ("the three daemons", self.cluster.start_all),
                 ("the autoscalers of the workloads", lambda: self.cluster.apply(ROOT / "deploy/demo/vpas.yaml")))
        for text, step in steps:
            print(f"Starting {text} ...", flush=True)
            step()

    def look(self):
        client = self.cluster.client
        vpas = {v["metadata"]["name"]: v for v in client.list("VerticalPodAutoscaler", NAMESPACE)}
        pods, usage = client.list("Pod", NAMESPACE), client.list("PodMetrics", NAMESPACE)
        found = []
        for name in WORKLOADS:
            work = Workload(name, vpas[name]["spec"]["updatePolicy"]["updateMode"])
            work.pods = [p for p in pods if p["metadata"]["labels"].get("app") == name]
            work.usage = [m for m in usage if (m["metadata"].get("labels") or {}).get("app") == name]
            recommended = (vpas[name].get("status") or {}).get("recommendation") or {}
            work.recommendation = next(iter(recommended.get("containerRecommendations") or []), {})
            found.append(work)
        self.follow(pods)
        return found

    def follow(self, pods):
        """Lines for pods that came (patched or not), were evicted, were resized, or are gone."""
        now = self.now()
        current = {p["metadata"]["uid"]: p for p in pods}
        for uid, pod in current.items():
            if uid not in self.seen_pods:
                updates = annotations_of(pod).get("vpaUpdates")
                requests = pod["spec"]["containers"][0]["resources"].get("requests") or {}
                how = f"patched by the webhook, requests {pair(requests)}" if updates else f"as written, requests {pair(requests)}"
                self.log.append(f"{now}  created   {pod['metadata']['name']}: {how}")
            self.watch_start(uid, pod)
        for event in self.cluster.client.list("Event", NAMESPACE):
            key = (event["metadata"]["uid"], event.get("count"))
            if event["involvedObject"]["kind"] == "Pod" and key not in self.seen_events and \
                    event["reason"] in ("EvictedByVPA", "InPlaceResizedByVPA", "Killing", "OOMKilled"):
                self.seen_events.add(key)
                what = "evicted  " if event["reason"] == "EvictedByVPA" else "resized  "
                name = event["involvedObject"]["name"].split("-")[0]
                if event["reason"] == "EvictedByVPA" and name in self.evictions:
                    self.evictions[name] += 1
                self.log.append(f"{now}  {what} {event['involvedObject']['name']}: {event['message']}")
        self.seen_pods = current

    def watch_start(self, uid, pod):
        took = time_to_ready(pod)
        if pod["metadata"]["labels"].get("app") != BOOSTED or uid in self.started or took is None:
            return
        boosted = any(k.startswith("vpaCpuStartupBoost/") or k == "vpaInPlaceUpdated" for k in annotations_of(pod))
        self.started[uid] = (took, boosted)
        how = "with its CPU boost" if boosted else "without a boost"
        self.log.append(f"{self.now()}  ready     {pod['metadata']['name']}: after {took:.0f} s {how}")

    def starts(self, boosted):
        """Seconds to Ready of the pods that started that way, on average; None without one."""
        found = [took for took, how in self.started.values() if how == boosted]
        return sum(found) / len(found) if found else None

    def now(self):
        return self.cluster.plane.now()[:16].replace("T", " ")

    def table(self, works):
        head = ["WORKLOAD", "MODE", "PODS", "REQUESTS", "USAGE", "LOWER", "TARGET", "UPPER", "RIGHT-SIZED"]
        rows = [head] + [w.row() for w in works]
        widths = [max(len(r[i]) for r in rows) for i in range(len(head))]
        return ["  ".join(c.ljust(w) for c, w in zip(r, widths)).rstrip() for r in rows]

    def draw(self, works):
        """On a terminal the table stays at the bottom and the log scrolls above it; in a pipe only the log."""
        new, self.log = self.log, []
        if not self.terminal:
            for line in new:
                print(line, flush=True)
            return
        if self.drawn:
            sys.stdout.write(f"\x1b[{self.drawn}A\x1b[J")
        for line in new:
            print(line)
        width = shutil.get_terminal_size().columns
        lines = ["", f"cluster time {self.now()} (CPU / memory per pod)", *self.table(works)]
        for line in lines:
            print(line[:width - 1])
        self.drawn = len(lines)
        sys.stdout.flush()

    def run(self):
        begin, settled = time.monotonic(), 0
        while True:
            works = self.look()
            self.draw(works)
            good = all(w.right_sized() for w in works) and None not in (self.starts(True), self.starts(False))
            settled = settled + 1 if good else 0
            if self.once and settled >= 3:
                return self.finish(works, True)
            if self.once and time.monotonic() - begin > LIMIT_SECONDS:
                return self.finish(works, False)
            time.sleep(1)

    def finish(self, works, good):
        print("\n" + "\n".join(self.table(works)))
        print("Evictions: " + ", ".join(f"{name} {count}" for name, count in self.evictions.items()))
        for boosted, how in ((False, "without a boost"), (True, "with its CPU boost")):
            if self.starts(boosted) is not None:
                print(f"Time to Ready of {BOOSTED} {how}: {self.starts(boosted):.0f} s")
        waiting = [w.name for w in works if not w.right_sized()]
        print("Every workload is right-sized." if good else
              f"Not right-sized within {LIMIT_SECONDS} s: {', '.join(waiting)}")
        return 0 if good else 1

    def farewell(self):
        print(f"\nWhile the demo runs, kubectl can be pointed at its cluster:\n"
              f"  kubectl --kubeconfig={self.cluster.plane.kubeconfig} -n {NAMESPACE} get vpa,pods\n"
              f"Logs of all programs: {self.cluster.processes.folder}\nCtrl-C stops everything.\n", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--once", action="store_true", help="until every workload is right-sized")
    parser.add_argument("--rate", type=float, default=300.0, help="cluster seconds per second")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    folder = pathlib.Path(tempfile.mkdtemp(prefix="plumb-demo-"))
    status, cluster = 1, None
    today = datetime.datetime.now(datetime.timezone.utc).date()
    try:
        cluster = Cluster(folder, "sim", arguments.rate, "release",
                          [f"--start-time={today}T{START_HOUR:02}:00:00Z"])
        demo = Demo(cluster, arguments.once)
        demo.start()
        demo.farewell()
        status = demo.run()
    except KeyboardInterrupt:
        print("\nStopping.")
        status = 0
    except AssertionError as problem:
        print(f"The demo failed: {problem}\nLogs: {folder}", file=sys.stderr)
    finally:
        problems = cluster.close() if cluster else []
    for problem in problems:
        print(problem, file=sys.stderr)
        status = status or 1
    if status == 0:
        shutil.rmtree(folder)
    return status


if __name__ == "__main__":
    sys.exit(main())
