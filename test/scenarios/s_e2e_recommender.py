"""Acceptance cases R1 to R10 and I1 to I4: the recommender on usage that the fakelet serves."""
import re

from cluster import until
from fixtures import Hamster, amounts, container, numbers
from formulas import parse_quantity

SMALL = amounts("100m", "100Mi")
BUSY = {"fakelet.plumb/cpu": "150m", "fakelet.plumb/memory": "60Mi"}


def recommended(hamster, count=1, seconds=120, check=None):
    def found():
        have = hamster.cluster.recommendation(hamster.namespace, "hamster-vpa")
        return have if len(have) == count and (check is None or check(have)) else None
    return until(found, seconds, f"{count} container recommendations")


def started(cluster, namespace, kind="Deployment", replicas=1, containers=None, annotations=None, **vpa):
    hamster = Hamster(cluster, namespace, kind)
    hamster.create(containers or [container(requests=SMALL)], replicas, annotations or BUSY)
    hamster.vpa(**vpa)
    return hamster


def cpu(values):
    return parse_quantity(values["cpu"])


def orphan(cluster, namespace):
    """R1: an orphan checkpoint is removed"""
    cluster.client.create({"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscalerCheckpoint",
                           "metadata": {"name": "test", "namespace": namespace},
                           "spec": {"vpaObjectName": "some-vpa", "containerName": "c"}, "status": {}})
    until(lambda: not cluster.client.list("VerticalPodAutoscalerCheckpoint", namespace), 120, "no checkpoint is left")


def cron_job(cluster, namespace):
    """R2: a CronJob gets a recommendation"""
    recommended(started(cluster, namespace, "CronJob", 3), seconds=150)


def deployment(cluster, namespace):
    """R3: a Deployment gets a recommendation"""
    recommended(started(cluster, namespace))


def min_allowed(cluster, namespace):
    """R6: minAllowed"""
    found = recommended(started(cluster, namespace, policies=[{"containerName": "*", "minAllowed": {"cpu": "10000"}}]))
    assert cpu(found["hamster"]["target"]) >= 10 > cpu(found["hamster"]["uncappedTarget"]), found


def max_allowed(cluster, namespace):
    """R7: maxAllowed"""
    found = recommended(started(cluster, namespace, policies=[{"containerName": "*", "maxAllowed": {"cpu": "1m"}}]),
                        check=lambda have: cpu(have["hamster"]["uncappedTarget"]) > 0.001)
    assert cpu(found["hamster"]["target"]) <= 0.001, found


def two(mode):
    return dict(replicas=3, containers=[container(), container("hamster2")], policies=[
        {"containerName": "hamster", "mode": mode}, {"containerName": "hamster2", "mode": "Auto"}])


def all_covered(cluster, namespace):
    """R8: all containers covered"""
    assert set(recommended(started(cluster, namespace, **two("Auto")), 2)) == {"hamster", "hamster2"}


def opted_out(cluster, namespace):
    """R9: an opted-out container is left out"""
    assert set(recommended(started(cluster, namespace, **two("Off")))) == {"hamster2"}


def bump_ratio(cluster, namespace):
    """R10: OOM bump ratio from the VPA"""
    gibibyte = {"memory": "1Gi"}
    hamster = started(cluster, namespace, containers=[container(requests=gibibyte, limits=gibibyte)], target="v1",
                      annotations={"fakelet.plumb/memory": "1025Mi", "fakelet.plumb/after": "2s"},
                      policies=[{"containerName": "*", "oomBumpUpRatio": 3}])
    recommended(hamster, check=lambda have: numbers(have["hamster"]["target"])["memory"] >= 3 * 2 ** 30)


def checkpoint(cluster, namespace):
    found = cluster.client.list("VerticalPodAutoscalerCheckpoint", namespace)
    return found[0]["status"] if found and found[0]["status"].get("firstSampleStart") else None


def restart(cluster, namespace):
    """R4: bounds do not jump after a restart; R5: the checkpoint survives it, and the open memory intervals go on"""
    hamster = started(cluster, namespace)
    old = until(lambda: checkpoint(cluster, namespace), 120, "a checkpoint")
    first = recommended(hamster, check=lambda have: cpu(have["hamster"]["target"]) > 0.1)["hamster"]
    process = cluster.daemons["recommender"]
    process.stop()
    process.start()
    until(lambda: re.search(r'"Loaded checkpoints" count=[1-9].* openIntervals=[1-9]', process.text()), 60,
          "checkpoints with open intervals")
    new = until(lambda: (checkpoint(cluster, namespace) or {}).get("lastUpdateTime") != old["lastUpdateTime"]
                and checkpoint(cluster, namespace), 120, "a newer checkpoint")
    assert new["firstSampleStart"] == old["firstSampleStart"], (old, new)
    assert new["totalSamplesCount"] > old["totalSamplesCount"], (old, new)
    later = recommended(hamster)["hamster"]
    assert -(-cpu(later["lowerBound"]) // 1) >= -(-cpu(first["lowerBound"]) // 1), (first, later)
    assert -(-cpu(later["upperBound"]) // 1) <= -(-cpu(first["upperBound"]) // 1), (first, later)


def absent_target(cluster, namespace):
    """I4: a VPA without its target gets its generation observed"""
    Hamster(cluster, namespace).vpa()
    until(lambda: (lambda v: v.get("status", {}).get("observedGeneration") == v["metadata"]["generation"])(
        cluster.client.get("VerticalPodAutoscaler", "hamster-vpa", namespace)), 60, "the generation is observed")


def scenario_e2e_recommender(make):
    """Acceptance cases R1 to R10 and I4, side by side; the restart at the end."""
    cluster = make(rate=30.0)
    cluster.install()
    cluster.start_fakelet()
    cluster.start_daemon("recommender", "--checkpoints-gc-interval=5s")
    make.cases(cluster, [cron_job, orphan, deployment, min_allowed, max_allowed, all_covered, opted_out, bump_ratio,
                         absent_target], jobs=9)
    make.cases(cluster, [restart])


def selected(flag, names_chosen):
    def run(cluster, namespace):
        other = namespace + "-other"
        cluster.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": other}})
        chosen = started(cluster, namespace, **two("Off"))
        left = started(cluster, other, **two("Off"))
        cluster.start_daemon("recommender", f"{flag}={namespace if names_chosen else other}")
        try:
            assert set(recommended(chosen)) == {"hamster2"}
            cluster.wait_passes("recommender", 2)
            status = cluster.client.get("VerticalPodAutoscaler", "hamster-vpa", left.namespace).get("status") or {}
            assert not status.get("conditions"), status
        finally:
            cluster.daemons["recommender"].stop()
    return run


def scenario_e2e_integration(make):
    """Integration cases I1 to I3: namespaces of VPAs by flag, collection of orphans without pods or usage."""
    cluster = make(rate=30.0)
    cluster.install()
    cluster.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "orphans"}})
    cluster.start_daemon("recommender", "--checkpoints-gc-interval=1s")
    make.record("I3 an orphan is collected without a metrics API", orphan, cluster, "orphans")
    cluster.daemons["recommender"].stop()
    cluster.start_fakelet()
    for identity, flag, names_chosen in (("I1", "--vpa-object-namespace", True),
                                         ("I2", "--ignored-vpa-object-namespaces", False)):
        case = selected(flag, names_chosen)
        case.__doc__ = f"{identity}: {flag}"
        make.cases(cluster, [case])


scenario_e2e_recommender.seconds = 120
scenario_e2e_integration.seconds = 50
scenario_e2e_integration.each_minor = scenario_e2e_recommender.each_minor = True
