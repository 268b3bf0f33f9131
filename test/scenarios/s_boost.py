"""CPU startup boost: applied by the webhook, taken back by the updater, in every mode and after every accident."""
import datetime

from bed import (ApiError, Bed, NAMESPACE, annotations_of, condition, is_ready, marked, number, resources_of, until)
from cluster import ROOT, documents

TRIPLE = {"cpu": {"type": "Factor", "factor": 3}}
MODES = ("Off", "Initial", "Recreate", "Auto", "InPlaceOrRecreate", "InPlace")


def moment(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def factor(value, **more):
    return {"cpu": {"type": "Factor", "factor": value, **more}}


def quantity(value, **more):
    return {"cpu": {"type": "Quantity", "quantity": value, **more}}


def prepare(bed, name, requests, limits=None, mode="Recreate", target=None, boost=None, policies=None, **more):
    """A workload without pods, its VPA and recommendation: the pods come with scale()."""
    bed.workload(name, requests, limits, replicas=0, ready=False, **more)
    extra = {"startupBoost": boost} if boost is not None else {}
    bed.vpa(name, mode, policies=policies, **extra)
    if target:
        bed.recommend(name, **target)


def scale(bed, name, replicas, ready=True):
    bed.client.merge("Deployment", name, {"spec": {"replicas": replicas}}, NAMESPACE)
    until(lambda: len(bed.pods(name)) == replicas, 60, f"pods of {name}")
    if ready:
        until(lambda: all(map(is_ready, bed.pods(name))), 120, f"{name} is ready")


# name: (requests, limits, mode, target, VPA's boost, policies, expected cpu request, expected cpu limit, marked)
APPLIED = {
    "factor": ("1m", "1m", "Recreate", "100m", factor(2), None, "200m", "200m", True),
    "quantity": ("1m", "1m", "Recreate", "100m", quantity("500m"), None, "600m", "600m", True),
    "own-request": ("100m", "100m", "Recreate", None, factor(2), None, "200m", "200m", True),
    "mode-off": ("100m", "200m", "Off", "400m", factor(3), None, "300m", "600m", True),
    "mode-initial": ("100m", None, "Initial", "400m", factor(3), None, "1200m", None, True),
    "requests-only": ("100m", "300m", "Recreate", "100m", factor(2),
                      {"controlledValues": "RequestsOnly"}, "200m", "300m", True),
    "below-limit": ("100m", "150m", "Recreate", "100m", factor(2),
                    {"controlledValues": "RequestsOnly"}, "149m", "150m", True),
    "ratio": ("100m", "300m", "Recreate", "150m", factor(2), None, "300m", "900m", True),
    "no-limit": ("100m", None, "Recreate", "150m", factor(2), None, "300m", None, True),
    "container": ("1m", "1m", "Recreate", "100m", factor(2), {"startupBoost": factor(3)}, "300m", "300m", True),
    "star": ("100m", None, "Recreate", "100m", None,
             {"containerName": "*", "startupBoost": quantity("1")}, "1100m", None, True),
    "container-off": ("100m", None, "Recreate", None, None,
                      {"mode": "Off", "startupBoost": quantity("2")}, "2100m", None, True),
    "off-only": ("100m", None, "Recreate", None, factor(2), {"mode": "Off"}, "100m", None, False),
    "factor-one": ("100m", None, "Recreate", "150m", factor(2), {"startupBoost": factor(1)}, "150m", None, True),
    "beyond-max": ("100m", None, "Recreate", "500m", None,
                   {"maxAllowed": {"cpu": "500m"}, "startupBoost": quantity("4")}, "4500m", None, True),
    "memory-only": ("100m", None, "Recreate", None, factor(2), {"controlledResources": ["memory"]}, "200m", None, True),
    "empty": ("100m", None, "Recreate", "150m", {}, None, "150m", None, False),
}


def scenario_boost_applied(make):
    """What the webhook makes of each form of boost; then with a global cap; then with the gate off."""
    bed = Bed(make, webhook=True, updater=None)
    for name, (request, limit, mode, target, boost, policy, *_) in APPLIED.items():
        policies = [{"containerName": name, **policy}] if policy else None
        prepare(bed, name, {"cpu": request}, {"cpu": limit} if limit else None, mode, {"cpu": target} if target else None,
                boost, policies)
    bed.cluster.webhook_knows()

    def check(name, cpu, limit, has_marker):
        scale(bed, name, 1, ready=False)
        pod = bed.pods(name)[0]
        requests, limits = resources_of(pod)
        assert requests == number({"cpu": cpu}), (name, pod["spec"]["containers"], annotations_of(pod))
        assert limits == (number({"cpu": limit}) if limit else {}), (name, pod["spec"]["containers"])
        assert marked(pod) == ([name] if has_marker else []), (name, annotations_of(pod))
        scale(bed, name, 0, ready=False)
    for name, row in APPLIED.items():
        check(name, *row[-3:])
    webhook = bed.cluster.daemons["admission-controller"]
    webhook.stop()
    bed.start_webhook("--max-allowed-cpu-boost=250m")
    bed.recommend("ratio", cpu="400m")
    bed.cluster.webhook_knows()
    check("factor", "200m", "200m", True)
    check("container", "250m", "250m", True)
    check("ratio", "400m", "1200m", True)  # never below what it would be without the boost
    bed.cluster.daemons["admission-controller"].stop()
    bed.start_webhook("--feature-gates=CPUStartupBoost=false")
    bed.cluster.webhook_knows()
    check("factor", "100m", "100m", False)
    check("container-off", "100m", None, False)


def taken_back(bed, name, requests, limits=None):
    return not any(map(marked, bed.pods(name))) and bed.applied(name, requests, limits)


def scenario_boost_taken_back(make):
    """In every update mode: boosted until Ready and the duration is over, then taken back in place; nobody is evicted."""
    bed = Bed(make, webhook=True)
    for mode in MODES:
        prepare(bed, mode.lower(), {"cpu": "200m", "memory": "64Mi"}, {"cpu": "400m"}, mode,
                {"cpu": "300m", "memory": "64Mi"}, factor(3, durationSeconds=5), annotations={"startup-cpu": "1"}, probe=True)
    prepare(bed, "never", {"cpu": "200m"}, None, "Recreate", {"cpu": "300m"}, TRIPLE, annotations={"fault": "never-ready"},
            probe=True)
    bed.cluster.webhook_knows()
    scale(bed, "never", 2, ready=False)
    early, before = [], {}
    for mode in MODES:
        scale(bed, mode.lower(), 2, ready=False)
        before[mode] = bed.uids(mode.lower())
        for pod in bed.pods(mode.lower()):
            assert marked(pod) == [mode.lower()], (mode, annotations_of(pod))
            assert resources_of(pod)[0]["cpu"] == (0.6 if mode == "Off" else 0.9), (mode, pod["spec"]["containers"])

    def done():
        for mode in MODES:
            for pod in bed.pods(mode.lower()):
                ready = condition(pod, "Ready")
                if not marked(pod) and (ready["status"] != "True" or bed.now() - moment(ready["lastTransitionTime"]) < 5):
                    early.append(pod["metadata"]["name"])
        return all(taken_back(bed, m.lower(), {"cpu": "200m" if m == "Off" else "300m", "memory": "64Mi"},
                              {"cpu": "400m" if m == "Off" else "600m"}) for m in MODES)
    until(done, 90, "all boosts are taken back")
    assert not early, early
    bed.passes(3)
    for mode in MODES:
        assert bed.uids(mode.lower()) == before[mode], mode
    assert all(marked(p) for p in bed.pods("never"))
    print(f"      12 boosts taken back with {bed.resizes()} resizes, {bed.evictions()} evictions")
    assert bed.resizes() == 12 and bed.evictions() == 0, bed.calls()


def boosted_one_by_one(bed, **more):
    """A StatefulSet of three on a node that holds one boosted pod: the second one waits for the end of the first one's boost."""
    prepare(bed, "sts", {"cpu": "500m"}, None, "Initial", {"cpu": "500m"}, factor(4), kind="StatefulSet", **more)
    bed.client.merge("VerticalPodAutoscaler", "sts", {"spec": {"targetRef": {"kind": "StatefulSet"}}}, NAMESPACE)
    bed.cluster.webhook_knows()
    bed.client.merge("StatefulSet", "sts", {"spec": {"replicas": 3}}, NAMESPACE)


def scenario_boost_keeps_sibling_out(make):
    """A boost for which the next pod has no room ends without it: all three become Ready, and none stays boosted."""
    bed = Bed(make, node_cpu="3", webhook=True)
    boosted_one_by_one(bed)
    until(lambda: len(bed.pods("sts")) == 3 and all(map(is_ready, bed.pods("sts"))), 90, "all three are ready")
    until(lambda: taken_back(bed, "sts", {"cpu": "500m"}), 60, "all boosts are taken back")
    assert bed.resizes() == 3 and bed.evictions() == 0, bed.calls()


def scenario_boost_restart_waits(make):
    """The same where the end of the boost restarts the container: it waits for the budget."""
    bed = Bed(make, node_cpu="3", webhook=True)
    boosted_one_by_one(bed, resize_policy={"cpu": "RestartContainer"})
    until(lambda: len(bed.pods("sts")) == 2 and any(map(is_ready, bed.pods("sts"))), 90, "the first one is ready")
    bed.passes(4)
    assert len(bed.pods("sts")) == 2 and all(map(marked, bed.pods("sts"))), bed.pods("sts")
    assert bed.resizes() == 0 and bed.evictions() == 0, bed.calls()
    assert bed.failures("sts", "UnboostError") == 0, bed.cluster.metrics("updater")


def scenario_boost_off_container(make):
    """A container of mode Off is boosted by its own policy and gets its original back; its neighbour is sized as usual."""
    bed = Bed(make, webhook=True, updater=None)
    containers = [{"name": n, "image": "fakelet", "resources": {"requests": {"cpu": "100m"}, "limits": {"cpu": "200m"}}}
                  for n in ("app", "side")]
    bed.workload("pair", replicas=0, containers=containers, ready=False)
    bed.vpa("pair", "Recreate", policies=[{"containerName": "side", "mode": "Off", "startupBoost": quantity("1500m")}])
    bed.recommend("pair", "app", cpu="300m")
    bed.cluster.webhook_knows()
    scale(bed, "pair", 2, ready=False)
    before = bed.uids("pair")
    for pod in bed.pods("pair"):
        assert resources_of(pod, 1) == ({"cpu": 1.6}, {"cpu": 3.2}), pod["spec"]["containers"]
        assert resources_of(pod, 0)[0] == {"cpu": 0.3}, pod["spec"]["containers"]
    bed.start_updater()
    until(lambda: not any(map(marked, bed.pods("pair"))), 60, "the boost is taken back")
    for pod in bed.pods("pair"):
        assert resources_of(pod, 1) == ({"cpu": 0.1}, {"cpu": 0.2}), pod["spec"]["containers"]
        assert resources_of(pod, 0) == ({"cpu": 0.3}, {"cpu": 0.6}), pod["spec"]["containers"]
    assert bed.uids("pair") == before and bed.evictions() == 0


def forbid(bed, *resources):
    """Takes the right to patch pods/resize or pods from the updater, or (without names) gives all back."""
    if bed.is_sim:
        rules = [{"path": "/resize", "userAgent": "vpa-updater", **({"status": 403} if "pods/resize" in resources else {})}]
        if "pods" in resources:
            rules.append({"path": "/pods/", "method": "PATCH", "userAgent": "vpa-updater", "status": 403})
        bed.cluster.plane.faults(*(rules if resources else []))
        return
    role = next(d for d in documents(ROOT / "deploy/vpa-rbac.yaml")
                if d["metadata"]["name"] == "system:vpa-updater-in-place" and d["kind"] == "ClusterRole")
    left = [r for r in ("pods", "pods/resize") if r not in resources]
    rules = [{"apiGroups": [""], "resources": left, "verbs": ["patch"]}] if left else []
    bed.client.merge("ClusterRole", role["metadata"]["name"], {"rules": rules})


def scenario_boost_refused(make):
    """The server refuses to take a boost back: counted, tried again in each pass, never evicted; then it works."""
    bed = Bed(make, webhook=True)
    forbid(bed, "pods/resize")
    modes = ("Off", "Recreate", "InPlaceOrRecreate")
    for mode in modes:
        prepare(bed, mode.lower(), {"cpu": "200m"}, None, mode, {"cpu": "300m"}, TRIPLE)
    bed.cluster.webhook_knows()
    for mode in modes:
        scale(bed, mode.lower(), 2)
    before = {m: bed.uids(m.lower()) for m in modes}
    bed.passes(4)
    for mode in modes:
        assert bed.failures(mode.lower(), "UnboostError") >= 2, bed.cluster.metrics("updater")
        assert all(map(marked, bed.pods(mode.lower())))
    forbid(bed)
    for mode in modes:
        until(lambda: taken_back(bed, mode.lower(), {"cpu": "200m" if mode == "Off" else "300m"}), 60, f"{mode}: taken back")
        assert bed.uids(mode.lower()) == before[mode]
    assert bed.evictions() == 0, bed.calls()


def scenario_boost_stuck(make):
    """The kubelet fails, refuses, or never acts when a boost is taken back: never evicted, in no mode, not by a new updater either."""
    bed = Bed(make, node_cpu="64", webhook=True)
    modes, how = ("Recreate", "InPlaceOrRecreate", "InPlace"), ("error", "infeasible", "never")
    names = [f"{mode.lower()}-{fault}" for mode in modes for fault in how]
    for mode in modes:
        for fault in how:
            prepare(bed, f"{mode.lower()}-{fault}", {"cpu": "200m"}, None, mode, {"cpu": "300m"}, TRIPLE,
                    annotations={"resize": fault})
    bed.cluster.webhook_knows()
    for name in names:
        scale(bed, name, 2)
    before = {n: bed.uids(n) for n in names}
    until(lambda: not any(marked(p) for n in names for p in bed.pods(n)), 60, "the markers are gone")
    bed.passes(5)
    bed.updater.kill()
    bed.updater.start()
    until(lambda: bed.cluster.addresses["updater"].raw("GET", "/health-check")[0] == 200, 30, "the new updater is up")
    bed.passes(5)
    assert {n: bed.uids(n) for n in names} == before, [n for n in names if bed.uids(n) != before[n]]
    assert bed.evictions() == 0, bed.calls()


def scenario_boost_killed(make):
    """kill -9 of the updater while pods are boosted, and between resize and annotations: found and finished."""
    bed = Bed(make, webhook=True, updater=None)
    for name in ("app", "half"):
        prepare(bed, name, {"cpu": "200m"}, None, "Recreate", {"cpu": "300m"}, factor(3, durationSeconds=30))
    bed.cluster.webhook_knows()
    scale(bed, "app", 2)
    bed.start_updater()
    bed.passes(1)
    bed.updater.kill()
    before = bed.uids("app")

    def over():
        ready = [moment(condition(p, "Ready")["lastTransitionTime"]) for p in bed.pods("app")]
        return all(bed.now() > at + 31 for at in ready)
    until(over, 90, "their time with a boost is over")
    assert any(map(marked, bed.pods("app")))
    bed.updater.start()
    until(lambda: taken_back(bed, "app", {"cpu": "300m"}), 90, "what was left is finished")
    assert bed.uids("app") == before
    forbid(bed, "pods")
    sent = bed.resizes()
    scale(bed, "half", 2)
    before = bed.uids("half")
    until(lambda: all(resources_of(p)[0] == {"cpu": 0.3} for p in bed.pods("half")), 90, "resized, not annotated")
    bed.updater.kill()
    assert all(map(marked, bed.pods("half"))) and bed.resizes() == sent + 2, bed.calls()
    forbid(bed)
    bed.updater.start()
    until(lambda: taken_back(bed, "half", {"cpu": "300m"}), 90, "the markers go")
    bed.passes(2)
    assert bed.resizes() == sent + 2, bed.calls()
    assert bed.uids("half") == before and bed.evictions() == 0


def scenario_boost_rollout(make):
    """A rollout of ten pods: each starts boosted and is taken back, none is evicted."""
    bed = Bed(make, node_cpu="64", webhook=True)
    prepare(bed, "ten", {"cpu": "200m"}, {"cpu": "400m"}, "Recreate", {"cpu": "300m"}, TRIPLE,
            annotations={"startup-cpu": "10"}, probe=True)  # each is boosted for long enough to be seen so
    bed.cluster.webhook_knows()
    scale(bed, "ten", 10, ready=False)
    until(lambda: taken_back(bed, "ten", {"cpu": "300m"}, {"cpu": "600m"}), 120, "all ten are taken back")
    first, boosted = bed.uids("ten"), set()
    bed.client.merge("Deployment", "ten", {"spec": {"template": {"metadata": {"annotations": {"version": "2"}}}}}, NAMESPACE)

    def done():
        pods = [p for p in bed.pods("ten") if annotations_of(p).get("version") == "2"]
        boosted.update(p["metadata"]["uid"] for p in pods if marked(p) and resources_of(p)[0] == {"cpu": 0.9})
        return len(pods) == 10 == len(bed.pods("ten")) and taken_back(bed, "ten", {"cpu": "300m"}, {"cpu": "600m"})
    until(done, 180, "the rollout is over and taken back")
    assert not first & bed.uids("ten") and boosted == bed.uids("ten"), (len(boosted), len(bed.uids("ten")))
    assert bed.resizes() == 20 and bed.evictions() == 0, bed.calls()


def scenario_boost_without_probe(make):
    """Without a readiness probe the pod is Ready at once, and so the boost ends at once, before the work is done."""
    bed = Bed(make, webhook=True)
    for name, probe in (("with", True), ("without", False)):
        prepare(bed, name, {"cpu": "500m"}, {"cpu": "1"}, "Initial", {"cpu": "500m"}, TRIPLE, probe=probe,
                annotations={"startup-cpu": "60"})
    bed.cluster.webhook_knows()
    for name in ("with", "without"):
        scale(bed, name, 2, ready=False)
    until(lambda: taken_back(bed, "without", {"cpu": "500m"}, {"cpu": "1"}), 60, "the boost without a probe ends")
    assert all(marked(p) and not is_ready(p) for p in bed.pods("with"))
    until(lambda: taken_back(bed, "with", {"cpu": "500m"}, {"cpu": "1"}), 60, "the boost with a probe ends")
    for name in ("with", "without"):
        pod = bed.pods(name)[0]
        took = moment(condition(pod, "Ready")["lastTransitionTime"]) - moment(pod["status"]["startTime"])
        print(f"      {name} a probe: Ready after {took:.0f} s")
        assert (took < 5) == (name == "without"), took


def scenario_boost_oom(make):
    """A boosted pod that runs out of memory at start is left alone; its successor has the boost and the memory."""
    bed = Bed(make, webhook=True)
    prepare(bed, "app", {"cpu": "200m", "memory": "256Mi"}, {"cpu": "400m", "memory": "256Mi"}, "Recreate",
            {"cpu": "300m", "memory": "256Mi"}, TRIPLE, annotations={"memory": "300Mi", "startup-cpu": "2"}, probe=True)
    bed.cluster.webhook_knows()
    scale(bed, "app", 2, ready=False)
    until(lambda: all((p["status"].get("containerStatuses") or [{}])[0].get("restartCount", 0) > 0 for p in bed.pods("app")),
          60, "they run out of memory")
    before = bed.uids("app")
    bed.recommend("app", cpu="300m", memory="512Mi")
    bed.passes(3)
    assert bed.uids("app") == before and all(map(marked, bed.pods("app")))
    for pod in bed.pods("app"):
        bed.client.delete("Pod", pod["metadata"]["name"], NAMESPACE)
    until(lambda: len(bed.pods("app")) == 2 and not bed.uids("app") & before, 60, "successors")
    until(lambda: taken_back(bed, "app", {"cpu": "300m", "memory": "512Mi"}, {"cpu": "600m", "memory": "512Mi"}), 60,
          "the successors start and their boost is taken back")
    assert bed.evictions() == 0


def scenario_boost_gate(make):
    """The gate off and on again while boosted pods are alive: they stay as they are, then they are finished."""
    bed = Bed(make, webhook=True, updater=None)
    for name, mode in (("off", "Off"), ("initial", "Initial")):
        prepare(bed, name, {"cpu": "200m"}, None, mode, {"cpu": "200m"}, TRIPLE)
    prepare(bed, "later", {"cpu": "200m"}, None, "Initial", {"cpu": "200m"}, TRIPLE)
    bed.cluster.webhook_knows()
    for name in ("off", "initial"):
        scale(bed, name, 2)
    before = bed.uids("off") | bed.uids("initial")
    bed.cluster.daemons["admission-controller"].stop()
    bed.start_webhook("--feature-gates=CPUStartupBoost=false")
    bed.start_updater("--feature-gates=CPUStartupBoost=false")
    scale(bed, "later", 2)
    bed.passes(3)
    assert all(marked(p) and resources_of(p)[0] == {"cpu": 0.6} for n in ("off", "initial") for p in bed.pods(n))
    assert not any(map(marked, bed.pods("later"))) and bed.resizes() == 0, bed.calls()
    try:
        bed.vpa("refused", "Off", startupBoost=TRIPLE)
        raise AssertionError("a new boost was accepted with the gate off")
    except ApiError as error:
        assert "CPUStartupBoost" in str(error), error
    bed.updater.stop()
    bed.start_updater()
    for name in ("off", "initial"):
        until(lambda: taken_back(bed, name, {"cpu": "200m"}), 60, f"{name}: taken back")
    assert bed.uids("off") | bed.uids("initial") == before and bed.evictions() == 0


def scenario_boost_removed(make):
    """`startupBoost` taken out of the VPA while pods are boosted: in the modes Off and Initial they stay as they are, and
    `durationSeconds: 0` first is how to end their boosts. Nobody is evicted."""
    bed = Bed(make, webhook=True)
    long = factor(3, durationSeconds=3600)
    for mode in ("Off", "Initial"):
        prepare(bed, mode.lower(), {"cpu": "200m"}, None, mode, {"cpu": "300m"}, long)
        prepare(bed, "ended-" + mode.lower(), {"cpu": "200m"}, None, mode, {"cpu": "300m"}, long)
    ended = {"ended-off": "200m", "ended-initial": "300m"}
    names = ["off", "initial", *ended]
    bed.cluster.webhook_knows()
    for name in names:
        scale(bed, name, 2)
    before = {n: bed.uids(n) for n in names}
    bed.passes(2)
    assert all(marked(p) for n in names for p in bed.pods(n)) and bed.resizes() == 0, bed.calls()
    for name in ("off", "initial"):
        bed.client.merge("VerticalPodAutoscaler", name, {"spec": {"startupBoost": None}}, NAMESPACE)
    for name, cpu in ended.items():
        bed.client.merge("VerticalPodAutoscaler", name,
                         {"spec": {"startupBoost": {"cpu": {"durationSeconds": 0}}}}, NAMESPACE)
        until(lambda: taken_back(bed, name, {"cpu": cpu}), 60, f"{name}: taken back")
    bed.passes(2)
    assert {n: bed.uids(n) for n in names} == before and bed.evictions() == 0, bed.calls()
    assert all(marked(p) for n in ("off", "initial") for p in bed.pods(n)), "stay boosted"
    assert bed.resizes() == 4, bed.calls()


def scenario_boost_start_time(make):
    """60 CPU seconds of start-up work: a minute on one core, twenty seconds on the three of a boost."""
    bed = Bed(make, rate=10.0, webhook=True)
    for name, boost in (("plain", None), ("boosted", TRIPLE)):
        prepare(bed, name, {"cpu": "500m"}, {"cpu": "1"}, "Recreate", {"cpu": "500m"}, boost, probe=True,
                annotations={"startup-cpu": "60"})
    bed.cluster.webhook_knows()
    for name in ("plain", "boosted"):
        scale(bed, name, 2, ready=False)
    took = {}
    for name in ("plain", "boosted"):
        until(lambda: all(map(is_ready, bed.pods(name))), 120, f"{name} is ready")
        took[name] = max(moment(condition(p, "Ready")["lastTransitionTime"]) - moment(p["status"]["startTime"])
                         for p in bed.pods(name))
    print(f"      time to Ready: {took['plain']:.0f} s without a boost, {took['boosted']:.0f} s with three cores")
    assert 58 <= took["plain"] <= 70 and 19 <= took["boosted"] <= 30, took
    until(lambda: taken_back(bed, "boosted", {"cpu": "500m"}, {"cpu": "1"}), 60, "the boost is taken back")
    assert bed.evictions() == 0


def scenario_boost_without_request(make):
    """Containers without a cpu request: the boost goes down to what is recommended, or stays and is told of, once."""
    bed = Bed(make, webhook=True)
    boost, memory = quantity("2", durationSeconds=5), {"memory": "64Mi"}
    prepare(bed, "rec", memory, None, "Recreate", None, boost)
    prepare(bed, "offrec", memory, None, "Off", {"cpu": "300m"}, boost)
    prepare(bed, "mem", memory, None, "InPlaceOrRecreate", memory, boost,
            [{"containerName": "mem", "controlledResources": ["memory"]}])
    prepare(bed, "off", {}, None, "Off", None, boost)
    bed.cluster.webhook_knows()
    names = {"rec": "2", "offrec": "300m", "mem": "2", "off": "2"}
    for name in names:
        scale(bed, name, 2)
    before = {name: bed.uids(name) for name in names}
    until(lambda: not any(marked(p) for name in names for p in bed.pods(name)), 60, "the markers are gone")
    bed.passes(5)
    for name, cpu in names.items():
        assert bed.applied(name, {"cpu": cpu, **({} if name == "off" else memory)}), (name, bed.pods(name))
        assert bed.events("StartupBoostStays", f"{name}-") == (0 if name == "offrec" else 2), name
        assert bed.failures(name, "UnboostError") == 0, name
    assert {name: bed.uids(name) for name in names} == before and bed.evictions() == 0, bed.calls()


# Rights are taken away on purpose: no part of the report on the rights of deploy/.
scenario_boost_refused.other_rights = scenario_boost_killed.other_rights = True
