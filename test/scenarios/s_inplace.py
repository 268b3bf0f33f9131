"""Resizes in place: each row of the decision tables that a cluster can produce, and that nothing is evicted that need not be."""
from bed import Bed, IN_PLACE_MODES, NAMESPACE, actual_of, annotations_of, condition, number, resources_of, until

SMALL = {"cpu": "250m", "memory": "256Mi"}
MIDDLE = {"cpu": "500m", "memory": "512Mi"}


def scenario_inplace_modes(make):
    """Both modes: resized without a restart, limits by the ratio, QoS class kept, each pod sent once, nothing evicted."""
    bed = Bed(make)
    for mode in IN_PLACE_MODES:
        name = mode.lower()
        bed.workload(name, MIDDLE, {"cpu": "1", "memory": "1Gi"})
        bed.workload(f"{name}-equal", MIDDLE, MIDDLE)
        for workload in (name, f"{name}-equal"):
            bed.vpa(workload, mode)
            bed.recommend(workload, **SMALL)
    names = [n for mode in IN_PLACE_MODES for n in (mode.lower(), f"{mode.lower()}-equal")]
    before = {n: bed.uids(n) for n in names}
    for name in names:
        limits = SMALL if name.endswith("equal") else {"cpu": "500m", "memory": "512Mi"}
        until(lambda: bed.applied(name, SMALL, limits), 60, f"{name} is resized")
    bed.passes(4)
    assert bed.resizes() == 8, bed.calls()
    assert bed.events("InPlaceResizedByVPA") == 8
    for name in names:
        assert bed.uids(name) == before[name], name
        for pod in bed.pods(name):
            assert pod["status"]["containerStatuses"][0]["restartCount"] == 0, pod["status"]
            assert pod["status"]["qosClass"] == ("Guaranteed" if name.endswith("equal") else "Burstable"), pod["status"]
            assert annotations_of(pod).get("vpaInPlaceUpdated") == "true", pod["metadata"]
            assert not condition(pod, "PodResizePending") and not condition(pod, "PodResizeInProgress"), pod["status"]
            assert pod["status"]["containerStatuses"][0]["allocatedResources"] == SMALL, pod["status"]
    print(f"      8 pods resized with {bed.resizes()} resizes, {bed.evictions()} evictions")
    assert bed.evictions() == 0


def scenario_inplace_changing(make):
    """The recommendation changes while a resize is under way: the new one is sent once, and reached."""
    bed = Bed(make)
    for mode in IN_PLACE_MODES:
        name = mode.lower()
        bed.workload(name, MIDDLE, annotations={"resize": "8s"})
        bed.vpa(name, mode)
        bed.recommend(name, **SMALL)
    for mode in IN_PLACE_MODES:
        until(lambda: all(condition(p, "PodResizeInProgress") for p in bed.pods(mode.lower())), 30,
              "resizes are under way", every=0.05)
    large = {"cpu": "750m", "memory": "768Mi"}
    for mode in IN_PLACE_MODES:
        bed.recommend(mode.lower(), **large)
    for mode in IN_PLACE_MODES:
        until(lambda: bed.applied(mode.lower(), large), 90, f"{mode} reached the new recommendation")
    bed.passes(2)
    assert bed.resizes() == 8, bed.calls()
    assert bed.evictions() == 0, bed.calls()


def scenario_inplace_full_node(make):
    """The node is full: Deferred, nothing is sent again, nothing is evicted; when room appears the resize completes."""
    bed = Bed(make, node_cpu="4")
    large = {"cpu": "1500m"}
    for mode in IN_PLACE_MODES:
        bed.workload(mode.lower(), {"cpu": "500m"}, replicas=1)
        bed.vpa(mode.lower(), mode, minReplicas=1)
    bed.workload("filler", {"cpu": "2800m"}, replicas=1)
    before = {m: bed.uids(m.lower()) for m in IN_PLACE_MODES}
    for mode in IN_PLACE_MODES:
        bed.recommend(mode.lower(), **large)

    def deferred(mode):
        pending = condition(bed.pods(mode.lower())[0], "PodResizePending")
        return pending and pending["reason"] == "Deferred"
    for mode in IN_PLACE_MODES:
        until(lambda: deferred(mode), 30, f"{mode} is deferred")
    bed.passes(3)
    assert bed.resizes() == 2, bed.calls()
    bed.client.delete("Deployment", "filler", NAMESPACE)
    for mode in IN_PLACE_MODES:
        until(lambda: bed.applied(mode.lower(), large), 60, f"{mode} completes")
        assert bed.uids(mode.lower()) == before[mode]
    bed.passes(2)
    assert bed.resizes() == 2, bed.calls()
    assert bed.evictions() == 0, bed.calls()


def scenario_inplace_restart(make):
    """resizePolicy RestartContainer: the container restarts, the pod stays; the other resource does not restart it."""
    bed = Bed(make)
    for mode in IN_PLACE_MODES:
        bed.workload(mode.lower(), MIDDLE, resize_policy={"memory": "RestartContainer", "cpu": "NotRequired"})
        bed.vpa(mode.lower(), mode)
    before = {m: bed.uids(m.lower()) for m in IN_PLACE_MODES}
    for target, restarts in (({"cpu": "250m", "memory": "512Mi"}, 0), (SMALL, 1)):
        for mode in IN_PLACE_MODES:
            bed.recommend(mode.lower(), **target)
        for mode in IN_PLACE_MODES:
            until(lambda: bed.applied(mode.lower(), target), 60, f"{mode} is resized to {target}")
            for pod in bed.pods(mode.lower()):
                assert pod["status"]["containerStatuses"][0]["restartCount"] == restarts, pod["status"]
            assert bed.uids(mode.lower()) == before[mode]
    assert bed.evictions() == 0, bed.calls()
