"""What the recommender recommends, compared with a second computation and with an undisturbed run."""
import datetime
import random
import signal
import time

from cluster import ROOT, documents, until
from formulas import BUCKETS, Container, bucket_start, parse_quantity

NAMESPACE = "demo"
PERCENTILES = {"target": 0.9, "lowerBound": 0.5, "upperBound": 0.95}
KILLS = 3


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


def read_record(path, restart=None):
    """{workload: Container}; the workload is the pod's name up to its first dash. restart: when the recommender began
    again from its checkpoints."""
    containers = {}
    for line in open(path):
        _, pod, container, seconds, nanocores, kib = line.split()
        if restart and int(seconds) >= restart:
            for known in containers.values():
                known.restart(restart)
            restart = None
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


def checkpoint_names(cluster):
    return {c["metadata"]["name"] for c in cluster.client.list("VerticalPodAutoscalerCheckpoint", NAMESPACE)}


def start_undisturbed(cluster):
    """A second recommender with VPAs of its own for the same workloads, which nobody disturbs."""
    for vpa in documents(ROOT / "deploy/demo/vpas.yaml"):
        vpa["metadata"]["name"] += "-undisturbed"
        vpa["spec"]["updatePolicy"]["updateMode"] = "Off"
        vpa["spec"]["recommenders"] = [{"name": "undisturbed"}]
        cluster.client.apply(vpa)
    cluster.start_daemon("recommender", "--recommender-name=undisturbed")
    return cluster.daemons.pop("recommender")


def passes(cluster):
    return cluster.metrics("recommender").get('vpa_recommender_execution_latency_seconds_count{step="total"}', 0)


def restart(cluster, recommender, undisturbed):
    """kill -9, and a pass of the new process. While it is away the other one stands still: both miss the same usage,
    however long a busy machine takes."""
    undisturbed.process.send_signal(signal.SIGSTOP)
    recommender.kill()
    recommender.start()
    until(lambda: passes(cluster) >= 1, 60, "a pass of the new process")
    undisturbed.process.send_signal(signal.SIGCONT)


def stop_in_step(cluster, names, recommender, undisturbed):
    """Both stop after a pass with samples of after this call; the one that stood still needs a moment to go on."""
    moment = cluster.plane.now()

    def samples():
        return {c["spec"]["vpaObjectName"]: c["status"].get("lastSampleStart") or ""
                for c in cluster.client.list("VerticalPodAutoscalerCheckpoint", NAMESPACE)}

    wanted = {n + suffix for n in names for suffix in ("", "-undisturbed")}
    until(lambda: all(samples().get(name, "") > moment for name in wanted), 60, f"checkpoints of {wanted} after {moment}")
    for process in (recommender, undisturbed):
        process.stop()


def stored(cluster, name):
    """The status of the checkpoint of a VPA with one container."""
    (status,) = (c["status"] for c in cluster.client.list("VerticalPodAutoscalerCheckpoint", NAMESPACE)
                 if c["spec"]["vpaObjectName"] == name)
    return status


def minutes_of(status):
    first, last = (datetime.datetime.fromisoformat(status[m].replace("Z", "+00:00"))
                   for m in ("firstSampleStart", "lastSampleStart"))
    return (last - first).total_seconds() / 60


def moves(weights, percentile, share):
    """By how many buckets the percentile moves, at least and at most, when so large a share of the samples is another."""
    total, by_bucket = sum(weights.values()), sorted((int(bucket), weight) for bucket, weight in weights.items())

    def bucket_at(part):
        left = min(max(part, 0.0), 1.0) * total
        for bucket, weight in by_bucket:
            left -= weight
            if left <= 1e-9 * total:
                break
        return bucket

    here = bucket_at(percentile)
    return bucket_at(percentile - share) - here - 1, bucket_at(percentile + share) - here + 1


def assert_same(cluster, name):
    """What was killed knows as many samples as what was not, and recommends the same, but for a minute that each kill may have cost,
    and one at the end."""
    killed, whole = stored(cluster, name), stored(cluster, name + "-undisturbed")
    share = (KILLS + 1) / minutes_of(whole)
    assert share < 0.1, (name, share)
    counts = [status["totalSamplesCount"] for status in (killed, whole)]
    assert abs(counts[0] - counts[1]) <= share * counts[1], (name, counts)
    one, other = (cluster.recommendation(NAMESPACE, n)[name] for n in (name, name + "-undisturbed"))
    for bound, percentile in PERCENTILES.items():
        allowed = {"cpu": moves(whole["cpuHistogram"]["bucketWeights"], percentile, share),
                   "memory": (-1, 1)}  # of peaks of a day no sample can cost more than that
        for kind, first, a, b in zip(("cpu", "memory"), (10.0, 1e7), amounts(one, bound), amounts(other, bound)):
            moved = bucket_of(first, a) - bucket_of(first, b)
            assert allowed[kind][0] <= moved <= allowed[kind][1], (name, bound, kind, a, b, allowed[kind])


def scenario_restart(make):
    """kill -9 of the recommender at a random moment: afterwards the same as an undisturbed run, no checkpoint lost."""
    cluster = make(rate=240.0)
    start_workloads(cluster, "Off")
    undisturbed = start_undisturbed(cluster)
    recommender = cluster.start_daemon("recommender")
    chance = random.Random(20261121)
    names = ("mongodb", "etcd", "orders", "web")
    until(lambda: all(cluster.recommendation(NAMESPACE, n) for n in names), 60, "first recommendations")
    for _ in range(KILLS):
        # Each kill may lose a sample. So many are between them, however long a busy machine takes, that these are few.
        wanted = passes(cluster) + chance.randint(20, 32)
        until(lambda: passes(cluster) >= wanted, 120, f"{wanted} passes")
        before = checkpoint_names(cluster)
        restart(cluster, recommender, undisturbed)
        assert before <= checkpoint_names(cluster), before
    stop_in_step(cluster, names, recommender, undisturbed)
    for name in names:
        assert_same(cluster, name)
    left = checkpoint_names(cluster)
    assert {f"{n}-{n}" for n in names} <= left, left


scenario_restart.tiers = ["sim"]
scenario_restart.why = "hours of cluster time"


def scenario_restart_open_interval(make):
    """The memory peak of a day that is not over outlives a restart, also when usage has dropped since. The format of
    checkpoints leaves it out; it is in an annotation."""
    cluster = make(rate=240.0, flags=["--start-time=2026-03-02T22:00:00Z"])
    record = cluster.processes.folder / "record"
    start_workloads(cluster, "Off", record)  # etcd's usage grows until midnight, then begins again
    undisturbed = start_undisturbed(cluster)
    recommender = cluster.start_daemon("recommender")
    until(lambda: cluster.plane.now() >= "2026-03-03T00:20:00Z", 90, "twenty past midnight")
    moment = datetime.datetime.fromisoformat(cluster.plane.now().replace("Z", "+00:00")).timestamp()
    restart(cluster, recommender, undisturbed)
    stop_in_step(cluster, ["etcd"], recommender, undisturbed)
    one, other = (amounts(cluster.recommendation(NAMESPACE, name)["etcd"], "target")[1]
                  for name in ("etcd", "etcd-undisturbed"))
    assert abs(bucket_of(1e7, one) - bucket_of(1e7, other)) <= 1, (one, other)
    kept, forgotten = (read_record(record, at)["etcd"].recommend()["target"][1] for at in (None, moment))
    assert abs(bucket_of(1e7, one) - bucket_of(1e7, kept)) <= 1, (one, kept)
    assert bucket_of(1e7, kept) - bucket_of(1e7, forgotten) > 1, (kept, forgotten, "the peak made no difference")


scenario_restart_open_interval.tiers = ["sim"]
scenario_restart_open_interval.why = "hours of cluster time"
