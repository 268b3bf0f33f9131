"""Acceptance cases U1 to U12: the updater alone; the scenario plays the webhook by its Lease."""
import json

from cluster import until
from fixtures import Hamster, amounts, container, numbers, recommendation
from formulas import parse_quantity

SMALL, MIDDLE, LARGE = amounts("100m", "100Mi"), amounts("200m", "200Mi"), amounts("500m", "500Mi")
LEASE = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
         "metadata": {"name": "vpa-admission-controller", "namespace": "kube-system"},
         "spec": {"holderIdentity": "test", "leaseDurationSeconds": 60}}


def started(cluster, namespace, start, *rec, replicas=3, **vpa):
    """(hamster, uids of its first pods)"""
    hamster = Hamster(cluster, namespace)
    hamster.create([container(requests=start)], replicas)
    hamster.wait_pods(replicas)
    before = hamster.uids()
    hamster.vpa(*(rec or [recommendation(**MIDDLE)]), **vpa)
    return hamster, before


def growth(cluster, namespace):
    """U1: evicts for growth"""
    hamster, before = started(cluster, namespace, SMALL, mode="Recreate")
    hamster.wait_evicted(before)


def shrink(cluster, namespace):
    """U2: evicts for shrink"""
    hamster, before = started(cluster, namespace, LARGE, mode="Recreate")
    hamster.wait_evicted(before)


def requirement(cluster, namespace):
    """U3: an eviction requirement blocks the shrink"""
    hamster, before = started(cluster, namespace, LARGE, mode="Recreate", update={"evictionRequirements": [
        {"resources": ["cpu"], "changeRequirement": "TargetHigherThanRequests"}]})
    hamster.never_evicted(before)


def no_lease(cluster, namespace):
    """U4: no admission controller, no eviction"""
    hamster, before = started(cluster, namespace, SMALL, mode="InPlaceOrRecreate")
    hamster.never_evicted(before)


def in_place_growth(cluster, namespace):
    """U5: in-place growth"""
    hamster, before = started(cluster, namespace, SMALL, mode="InPlaceOrRecreate")
    hamster.wait_resized(before)


def in_place_shrink(cluster, namespace):
    """U6: in-place shrink"""
    hamster, before = started(cluster, namespace, LARGE, mode="InPlaceOrRecreate")
    hamster.wait_resized(before)


def in_place_only(cluster, namespace):
    """U7: in-place growth, in-place-only mode"""
    hamster, before = started(cluster, namespace, SMALL, mode="InPlace")
    hamster.wait_resized(before)


def in_place_never_evicts(cluster, namespace):
    """U8: in-place-only mode never evicts"""
    hamster, before = started(cluster, namespace, LARGE, mode="InPlace")
    hamster.never_evicted(before)


def shown(values):
    def check(pod):
        return all(numbers((s.get("resources") or {}).get("requests") or {}) == numbers(values)
                   for s in pod["status"]["containerStatuses"])
    return check


def follows(cluster, namespace):
    """U9: follows a changed recommendation"""
    hamster, before = started(cluster, namespace, SMALL, mode="InPlace")
    hamster.wait_resized(before, check=shown(MIDDLE))
    more = amounts("300m", "200Mi")
    hamster.seed(recommendation(**more))
    hamster.wait_resized(before, check=shown(more))


def out_of_memory(cluster, namespace, threshold):
    hamster = Hamster(cluster, namespace)
    gibibyte = {"memory": "1Gi"}
    hamster.create([container(requests=gibibyte, limits=gibibyte)],
                   annotations={"fakelet.plumb/memory": "1025Mi", "fakelet.plumb/after": "4s"})
    until(lambda: any((s.get("lastState", {}).get("terminated") or s.get("state", {}).get("terminated") or {})
                      .get("reason") == "OOMKilled" for p in hamster.pods() for s in p["status"].get("containerStatuses") or []),
          60, "a container is OOMKilled")
    before = hamster.uids()
    hamster.vpa(recommendation(memory="2Gi", lower={"memory": "500Mi"}, upper={"memory": "3Gi"}), mode="Recreate",
                update={"evictAfterOOMSeconds": threshold})
    return hamster, before


def slow_oom(cluster, namespace):
    """U10: a slow OOM is no reason"""
    hamster, before = out_of_memory(cluster, namespace, 1)
    hamster.never_evicted(before)


def quick_oom(cluster, namespace):
    """U11: a quick OOM is a reason"""
    hamster, before = out_of_memory(cluster, namespace, 600)
    hamster.wait_evicted(before)


def unboost(cluster, namespace):
    """U12: a boost is taken back"""
    hamster = Hamster(cluster, namespace)
    hamster.create([container(requests=amounts("200m", "100Mi"))],
                   annotations={"vpaCpuStartupBoost/hamster": json.dumps({"requests": SMALL, "limits": {}})})
    hamster.wait_pods(3)
    before = hamster.uids()
    hamster.vpa({"containerName": "hamster", "target": SMALL},
                startupBoost={"cpu": {"type": "Factor", "factor": 2, "durationSeconds": 1}})
    hamster.wait_resized(before, check=lambda pod: all(
        parse_quantity(c["resources"]["requests"]["cpu"]) == 0.1 for c in pod["spec"]["containers"]))


def scenario_e2e_updater(make):
    """Acceptance cases U1 to U12; U4 before there is a Lease, the others side by side."""
    cluster = make(rate=30.0)
    cluster.install()
    cluster.start_fakelet()
    cluster.start_daemon("updater", "--admission-controller-status-lease-timeout=24h")  # as if renewed all the time
    make.cases(cluster, [no_lease])
    cluster.client.create({**LEASE, "spec": {**LEASE["spec"], "renewTime": cluster.plane.now()[:19] + ".000000Z"}})
    make.cases(cluster, [growth, shrink, requirement, in_place_growth, in_place_shrink, in_place_only,
                         in_place_never_evicts, follows, slow_oom, quick_oom, unboost], jobs=11)


scenario_e2e_updater.seconds = 60
scenario_e2e_updater.each_minor = True
