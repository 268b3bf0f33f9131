"""How well the recommendations fit, live: workloads whose usage is known, and the metrics that tell of it."""
from cluster import until
from formulas import parse_quantity

NAMESPACE = "fit"
RESOURCES = ("cpu", "memory")


def workload(name, replicas, **usage):
    labels = {"app": name}
    template = {"metadata": {"labels": labels, "annotations": {f"fakelet.plumb/{k.replace('_', '-')}": v for k, v in usage.items()}},
                "spec": {"containers": [{"name": "app", "image": "fakelet",
                                         "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}}}]}}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}}


def start_workload(cluster, name, algorithm, replicas=2, **usage):
    cluster.client.create(workload(name, replicas, **usage))
    spec = {"targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}, "updatePolicy": {"updateMode": "Off"}}
    if algorithm != "vpa":
        spec["recommenders"] = [{"name": algorithm}]
    cluster.client.create({"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler",
                           "metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec})


def measured(cluster, family, **labels):
    """The value of a series of the measures; None when there is none."""
    text = ",".join(f'{k}="{v}"' for k, v in sorted(labels.items()))
    return cluster.metrics("recommender").get(f"vpa_recommender_{family}{{{text}}}")


def sums(cluster, prefix, **labels):
    """{resource: (recommended, used, served)}, 0 where there is no series yet; one reading of the page."""
    page = cluster.metrics("recommender")

    def value(counter, resource):
        text = ",".join(f'{k}="{v}"' for k, v in sorted({**labels, "resource": resource}.items()))
        return page.get(f"vpa_recommender_{prefix}_{counter}_total{{{text}}}", 0.0)
    return {r: tuple(value(c, r) for c in ("recommended", "used", "served")) for r in RESOURCES}


def added(before, after):
    return {r: tuple(b - a for a, b in zip(before[r], after[r])) for r in RESOURCES}


def target(cluster, name):
    """{resource: cores or bytes} before the bounds of policies; empty without one."""
    found = cluster.recommendation(NAMESPACE, name).get("app")
    return {r: parse_quantity(found["uncappedTarget"][r]) for r in RESOURCES} if found else {}


def near(a, b, share=0.01):
    return abs(a - b) <= share * abs(b)


def steady_passes(cluster, name, prefix, **labels):
    """What some passes added while the target of a VPA stood still, and that target. Sums of a pass and the status that
    it wrote are told apart by reading the target first and last, two passes away from both."""
    for _ in range(20):
        before = target(cluster, name)
        cluster.wait_passes("recommender", 2)
        first = sums(cluster, prefix, **labels)
        cluster.wait_passes("recommender", 3)
        last = sums(cluster, prefix, **labels)
        cluster.wait_passes("recommender", 2)
        if before and before == target(cluster, name) and all(last[r][1] > first[r][1] for r in RESOURCES):
            return added(first, last), before
    raise AssertionError(f"the target of {name} does not come to rest: {before}, {first}, {last}")


def check_steady(cluster, known):
    """400m and 300Mi all the time: what is recommended beyond it is slack, and nothing is unserved."""
    for prefix, labels in (("measure", {"algorithm": "vpa"}), ("vpa_measure", {"namespace": NAMESPACE, "vpa": "steady"})):
        new, wanted = steady_passes(cluster, "steady", prefix, **labels)
        for resource in RESOURCES:
            recommended, used, served = new[resource]
            assert near(served, used), (prefix, resource, new)
            assert near(recommended / used, wanted[resource] / known[resource]), (prefix, resource, new, wanted)
            slack = measured(cluster, "measure_slack", algorithm="vpa", resource=resource)
            assert abs(slack - (1 - known[resource] / wanted[resource])) < 0.01, (slack, wanted, known)
            unserved = measured(cluster, "measure_unserved", algorithm="vpa", resource=resource)
            assert 0 <= unserved < 0.01, unserved
        assert 0.1 < 1 - known["cpu"] / wanted["cpu"] < 0.3, wanted  # a margin of 15 % and half a bucket


def check_surge(cluster):
    """From next to nothing to 900m: until the target has followed, what is above it is unserved; then it has changed."""
    old = target(cluster, "surge")["cpu"]
    before = sums(cluster, "measure", algorithm="crane")["cpu"]
    changes = measured(cluster, "measure_changes_total", algorithm="crane", resource="cpu") or 0
    assert old < 0.2 and near(before[1], before[2]), (old, before)  # nothing was unserved so far
    until(lambda: target(cluster, "surge")["cpu"] > 0.9, 120, "the target has followed")
    cluster.wait_passes("recommender", 2)
    after = sums(cluster, "measure", algorithm="crane")["cpu"]
    unserved = (after[1] - before[1]) - (after[2] - before[2])
    samples = unserved / (0.9 - old)  # each of them misses as much
    assert samples > 0.99 and near(samples, round(samples)), (samples, old, before, after)
    assert measured(cluster, "measure_changes_total", algorithm="crane", resource="cpu") > changes
    cluster.wait_passes("recommender", 2)
    later = sums(cluster, "measure", algorithm="crane")["cpu"]
    assert near(later[1] - after[1], later[2] - after[2]), (after, later)  # and then served again


def restarts(cluster, name):
    return sum(s.get("restartCount", 0) for p in cluster.pods(NAMESPACE, app=name)
               for s in p.get("status", {}).get("containerStatuses") or [])


def check_kills(cluster):
    """A container that is killed for its memory again and again: each kill is counted, and no other."""
    labels = {"namespace": NAMESPACE, "vpa": "leaky"}
    until(lambda: target(cluster, "leaky"), 60, "a recommendation of leaky")
    until(lambda: (measured(cluster, "vpa_measure_ooms_total", **labels, resource="memory") or 0) >= 2, 90, "two kills")
    counted = measured(cluster, "vpa_measure_ooms_total", **labels, resource="memory")
    assert counted <= restarts(cluster, "leaky") + 1, (counted, restarts(cluster, "leaky"))
    assert measured(cluster, "measure_ooms_total", algorithm="plumb", resource="memory") >= counted
    assert not measured(cluster, "vpa_measure_ooms_total", namespace=NAMESPACE, vpa="steady", resource="memory")


def scenario_measures(make):
    """Slack, unserved usage, kills and changes are those of the workloads; of a single VPA only where it is asked for."""
    cluster = make(rate=120.0, fast_clock=True)
    cluster.install()
    cluster.start_fakelet()
    cluster.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    start_workload(cluster, "steady", "vpa", cpu="400m", memory="300Mi")
    start_workload(cluster, "leaky", "plumb", replicas=1, cpu="100m", memory="100Mi", oom_after="15m")
    cluster.start_daemon("recommender", f"--measure-vpas={NAMESPACE}/steady,{NAMESPACE}/leaky", "--crane-creation-cooldown=1s")
    until(lambda: target(cluster, "steady"), 60, "a recommendation of steady")
    start_workload(cluster, "surge", "crane", cpu="900m", memory="300Mi", after="2h")
    until(lambda: target(cluster, "surge"), 60, "a recommendation of surge")
    check_surge(cluster)
    check_steady(cluster, {"cpu": 0.4, "memory": 300 * 2 ** 20})
    check_kills(cluster)
    # Those that name no VPA are there from the start.
    singles = {key for key in cluster.metrics("recommender")
               if key.startswith("vpa_recommender_vpa_measure_") and 'vpa=""' not in key}
    assert singles and all('vpa="steady"' in key or 'vpa="leaky"' in key for key in singles), singles
    cluster.client.delete("VerticalPodAutoscaler", "steady", NAMESPACE)
    until(lambda: not any('vpa="steady"' in key and "vpa_measure" in key for key in cluster.metrics("recommender")), 60,
          "the series of a VPA that is gone to go")
