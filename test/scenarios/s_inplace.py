"""Resizes in place: each row of the decision tables that a cluster can produce, and that nothing is evicted that need not be."""
import datetime
import time

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


HUGE = {"cpu": "40"}  # more than the node of these scenarios has


def scenario_inplace_infeasible(make):
    """What the node can never hold: evicted in InPlaceOrRecreate; in InPlace remembered, and tried again when it is less."""
    beds = [Bed(make)]
    if beds[0].is_sim:
        beds.append(Bed(make, sim_flags=("--minor=34",)))
    for bed in beds:
        for mode in IN_PLACE_MODES:
            bed.workload(mode.lower(), MIDDLE)
            bed.vpa(mode.lower(), mode)
        before = bed.uids("inplace")
        for mode in IN_PLACE_MODES:
            bed.recommend(mode.lower(), **HUGE)
        until(lambda: bed.events("EvictedByVPA", "inplaceorrecreate"), 60, "the fallback to eviction")
        until(lambda: bed.events("InPlaceResizeSkipped", "inplace-") >= 2, 60, "the resize is skipped")
        pods = bed.pods("inplace")
        if bed.refuses_capacity:
            assert bed.failures("inplace", "InPlaceUpdateInfeasible") == 2, bed.cluster.metrics("updater")
            assert all(resources_of(p)[0] == number(MIDDLE) for p in pods), pods
        else:
            assert all(condition(p, "PodResizePending")["reason"] == "Infeasible" for p in pods), pods
        assert bed.metric("vpa_updater_in_place_infeasible_skip_pods_total", vpa_name="inplace") >= 2
        bed.client.delete("VerticalPodAutoscaler", "inplaceorrecreate", NAMESPACE)  # would go on evicting
        bed.passes(1)
        quiet = bed.resizes()
        bed.recommend("inplace", cpu="60")
        bed.passes(3)
        assert bed.resizes() == quiet, bed.calls()  # more than what was refused: not tried
        bed.recommend("inplace", **SMALL)
        until(lambda: bed.applied("inplace", SMALL), 60, "less is wanted, so it is tried again")
        assert bed.uids("inplace") == before
        assert bed.events("EvictedByVPA", "inplace-") == 0


def scenario_inplace_refused(make):
    """The kubelet refuses as Infeasible, or fails: only InPlaceOrRecreate evicts, InPlace keeps the pod for ever."""
    bed = Bed(make)
    reasons = {"infeasible": ("PodResizePending", "Infeasible"), "error": ("PodResizeInProgress", "Error")}
    names = [f"{mode.lower()}-{how}" for mode in IN_PLACE_MODES for how in reasons]
    for mode in IN_PLACE_MODES:
        for how in reasons:
            bed.workload(f"{mode.lower()}-{how}", MIDDLE, annotations={"resize": how})
            bed.vpa(f"{mode.lower()}-{how}", mode)
    before = {n: bed.uids(n) for n in names}
    for name in names:
        bed.recommend(name, **SMALL)
    for how, (kind, reason) in reasons.items():
        until(lambda: bed.events("EvictedByVPA", f"inplaceorrecreate-{how}"), 60, f"the fallback to eviction after {how}")
        until(lambda: all((condition(p, kind) or {}).get("reason") == reason for p in bed.pods(f"inplace-{how}")), 30,
              f"the kubelet reports {how}")
    bed.passes(4)
    for how in reasons:
        assert bed.uids(f"inplace-{how}") == before[f"inplace-{how}"]
    assert bed.events("EvictedByVPA", "inplace-") == 0


def scenario_inplace_silent(make):
    """A kubelet that never answers: the resize is sent once, nothing is evicted."""
    bed = Bed(make)
    for mode in IN_PLACE_MODES:
        bed.workload(mode.lower(), MIDDLE, annotations={"resize": "never"})
        bed.vpa(mode.lower(), mode)
        bed.recommend(mode.lower(), **SMALL)
    until(lambda: bed.resizes() == 4, 60, "each pod is sent its resize")
    bed.passes(5)
    assert bed.resizes() == 4, bed.calls()
    assert bed.evictions() == 0, bed.calls()
    assert bed.events("InPlaceResizedByVPA") == 4


def scenario_inplace_memory_in_use(make):
    """A memory limit below what is in use: the container is not killed; InPlace waits and reaches the next target."""
    bed = Bed(make)
    for mode in IN_PLACE_MODES:
        bed.workload(mode.lower(), {"cpu": "100m", "memory": "512Mi"}, {"memory": "1Gi"}, annotations={"memory": "600Mi"})
        bed.vpa(mode.lower(), mode)
    before = bed.uids("inplace")
    for mode in IN_PLACE_MODES:
        bed.recommend(mode.lower(), cpu="100m", memory="256Mi")
    until(lambda: all((condition(p, "PodResizeInProgress") or {}).get("reason") == "Error" for p in bed.pods("inplace")),
          60, "the kubelet reports the error")
    until(lambda: bed.events("EvictedByVPA", "inplaceorrecreate"), 60, "the fallback to eviction")
    bed.recommend("inplace", cpu="100m", memory="400Mi")
    until(lambda: bed.applied("inplace", {"cpu": "100m", "memory": "400Mi"}, {"memory": "800Mi"}), 60,
          "the next target is reached")
    assert bed.uids("inplace") == before
    assert all(p["status"]["containerStatuses"][0]["restartCount"] == 0 for p in bed.pods("inplace"))
    assert bed.events("EvictedByVPA", "inplace-") == 0


def scenario_inplace_qos(make):
    """A resize that would change the QoS class is refused by the server: InPlace leaves the pod, the other mode evicts."""
    bed = Bed(make)
    only = [{"containerName": "*", "controlledValues": "RequestsOnly"}]
    for mode in IN_PLACE_MODES:
        bed.workload(mode.lower(), MIDDLE, MIDDLE)
        bed.vpa(mode.lower(), mode, policies=only)
        bed.workload(f"{mode.lower()}-none")
        bed.vpa(f"{mode.lower()}-none", mode)
    kept = ("inplace", "inplace-none")
    before = {n: bed.uids(n) for n in kept}
    for mode in IN_PLACE_MODES:
        bed.recommend(mode.lower(), **SMALL)
        bed.recommend(f"{mode.lower()}-none", **SMALL)
    for name in ("inplaceorrecreate", "inplaceorrecreate-none"):
        until(lambda: any(u not in before for u in [e["involvedObject"]["name"] for e in bed.client.list("Event", NAMESPACE)
                                                    if e["reason"] == "EvictedByVPA"] if u.startswith(name + "-")), 60,
              f"{name} is evicted")
    for name, qos in zip(kept, ("Guaranteed", "BestEffort")):
        until(lambda: bed.failures(name, "InPlaceUpdateError") > 0, 30, f"the refusal for {name} is counted")
        assert bed.uids(name) == before[name]
        assert all(p["status"]["qosClass"] == qos for p in bed.pods(name))


def scenario_inplace_rows(make):
    """Rows without a resize: no recommendation, too few replicas, pods that are Pending, gate off."""
    bed = Bed(make, node_cpu="8")
    for mode in IN_PLACE_MODES:
        name = mode.lower()
        bed.workload(f"{name}-silent", MIDDLE)
        bed.vpa(f"{name}-silent", mode)
        bed.workload(f"{name}-single", MIDDLE, replicas=1)
        bed.vpa(f"{name}-single", mode)
        bed.recommend(f"{name}-single", **SMALL)
        bed.workload(f"{name}-stuck", MIDDLE, annotations={"fault": "no-start"}, ready=False)
        bed.vpa(f"{name}-stuck", mode)
    before = {n: bed.uids(n) for m in IN_PLACE_MODES for n in (f"{m.lower()}-silent", f"{m.lower()}-single")}
    bed.passes(3)
    assert bed.resizes() == 0, bed.calls()
    assert bed.failures("inplace-single", "InPlaceUpdateError") > 0
    assert bed.failures("inplaceorrecreate-single", "InPlaceUpdateError") == 0

    def spec(name, **values):
        return len(bed.pods(name)) == 2 and all(resources_of(p)[0] == number(values) for p in bed.pods(name))
    for mode in IN_PLACE_MODES:  # Pending: InPlace gives them their size before they start, the other mode waits
        until(lambda: len(bed.pods(f"{mode.lower()}-stuck")) == 2, 30, "the pods are there")
        bed.recommend(f"{mode.lower()}-stuck", **SMALL)
    until(lambda: spec("inplace-stuck", **SMALL), 60, "pending pods are resized")
    assert spec("inplaceorrecreate-stuck", **MIDDLE)
    assert {n: bed.uids(n) for n in before} == before
    assert bed.resizes() == 2 and bed.evictions() == 0, bed.calls()
    bed.updater.stop()
    bed.start_updater("--feature-gates=InPlace=false")
    sent = bed.resizes()
    bed.recommend("inplace-silent", **SMALL)
    bed.passes(3)
    assert bed.resizes() == sent, bed.calls()
    bed.updater.stop()
    bed.start_updater()
    until(lambda: bed.applied("inplace-silent", SMALL), 60, "with the gate on they are resized")


def scenario_inplace_budget(make):
    """A pass resizes not more pods than the disruption budget allows; the rate limit of resizes holds."""
    bed = Bed(make, updater=None)
    bed.workload("four", MIDDLE, replicas=4)
    bed.vpa("four", "InPlaceOrRecreate")
    bed.recommend("four", **SMALL)
    bed.cluster.start_daemon("updater", "--updater-interval=8s", "--use-admission-controller-status=false", *bed.proofs)
    until(lambda: bed.resizes() > 0, 30, "the first pass")
    bed.passes(0)
    assert bed.resizes() in (2, 4), bed.calls()  # half of four in each pass
    until(lambda: bed.applied("four", SMALL), 60, "all four are resized")
    bed.updater.stop()
    bed.workload("limited", MIDDLE, replicas=4)
    bed.vpa("limited", "InPlace")
    bed.recommend("limited", **SMALL)
    bed.start_updater("--eviction-rate-limit=0.5", "--eviction-rate-burst=1")
    until(lambda: bed.failures("limited", "InPlaceUpdateRateLimiterWaitFailed") > 0, 30, "the limiter stops a pass")
    until(lambda: bed.applied("limited", SMALL), 60, "all four are resized in the end")
    assert bed.evictions() == 0, bed.calls()


def scenario_inplace_shared_budget(make):
    """Resizes and evictions of one workload share a budget: two of five at once, whatever is done to them."""
    bed = Bed(make, updater=None)
    bed.start_updater("--updater-interval=10s")  # time enough to look between two passes
    for kind in ("StatefulSet", "Deployment"):
        name = kind.lower()
        bed.workload(name, MIDDLE, replicas=5, kind=kind)
        for pod in bed.pods(name)[:2]:  # the first two to be resized, and to be evicted for want of it
            bed.client.merge("Pod", pod["metadata"]["name"],
                             {"metadata": {"annotations": {"fakelet.plumb/resize": "infeasible"}}}, NAMESPACE)
        before, least, totals, looked = bed.uids(name), [5], {}, [time.monotonic()]

        def done():
            passed = bed.metric("vpa_updater_execution_latency_seconds_count", step="total")
            now = bed.resizes(), bed.evictions()
            again = bed.metric("vpa_updater_execution_latency_seconds_count", step="total")
            if passed == again and time.monotonic() - looked[0] < 2:
                totals.setdefault(passed, now)  # soon after the pass before it: nothing of the next one
            looked[0] = time.monotonic()
            least[0] = min(least[0], len(bed.pods(name)))
            return len(bed.pods(name)) == 5 and bed.applied(name, SMALL)
        until(lambda: done() or totals, 60, "a look before there is anything to do")
        bed.vpa(name, "InPlaceOrRecreate", kind=kind)
        bed.recommend(name, **SMALL)
        until(done, 240, f"all pods of the {kind} have their size")
        passes = max(totals)
        until(lambda: done() and max(totals) > passes, 60, "a look after the last pass")
        looks = [(p, *totals[p]) for p in sorted(totals)]  # a late look is missing: the step is of two passes then
        steps = [(b[1] - a[1], b[2] - a[2], b[0] - a[0]) for a, b in zip(looks, looks[1:])]
        print(f"      {kind}: resizes and evictions of each pass {[step[:2] for step in steps]}")
        assert all(resizes + evictions <= 2 * passes for resizes, evictions, passes in steps), steps
        assert any(resizes and evictions for resizes, evictions, _ in steps), steps
        assert sum(step[1] for step in steps) == 2 and len(before - bed.uids(name)) == 2, steps
        assert least[0] >= 3, least
        bed.client.delete("VerticalPodAutoscaler", name, NAMESPACE)


def scenario_inplace_unsupported(make):
    """A server without pods/resize (before 1.33): said once; InPlaceOrRecreate evicts, InPlace leaves the pod."""
    bed = Bed(make, sim_flags=("--no-resize",))
    for mode in IN_PLACE_MODES:
        bed.workload(mode.lower(), MIDDLE)
        bed.vpa(mode.lower(), mode)
    before = bed.uids("inplace")
    for mode in IN_PLACE_MODES:
        bed.recommend(mode.lower(), **SMALL)
    until(lambda: bed.events("EvictedByVPA", "inplaceorrecreate") >= 2, 60, "the fallback to eviction")
    bed.passes(4)
    assert bed.uids("inplace") == before
    assert bed.events("EvictedByVPA", "inplace-") == 0
    assert bed.updater.text().count("The API server has no pods/resize") == 1, bed.updater.text()[-2000:]
    assert bed.resizes() <= 4, bed.calls()


scenario_inplace_unsupported.tiers = ["sim"]
scenario_inplace_unsupported.why = "every server of this tier has the subresource"


def moment(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def evicted_at(bed, name):
    """When pods of that workload were evicted, as cluster seconds."""
    return sorted(moment(e["firstTimestamp"]) for e in bed.client.list("Event", NAMESPACE)
                  if e["reason"] == "EvictedByVPA" and e["involvedObject"]["name"].startswith(name + "-"))


def since(pod, kind):
    return moment(condition(pod, kind)["lastTransitionTime"])


def now(bed):
    return moment(bed.cluster.plane.now())


def scenario_inplace_timeouts(make):
    """Deferred for more than five minutes, under way for more than an hour: InPlaceOrRecreate evicts, InPlace never."""
    bed = Bed(make, rate=60.0, node_cpu="4")
    bed.workload("filler", {"cpu": "2"}, replicas=1)
    for mode in IN_PLACE_MODES:
        bed.workload(mode.lower(), {"cpu": "500m"}, replicas=1)
        bed.vpa(mode.lower(), mode, minReplicas=1)
        bed.recommend(mode.lower(), cpu="2500m")
    begun = {m: since(until(lambda: condition(bed.pods(m.lower())[0], "PodResizePending") and bed.pods(m.lower())[0], 30,
                            "Deferred"), "PodResizePending") for m in IN_PLACE_MODES}
    first = until(lambda: evicted_at(bed, "inplaceorrecreate"), 60, "the fallback to eviction")[0]
    waited = first - begun["InPlaceOrRecreate"]
    assert 300 < waited < 600, waited
    until(lambda: now(bed) - begun["InPlace"] > 900, 60, "a quarter of an hour")
    assert not evicted_at(bed, "inplace")
    for mode in IN_PLACE_MODES:
        bed.client.delete("VerticalPodAutoscaler", mode.lower(), NAMESPACE)

    slow = Bed(make, rate=600.0)
    for mode in IN_PLACE_MODES:
        slow.workload(mode.lower(), MIDDLE, annotations={"resize": "5h"})
        slow.vpa(mode.lower(), mode)
        slow.recommend(mode.lower(), **SMALL)
    began = min(since(p, "PodResizeInProgress") for p in until(
        lambda: all(condition(p, "PodResizeInProgress") for p in slow.pods("inplaceorrecreate")) and
        slow.pods("inplaceorrecreate"), 30, "resizes are under way"))
    waited = until(lambda: evicted_at(slow, "inplaceorrecreate"), 60, "the fallback to eviction")[0] - began
    assert 3600 < waited < 3 * 3600, waited
    until(lambda: slow.applied("inplace", SMALL), 90, "InPlace waits until it is done")
    assert not evicted_at(slow, "inplace")


scenario_inplace_timeouts.tiers = ["sim"]
scenario_inplace_timeouts.why = "an hour of cluster time"


def scenario_inplace_same_name(make):
    """A pod replaced under the same name has patience of its own: timers belong to the pod, not to its name."""
    bed = Bed(make, rate=30.0, node_cpu="4")
    bed.workload("filler", {"cpu": "3"}, replicas=1)
    bed.workload("db", {"cpu": "500m"}, replicas=1, kind="StatefulSet")
    bed.vpa("db", "InPlaceOrRecreate", kind="StatefulSet", minReplicas=1)
    bed.recommend("db", cpu="2")

    def pending():
        pods = bed.pods("db")
        return pods and condition(pods[0], "PodResizePending") and pods[0]
    first = until(pending, 30, "the first pod is deferred")
    until(lambda: now(bed) - since(first, "PodResizePending") > 210, 30, "three and a half minutes")
    bed.client.delete("Pod", "db-0", NAMESPACE)
    second = until(lambda: (p := pending()) and p["metadata"]["uid"] != first["metadata"]["uid"] and p, 60,
                   "its successor is deferred")
    waited = until(lambda: evicted_at(bed, "db"), 60, "the successor is evicted in its turn")[0] - \
        since(second, "PodResizePending")
    assert 300 < waited < 600, waited


scenario_inplace_same_name.tiers = ["sim"]
scenario_inplace_same_name.why = "ten minutes of cluster time"
scenario_inplace_shared_budget.seconds = 120
scenario_inplace_modes.each_minor = scenario_inplace_qos.each_minor = True
