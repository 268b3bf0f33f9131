"""Two recommenders and one Lease: only its holder writes, whatever happened to the other one."""
import signal
import time

from cluster import until

NAMESPACE = "fencing"
VPAS = 120
LEASE = ("--leader-elect=true", "--leader-elect-lease-duration=10s", "--leader-elect-renew-deadline=6s",
         "--leader-elect-retry-period=1s", "--recommender-interval=2s", "--kube-api-qps=1000", "--kube-api-burst=1000")


def put_vpas(cluster):
    """Without targets each gets a status in the first pass, and nothing more is needed."""
    cluster.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    for i in range(VPAS):
        cluster.client.create({
            "apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler",
            "metadata": {"name": f"vpa-{i}", "namespace": NAMESPACE},
            "spec": {"targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": f"nobody-{i}"}}})


def with_status(cluster):
    return sum(1 for vpa in cluster.client.list("VerticalPodAutoscaler", NAMESPACE) if vpa.get("status"))


def lease_spec(cluster):
    return (cluster.client.find("Lease", "vpa-recommender-lease", "kube-system") or {}).get("spec", {})


def holder(cluster):
    return lease_spec(cluster).get("holderIdentity") or ""


def start(cluster):
    cluster.start_daemon("recommender", *LEASE)
    return cluster.daemons.pop("recommender")


def stop_between_renewals(cluster, daemon):
    """Who stands still in the middle of a renewal has lost the Lease when it wakes."""
    def renewed():
        return lease_spec(cluster).get("renewTime")

    def stopped():
        before = renewed()
        until(lambda: renewed() != before, 10, "the Lease is renewed")
        newest = renewed()
        time.sleep(0.3)  # its answer is read; the next one comes after a second
        daemon.process.send_signal(signal.SIGSTOP)
        time.sleep(0.3)  # one that was on its way has come
        if renewed() == newest:
            return True
        daemon.process.send_signal(signal.SIGCONT)
        return False

    until(stopped, 30, "no renewal is under way")


def scenario_frozen(make):
    """A recommender that stood still in a pass, and wakes after another took its Lease, writes nothing and ends."""
    cluster = make()
    cluster.install()
    put_vpas(cluster)
    cluster.plane.faults({"method": "PATCH", "path": "/status", "delayMs": 1500})
    first = start(cluster)
    lease = until(lambda: holder(cluster), 30, "the first one leads")
    second = start(cluster)
    until(lambda: with_status(cluster) >= 10, 30, "the first one is in the middle of a pass")
    first.process.send_signal(signal.SIGSTOP)
    until(lambda: holder(cluster) not in ("", lease), 40, "the second one leads")
    stop_between_renewals(cluster, second)
    cluster.plane.faults()

    def quiet():
        before = with_status(cluster)
        time.sleep(3)
        return with_status(cluster) == before
    until(quiet, 60, "what was under way is answered")
    assert with_status(cluster) < VPAS - 20, "the first one had something left to write"
    cluster.plane.requests("x", reset=True)
    first.process.send_signal(signal.SIGCONT)
    until(lambda: not first.running(), 30, "the first one ends")  # the second one's lease lasts longer
    calls = cluster.plane.requests("vpa-recommender")
    written = {call: n for call, n in calls.items() if call[0] not in ("get", "list", "watch") and call[1] != "leases"}
    second.process.send_signal(signal.SIGCONT)
    assert calls, "the first one is awake"
    assert not written, written
    assert first.process.returncode == 255 and "lost master" in first.text(), first.text()[-1500:]
    first.process = None
    until(lambda: with_status(cluster) == VPAS, 60, "the second one writes what the first one did not")


scenario_frozen.tiers = ["sim"]
scenario_frozen.why = "the simulator counts requests and slows some down"
