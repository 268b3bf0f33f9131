"""The three daemons together: pods are right-sized, and everything goes on when one part is away."""
import re
import signal
import subprocess
import sys
import time

from cluster import ROOT, until
from formulas import parse_quantity
from s_recommend import NAMESPACE, start_workloads


def patched(pod):
    """By the webhook, or by a resize in place."""
    return bool({"vpaUpdates", "vpaInPlaceUpdated"} & set(pod["metadata"].get("annotations") or {}))


def boosted(pod):
    """Not ready yet, or with the mark of a startup boost."""
    ready = any(c["type"] == "Ready" and c["status"] == "True" for c in pod["status"].get("conditions") or [])
    return not ready or any(k.startswith("vpaCpuStartupBoost/") for k in pod["metadata"].get("annotations") or {})


def live(cluster, **labels):
    return [p for p in cluster.pods(NAMESPACE, **labels) if not p["metadata"].get("deletionTimestamp")]


def wait_for_usage(cluster, *names):
    """Until what is recommended rests on usage. Without a sample it is the minimum, as upstream's: less than these need, so that
    the kubelet refuses such a resize."""
    until(lambda: all(r and min(parse_quantity(c["target"]["memory"]) for c in r.values()) > 250 * 2 ** 20
                      for r in (cluster.recommendation(NAMESPACE, name) for name in names)), 90, "recommendations")


def uids_of_pair(cluster, app):
    """UIDs of the two replicas, once both are there."""
    return {p["metadata"]["uid"] for p in until(
        lambda: (lambda pods: pods if len(pods) == 2 else None)(live(cluster, app=app)), 30, f"two pods of {app}")}


def requests_of(pod):
    found = pod["spec"]["containers"][0]["resources"].get("requests") or {}
    return {k: parse_quantity(v) for k, v in found.items()}


def limits_of(pod):
    found = pod["spec"]["containers"][0]["resources"].get("limits") or {}
    return {k: parse_quantity(v) for k, v in found.items()}


def scenario_demo(make):
    """The demo with --once: every workload ends right-sized."""
    done = subprocess.run([sys.executable, "-B", ROOT / "deploy/demo/run.py", "--once", "--rate=600"],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    for text in ("Every workload is right-sized.", "evicted", "patched by the webhook", "Evictions: mongodb 0, "):
        assert text in done.stdout, done.stdout[-3000:]
    took = [int(s) for s in re.findall(r"^Time to Ready of orders with.*: (\d+) s$", done.stdout, re.M)]
    print("      time to Ready of orders: {} s without a boost, {} s with it".format(*took))
    assert 55 <= took[0] <= 70 and took[1] <= took[0] * 2 / 3, done.stdout[-3000:]


scenario_demo.tiers = ["sim"]
scenario_demo.why = "starts its own cluster"


def scenario_right_size(make):
    """Resized in place, or evicted and recreated, by the mode; limits follow by the ratio of the template; Off is left alone."""
    cluster = make(rate=60.0)
    start_workloads(cluster)
    before = uids_of_pair(cluster, "web")
    for app in ("mongodb", "etcd"):  # one after the other: the last would be created with a recommendation already
        until(lambda: len(live(cluster, app=app)) == 3, 60, f"the replicas of {app}")
    mongodb = {p["metadata"]["uid"] for p in live(cluster, app="mongodb")}
    cluster.start_daemon("recommender")
    wait_for_usage(cluster, "mongodb", "etcd")
    cluster.start_all()
    until(lambda: all(map(patched, live(cluster, app="mongodb"))), 120, "all replicas of mongodb are resized")
    assert {p["metadata"]["uid"] for p in live(cluster, app="mongodb")} == mongodb
    for pod in live(cluster, app="mongodb"):
        requests, limits = requests_of(pod), limits_of(pod)
        assert requests["memory"] < 6 * 2 ** 30, requests
        assert abs(limits["memory"] / requests["memory"] - 10 / 6) < 1e-6, (requests, limits)
        assert "cpu" not in limits, limits
    until(lambda: len(live(cluster, app="etcd")) == 3 and all(map(patched, live(cluster, app="etcd"))), 120,
          "all replicas of etcd are patched")
    for pod in live(cluster, app="etcd"):
        requests, limits = requests_of(pod), limits_of(pod)
        assert abs(limits["cpu"] / requests["cpu"] - 700) < 1e-6, (requests, limits)
        assert "memory" in requests and "memory" not in limits, (requests, limits)
    assert {p["metadata"]["uid"] for p in live(cluster, app="web")} == before
    events = [e for e in cluster.client.list("Event", NAMESPACE) if e["reason"] == "EvictedByVPA"]
    assert sum(e["involvedObject"]["name"].startswith("etcd-") for e in events) >= 3, len(events)
    assert not any(e["involvedObject"]["name"].startswith("mongodb-") for e in events)


def scenario_webhook_away(make):
    """The webhook dead or hanging: pods are still created; when it is back new pods are patched again."""
    cluster = make(rate=60.0)
    cluster.start_all()
    start_workloads(cluster)
    until(lambda: cluster.recommendation(NAMESPACE, "etcd"), 90, "a recommendation")
    webhook = cluster.daemons["admission-controller"]
    cluster.daemons["updater"].stop()

    def replace(expected):
        victim = live(cluster, app="etcd")[0]
        cluster.client.delete("Pod", victim["metadata"]["name"], NAMESPACE)

        def replaced():
            pods = {p["metadata"]["name"]: p for p in live(cluster, app="etcd")}
            pod = pods.get(victim["metadata"]["name"])
            return pod if pod and pod["metadata"]["uid"] != victim["metadata"]["uid"] else None
        pod = until(replaced, 60, "the pod is recreated")
        assert patched(pod) == expected, pod["metadata"]

    cluster.webhook_knows()
    replace(True)
    webhook.kill()
    replace(False)
    webhook.start()
    until(lambda: "The webhook is registered already" in webhook.text(), 30, "it finds its registration")
    replace(True)
    webhook.process.send_signal(signal.SIGSTOP)
    try:
        replace(False)
    finally:
        webhook.process.send_signal(signal.SIGCONT)


def scenario_recommender_away(make):
    """The recommender down: webhook and updater work on from the stored recommendation."""
    cluster = make(rate=60.0)
    cluster.start_all()
    cluster.daemons["updater"].stop()
    start_workloads(cluster)
    wait_for_usage(cluster, "mongodb", "etcd")
    cluster.daemons["recommender"].kill()
    cluster.daemons["updater"].start()
    until(lambda: len(live(cluster, app="mongodb")) == 3 and all(map(patched, live(cluster, app="mongodb"))), 150,
          "mongodb is right-sized from the stored recommendation")


def scenario_faults(make):
    """Every fault of the simulator in turn: no daemon ends or leaks, and all recover."""
    cluster = make(rate=30.0)
    cluster.start_all()
    start_workloads(cluster)
    until(lambda: cluster.recommendation(NAMESPACE, "mongodb"), 90, "a recommendation")
    web = uids_of_pair(cluster, "web")
    ours = {"userAgent": "vpa-"}
    faults = {
        "slow answers": [{**ours, "delayMs": 400}],
        "429 with Retry-After": [{**ours, "status": 429, "retryAfter": 1, "probability": 0.5}],
        "429": [{**ours, "status": 429, "probability": 0.5}],
        "500": [{**ours, "status": 500, "probability": 0.7}],
        "503 for everything": [{**ours, "status": 503}, {**ours, "status": 503, "watch": True}],
        "403": [{**ours, "status": 403, "probability": 0.5}],
        "answers cut short": [{**ours, "cutAfter": 100, "probability": 0.7}],
        "connections reset": [{**ours, "cutAfter": 50, "reset": True, "probability": 0.7}],
        "streams cut short": [{**ours, "watch": True, "cutAfter": 700}],
        "streams reset": [{**ours, "watch": True, "cutAfter": 700, "reset": True}],
        "in-stream 410": [{**ours, "watch": True, "gone": True}],
        "events twice": [{**ours, "watch": True, "duplicate": True}],
        "HTTP 410": [{**ours, "watch": True, "status": 410}, {**ours, "method": "GET", "status": 410, "probability": 0.5}],
        "stale reads": [{**ours, "stale": True}],
        "usage away": [{**ours, "path": "metrics.k8s.io", "status": 503}],
    }
    for name, rules in faults.items():
        cluster.plane.faults(*rules)
        time.sleep(2)  # a minute of cluster time
        cluster.plane.faults()
        for daemon, process in cluster.daemons.items():
            assert process.running(), f"{daemon} ended during: {name}\n{process.text()[-2000:]}"
    assert {p["metadata"]["uid"] for p in live(cluster, app="web")} == web
    cluster.client.create({
        "apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler",
        "metadata": {"name": "after", "namespace": NAMESPACE},
        "spec": {"targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
                 "updatePolicy": {"updateMode": "Off"}}})
    until(lambda: cluster.recommendation(NAMESPACE, "after"), 60, "the recommender serves a new object")
    before = {p["metadata"]["uid"] for p in live(cluster, app="mongodb")}
    victim = live(cluster, app="mongodb")[0]
    cluster.client.delete("Pod", victim["metadata"]["name"], NAMESPACE)

    # By its requests: the mark of a resize may have met a fault after the resize.
    def right_sized(pod):
        requests = pod["spec"]["containers"][0]["resources"]["requests"]["memory"]
        return requests != "6Gi" and (pod["metadata"]["uid"] in before or patched(pod))

    until(lambda: len(live(cluster, app="mongodb")) == 3 and all(map(right_sized, live(cluster, app="mongodb"))), 120,
          "webhook and updater work again")


scenario_faults.tiers = ["sim"]
scenario_faults.why = "a real server has no fault switches"


def scenario_calls(make):
    """While nothing changes a pass of the recommender is one call, the usage; a pass of the updater is the lease."""
    cluster = make(rate=60.0)
    cluster.start_all()
    start_workloads(cluster, mode="Off")
    cluster.client.delete("VerticalPodAutoscaler", "backup", NAMESPACE)
    until(lambda: cluster.recommendation(NAMESPACE, "mongodb"), 90, "a recommendation")
    until(lambda: len(live(cluster, app="orders")) == 2 and not any(map(boosted, live(cluster, app="orders"))), 120,
          "the boost of orders is taken back")

    def quiet():
        """The updater has nothing to write for two minutes of cluster time."""
        cluster.plane.requests("x", reset=True)
        time.sleep(2)
        return all(verb in ("get", "list", "watch") for verb, _ in cluster.plane.requests("vpa-updater", reset=True))
    until(quiet, 60, "all is said and done")
    before = cluster.metrics("recommender")
    cluster.wait_passes("recommender", 8)
    after = cluster.metrics("recommender")
    passes = after['vpa_recommender_execution_latency_seconds_count{step="total"}'] - \
        before['vpa_recommender_execution_latency_seconds_count{step="total"}']
    assert passes >= 8, passes
    calls = cluster.plane.requests("vpa-recommender")
    lists = sum(n for (verb, resource), n in calls.items() if verb == "list" and "pods" in resource)
    assert lists <= passes + 1, (passes, calls)
    updater = cluster.plane.requests("vpa-updater")
    assert all(verb in ("get", "watch") for verb, _ in updater), updater


scenario_calls.tiers = ["sim"]
scenario_calls.why = "the simulator counts requests"


def scenario_stop(make):
    """SIGTERM: each daemon ends with status 0 within five seconds and gives its Lease back."""
    cluster = make()
    cluster.start_all()
    cluster.daemons["recommender"].stop()
    cluster.start_daemon("recommender", "--leader-elect=true", "--leader-elect-resource-name=vpa-recommender-lease")
    lease = until(lambda: cluster.client.find("Lease", "vpa-recommender-lease", "kube-system"), 30, "the lease")
    assert lease["spec"]["holderIdentity"], lease
    for name, process in cluster.daemons.items():
        assert process.stop(seconds=5) == 0, (name, process.text()[-1500:])
    lease = cluster.client.get("Lease", "vpa-recommender-lease", "kube-system")
    assert not lease["spec"].get("holderIdentity"), lease


scenario_stop.preset = "release"  # five seconds are a promise of what is shipped
