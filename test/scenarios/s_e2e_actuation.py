"""Acceptance cases C1 to C31: updater and webhook together, on seeded recommendations."""
import datetime

from cluster import until
from fixtures import KINDS, Hamster, amounts, container, recommendation, spec_of
from sidecar import SidecarWebhook

SMALL = amounts("100m", "100Mi")
CPU = recommendation(cpu="200m")


def started(cluster, namespace, *rec, kind="Deployment", replicas=3, containers=None, annotations=None, seconds=120, **vpa):
    """(hamster, uids of its first pods); the VPA comes when the pods run."""
    hamster = Hamster(cluster, namespace, kind)
    hamster.create(containers or [container(requests=SMALL)], replicas, annotations)
    hamster.wait_pods(replicas, seconds=seconds)
    before = hamster.uids()
    hamster.began = now(cluster)
    hamster.vpa(*rec, **vpa)
    return hamster, before


def now(cluster):
    """The time of the cluster, in seconds."""
    return datetime.datetime.fromisoformat(cluster.plane.now().replace("Z", "+00:00")).timestamp()


def replace_one(hamster, count=3):
    victim = hamster.pods()[0]["metadata"]
    hamster.client.delete("Pod", victim["name"], hamster.namespace)
    until(lambda: len(hamster.pods()) == count and victim["uid"] not in hamster.uids(), 60, "the pod is replaced")


def cpu_of(hamster):
    return sorted(spec_of(p)[0].get("cpu") for p in hamster.pods())


def in_place_at_creation(cluster, namespace):
    """C1: InPlaceOrRecreate still works at pod creation"""
    hamster, before = started(cluster, namespace, CPU, mode="InPlaceOrRecreate")
    hamster.never_evicted(before)
    replace_one(hamster)
    until(lambda: cpu_of(hamster) == [0.2] * 3, 60, "all pods request 200m")


def all_containers(cluster, namespace):
    """C2: all containers resized in place"""
    wanted = amounts("200m", "200Mi")
    hamster, before = started(cluster, namespace, recommendation(**wanted), recommendation("hamster2", **wanted),
                              containers=[container(n, SMALL) for n in ("hamster", "hamster2")], mode="InPlaceOrRecreate")

    def shown(pod):
        return all((s.get("resources") or {}).get("requests") == wanted for s in pod["status"]["containerStatuses"])
    hamster.wait_resized(before, 90, shown)


def infeasible(cluster, namespace):
    """C3: an infeasible resize falls back to eviction"""
    hamster, before = started(cluster, namespace,
                              recommendation(cpu="999", lower={"cpu": "200m"}, upper={"cpu": "200m"}), replicas=2,
                              mode="InPlaceOrRecreate")
    hamster.wait_evicted(before)


def pending(cluster, namespace):
    """C5: stops when pods become pending"""
    hamster, _ = started(cluster, namespace, recommendation(cpu="9999"))

    def waiting():
        return sum(p["status"].get("phase") == "Pending" for p in hamster.pods())
    until(lambda: waiting() == 1 and len(hamster.pods()) == 3, 90, "one pod is pending")
    for _ in range(4):
        cluster.wait_passes("updater", 1)
        assert waiting() == 1, waiting()


def mode_off(cluster, namespace):
    """C6: mode Off"""
    hamster, before = started(cluster, namespace, CPU, mode="Off")
    hamster.never_evicted(before)
    replace_one(hamster)
    assert cpu_of(hamster) == [0.1] * 3, cpu_of(hamster)


def mode_initial(cluster, namespace):
    """C7: mode Initial"""
    hamster, before = started(cluster, namespace, CPU, mode="Initial")
    hamster.never_evicted(before)
    replace_one(hamster)
    assert cpu_of(hamster) == [0.1, 0.1, 0.2], cpu_of(hamster)


def by_kind():
    """C8 to C25: replicated pods are evicted, single ones are spared, single ones are evicted when told, for each kind."""
    def replicated(cluster, namespace, kind):
        hamster, before = started(cluster, namespace, CPU, kind=kind)
        hamster.wait_evicted(before)

    def single(cluster, namespace, kind):
        hamster, before = started(cluster, namespace, CPU, kind=kind, replicas=1)
        hamster.never_evicted(before)

    def told(cluster, namespace, kind):
        hamster, before = started(cluster, namespace, CPU, kind=kind, replicas=1, update={"minReplicas": 1,
                                                                                       "updateMode": "Recreate"})
        hamster.wait_evicted(before)

    number, cases = 8, []
    for function, title in ((replicated, "evicts replicated pods"), (single, "spares single pods"),
                            (told, "evicts single pods when told")):
        for kind in KINDS:
            def case(cluster, namespace, function=function, kind=kind):
                function(cluster, namespace, kind)
            case.__doc__ = f"C{number}: {title}, {kind}"
            cases.append(case)
            number += 1
    return cases


def budget(cluster, namespace):
    """C26: disruption budget"""
    hamster = Hamster(cluster, namespace)

    def allow(name, count):
        cluster.client.create({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
                               "metadata": {"name": name, "namespace": namespace},
                               "spec": {"maxUnavailable": count, "selector": {"matchLabels": {"app": "hamster"}}}})
        until(lambda: cluster.client.get("PodDisruptionBudget", name, namespace).get("status", {}).get("expectedPods") == 10,
              30, "the budget counts its pods")
    hamster.create([container(requests=amounts("10m", "10Mi"))], 10)
    hamster.wait_pods(10)
    before = hamster.uids()
    allow("none", 0)
    hamster.vpa(recommendation(cpu="25m"))
    hamster.never_evicted(before)
    cluster.client.delete("PodDisruptionBudget", "none", namespace)
    allow("seven", 7)
    hamster.wait_evicted(before, 7)


def held_back(identity, title, target, kind, bound, amount, count=1):
    """The LimitRange comes before the VPA here, which closes the race that upstream's order leaves."""
    def run(cluster, namespace):
        hamster = Hamster(cluster, namespace)
        names = ["hamster", "hamster2"][:count]
        hamster.create([container(n, amounts("100m", "200Mi"), amounts("300m", "400Mi")) for n in names])
        hamster.wait_pods(3)
        before = hamster.uids()
        hamster.limit_range(kind, **{bound: amount})
        cluster.wait_passes("updater", 1)
        hamster.vpa(*(recommendation(n, cpu=target) for n in names))
        hamster.never_evicted(before)
    run.__doc__ = f"{identity}: {title}"
    return run


def deferred(cluster, namespace):
    """C4: a deferred resize falls back to eviction after five minutes"""
    hamster, before = started(cluster, namespace,
                              recommendation(cpu="16", lower={"cpu": "200m"}, upper={"cpu": "200m"}), replicas=2,
                              mode="InPlaceOrRecreate")

    def is_deferred(pod):
        return any(c["type"] == "PodResizePending" and c["status"] == "True" and c.get("reason") == "Deferred"
                   for c in pod["status"].get("conditions") or [])
    until(lambda: any(map(is_deferred, hamster.pods())), 60, "a resize is deferred")
    hamster.wait_evicted(before, seconds=120 if cluster.tier == "sim" else 420)
    took = now(cluster) - hamster.began
    assert took >= 300, f"evicted before its time, after {took:.0f} s"


def sidecar(cluster, namespace):
    """C31: an injected sidecar is ignored"""
    webhook = SidecarWebhook(cluster.client, cluster.processes.folder / "sidecar-certs",
                             namespace, container("hamster2", SMALL))
    try:
        hamster = Hamster(cluster, namespace)
        hamster.create([container(requests=SMALL)], 0)
        hamster.vpa(recommendation(cpu="100m"), recommendation("hamster2", cpu="5000m"))
        cluster.webhook_knows()
        hamster.change(replicas=3)
        for pod in hamster.wait_pods(3):
            assert len(pod["spec"]["containers"]) == 2, pod["spec"]
            assert pod["metadata"]["annotations"]["vpaObservedContainers"] == "hamster", pod["metadata"]
        hamster.never_evicted(hamster.uids())
    finally:
        webhook.close()


HELD = [held_back("C27", "container max holds back", "200m", "Container", "max", amounts("300m", "1T")),
        held_back("C28", "container min holds back", "50m", "Container", "min", amounts("100m", "0")),
        held_back("C29", "pod max holds back", "200m", "Pod", "max", amounts("600m", "2T"), 2),
        held_back("C30", "pod min holds back", "50m", "Pod", "min", amounts("200m", "0"), 2)]


def scenario_e2e_actuation(make):
    """Acceptance cases C1 to C31, side by side in namespaces of their own."""
    cluster = make(rate=30.0)
    cluster.install()
    # Many small nodes: a pod that asks for a whole one finds others on it.
    cluster.start_fakelet("--nodes=4")
    cluster.start_daemon("admission-controller")
    cluster.start_daemon("updater")
    until(lambda: cluster.client.find("Lease", "vpa-admission-controller", "kube-system"), 60, "the webhook's Lease")
    make.cases(cluster, [deferred, *by_kind(), in_place_at_creation, all_containers, infeasible, pending, mode_off,
                         mode_initial, budget, *HELD, sidecar], jobs=12)


scenario_e2e_actuation.seconds = 330  # C4 waits five minutes of the clock, on a real server too
scenario_e2e_actuation.each_minor = True
