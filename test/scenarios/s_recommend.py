"""What the recommender recommends, compared with a second computation and with an undisturbed run."""
import random
import signal
import time

from cluster import ROOT, documents, until
from formulas import BUCKETS, Container, bucket_start, parse_quantity

NAMESPACE = "demo"


def start_workloads(cluster, mode=None, record=None):
    """The workloads of the demo; with `mode` every VPA in that mode."""
    cluster.install()
    cluster.start_fakelet(record=record)
    cluster.apply(ROOT / "deploy/demo/workloads.yaml")
    for vpa in documents(ROOT / "deploy/demo/vpas.yaml"):
        if mode:
            vpa["spec"]["updatePolicy"]["updateMode"] = mode
        cluster.client.apply(vpa)


def bucket_of(first, value):
    """Index of the bucket that a recommendation (an end of a bucket plus the margin) belongs to."""
    return min(range(BUCKETS), key=lambda b: abs(bucket_start(first, b) * 1.15 - value))


def amounts(recommendation, bound):
    values = recommendation[bound]
    return 1000 * parse_quantity(values["cpu"]), parse_quantity(values["memory"])


def read_record(path):
    """{workload: Container}; the workload is the pod's name up to its first dash."""
    containers = {}
    for line in open(path):
        _, pod, container, seconds, nanocores, kib = line.split()
        found = containers.setdefault(container, Container())
        millicores = -(-int(nanocores) // 1000000)  # the API's milli values round up
        found.sample(pod, int(seconds), millicores, int(kib) * 1024)
    return containers


def scenario_formulas(make):
    """Each workload's recommendation equals what the formulas give for the samples served."""
    cluster = make(rate=240.0)
    record = cluster.processes.folder / "record"
    start_workloads(cluster, "Off", record)
    cluster.start_daemon("recommender")
    until(lambda: len(cluster.recommendation(NAMESPACE, "mongodb")) == 1, 60, "a first recommendation")
    time.sleep(40 * 240 / 240)  # 160 minutes of cluster time
    cluster.daemons["recommender"].stop()
    expected = read_record(record)
    for name in ("mongodb", "etcd", "backup", "orders", "web"):
        got = cluster.recommendation(NAMESPACE, name)[name]
        want = expected[name].recommend()
        for bound in ("target", "lowerBound", "upperBound"):
            for kind, first, w, g in zip(("cpu", "memory"), (10.0, 1e7), want[bound], amounts(got, bound)):
                # The last samples may have been served to a pass that did not end: one sample is less than 1 %.
                close = abs(g - w) <= max(1.0, 0.02 * w)
                assert close or abs(bucket_of(first, g) - bucket_of(first, w)) <= 1, (name, bound, kind, w, g)


scenario_formulas.tiers = ["sim"]
scenario_formulas.why = "hours of cluster time"


def scenario_restart(make):
    """kill -9 of the recommender at a random moment: afterwards the same as an undisturbed run, no checkpoint lost."""
    cluster = make(rate=240.0)
    start_workloads(cluster, "Off")
    for vpa in documents(ROOT / "deploy/demo/vpas.yaml"):
        vpa["metadata"]["name"] += "-undisturbed"
        vpa["spec"]["updatePolicy"]["updateMode"] = "Off"
        vpa["spec"]["recommenders"] = [{"name": "undisturbed"}]
        cluster.client.apply(vpa)
    cluster.start_daemon("recommender", "--recommender-name=undisturbed")
    undisturbed = cluster.daemons.pop("recommender")
    recommender = cluster.start_daemon("recommender")
    chance, passes = random.Random(20261121), 'vpa_recommender_execution_latency_seconds_count{step="total"}'
    names = ("mongodb", "etcd", "orders", "web")
    until(lambda: all(cluster.recommendation(NAMESPACE, n) for n in names), 60, "first recommendations")
    for _ in range(3):
        time.sleep(5 + 3 * chance.random())
        before = {c["metadata"]["name"] for c in cluster.client.list("VerticalPodAutoscalerCheckpoint", NAMESPACE)}
        # While one is away the other stands still: both miss the same usage, however long a busy machine takes.
        undisturbed.process.send_signal(signal.SIGSTOP)
        recommender.kill()
        after = {c["metadata"]["name"] for c in cluster.client.list("VerticalPodAutoscalerCheckpoint", NAMESPACE)}
        assert before <= after, before - after
        recommender.start()
        until(lambda: cluster.metrics("recommender").get(passes, 0) >= 1, 60, "a pass of the new process")
        undisturbed.process.send_signal(signal.SIGCONT)
    time.sleep(3)
    for process in (recommender, undisturbed):
        process.stop()
    for name in names:
        one = cluster.recommendation(NAMESPACE, name)[name]
        other = cluster.recommendation(NAMESPACE, name + "-undisturbed")[name]
        for kind, first, a, b in zip(("cpu", "memory"), (10.0, 1e7), amounts(one, "target"), amounts(other, "target")):
            assert abs(bucket_of(first, a) - bucket_of(first, b)) <= 1, (name, kind, a, b)
    left = {c["metadata"]["name"] for c in cluster.client.list("VerticalPodAutoscalerCheckpoint", NAMESPACE)}
    assert {f"{n}-{n}" for n in names} <= left, left


scenario_restart.tiers = ["sim"]
scenario_restart.why = "hours of cluster time"
