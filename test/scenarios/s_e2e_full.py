"""Acceptance cases F1 to F9: all three daemons together, on usage that the fakelet serves."""
import threading

from cluster import until
from fixtures import Hamster, amounts, container, recommendation, spec_of
from formulas import parse_quantity

MIB = 2 ** 20
IDLE = {"cpu": (0, 0.12), "memory": (0, 300 * MIB)}
LOADED = {"cpu": (0.5, 1.3), "memory": (900 * MIB, 4000 * MIB)}
LOAD = {"fakelet.plumb/cpu": "600m", "fakelet.plumb/memory": "1024M"}
IDLENESS = {"fakelet.plumb/cpu": "1m", "fakelet.plumb/memory": "8M"}
CONSUMER = container(requests=amounts("10m", "10M"))
SEEDED = recommendation(**amounts("250m", "200Mi"))


class Start:
    """The updater starts when every seeded recommendation has been overwritten: it would apply them."""

    def __init__(self, cluster, parties):
        self.updating = threading.Event()

        def go():
            cluster.start_daemon("updater")
            self.updating.set()
        self.barrier = threading.Barrier(parties, go, 150)

    def overwritten(self, cluster, namespace, vpa, container):
        until(lambda: cluster.recommendation(namespace, vpa).get(container, SEEDED)["target"] != SEEDED["target"], 90,
              "the seeded recommendation is overwritten")
        self.barrier.wait()

    def wait(self):
        assert self.updating.wait(150), "the updater was not started"


def within(hamster, resource, least, most, index=0):
    pods = hamster.pods()
    return bool(pods) and all(least <= spec_of(p, index)[0].get(resource, -1) <= most for p in pods)


def settles(hamster, resource, bounds, what, seconds=150, index=0):
    """All pods at the same time request an amount inside the bounds."""
    until(lambda: within(hamster, resource, *bounds, index=index), seconds,
          f"{hamster.name}: {what}, {resource} within {bounds}")


def consumer(cluster, namespace, mode=None, name="hamster", recommenders=None, **vpa):
    """Two idle pods and a VPA with a seeded recommendation."""
    hamster = Hamster(cluster, namespace, name=name)
    hamster.create([{**CONSUMER, "name": name}], 2, IDLENESS)
    hamster.wait_pods(2)
    more = {"recommenders": [{"name": recommenders}]} if recommenders else {}
    hamster.vpa({**SEEDED, "containerName": name}, mode=mode, **more, **vpa)
    return hamster


def loaded(hamster):
    """The same load for every pod, those that come later too."""
    hamster.change(annotations=LOAD)
    until(lambda: len(hamster.pods()) == 2 and all(
        p["metadata"]["annotations"].get("fakelet.plumb/cpu") == "600m" for p in hamster.pods()), 120, "the load is on")


def follows(identity, title, resource, mode=None):
    def run(cluster, namespace):
        hamster = consumer(cluster, namespace, mode)
        cluster.start.overwritten(cluster, namespace, "hamster-vpa", "hamster")
        settles(hamster, resource, IDLE[resource], "idle")
        loaded(hamster)
        settles(hamster, resource, LOADED[resource], "with the load")
    run.__doc__ = f"{identity}: {title}"
    return run


def unknown_recommender(cluster, namespace):
    """F6: the VPA of an unknown recommender is left alone"""
    left = consumer(cluster, namespace, recommenders="non-recognized")
    control = consumer(cluster, namespace, name="hamster-control")
    seeded = cluster.client.get("VerticalPodAutoscaler", "hamster-vpa", namespace)["status"]
    cluster.start.overwritten(cluster, namespace, "hamster-control-vpa", "hamster-control")
    settles(control, "cpu", IDLE["cpu"], "idle")
    for hamster in (left, control):
        loaded(hamster)
    settles(control, "cpu", LOADED["cpu"], "with the load")
    assert cluster.client.get("VerticalPodAutoscaler", "hamster-vpa", namespace)["status"] == seeded
    assert within(left, "cpu", 0, 0.499), [spec_of(p) for p in left.pods()]


def seconds(cluster, count):
    """Durations of boosts, so long that there is time to look: 20 seconds of the simulator pass in one."""
    return count * 4 if cluster.tier == "sim" else count // 4


def boost(cluster, duration):
    return {"cpu": {"type": "Factor", "factor": 20, "durationSeconds": seconds(cluster, duration)}}


def boosted(cluster, namespace, containers, **vpa):
    """One pod that comes when the webhook knows the VPA."""
    hamster = Hamster(cluster, namespace)
    hamster.create(containers, 0, IDLENESS)
    hamster.vpa(mode="InPlaceOrRecreate", **vpa)
    cluster.start.wait()
    cluster.webhook_knows()
    hamster.change(replicas=1)
    until(lambda: len(hamster.pods()) == 1, 60, "the pod")
    return hamster


def boost_and_back(cluster, namespace):
    """F7: boost and back"""
    hamster = boosted(cluster, namespace, [CONSUMER], startupBoost=boost(cluster, 65))
    assert within(hamster, "cpu", 0.18, 0.22), spec_of(hamster.pods()[0])
    settles(hamster, "cpu", IDLE["cpu"], "the boost is over")


def policies(cluster, *durations):
    return [{"containerName": n, "startupBoost": boost(cluster, d)} for n, d in zip(("hamster", "container2"), durations)]


TWO = [CONSUMER, container("container2", amounts("20m", "10M"))]


def boost_of_one(cluster, namespace):
    """F8a: boost of one container"""
    hamster = boosted(cluster, namespace, TWO, policies=policies(cluster, 65))
    assert within(hamster, "cpu", 0.18, 0.22) and within(hamster, "cpu", *IDLE["cpu"], index=1), hamster.pods()[0]["spec"]
    settles(hamster, "cpu", IDLE["cpu"], "the boost is over")
    settles(hamster, "cpu", IDLE["cpu"], "never boosted", index=1)


def boost_durations(cluster, namespace):
    """F8b: boosts of different durations"""
    hamster = boosted(cluster, namespace, TWO, policies=policies(cluster, 65, 185))
    assert within(hamster, "cpu", 0.18, 0.22) and within(hamster, "cpu", 0.35, 0.45, index=1), hamster.pods()[0]["spec"]

    def first_is_over():
        first = within(hamster, "cpu", *IDLE["cpu"])
        return first and (within(hamster, "cpu", 0.35, 0.45, index=1) or hamster.pods()[0]["spec"]["containers"])
    found = until(first_is_over, 150, "the first boost is over", every=0.02)
    assert found is True, found
    settles(hamster, "cpu", IDLE["cpu"], "the second boost is over", index=1)
    assert within(hamster, "cpu", *IDLE["cpu"])


def out_of_memory(cluster, namespace):
    """F9: running out of memory raises it"""
    gibibyte = {"memory": "1Gi"}
    hamster = Hamster(cluster, namespace)
    hamster.create([container(requests=gibibyte, limits=gibibyte)], 3,
                   {"fakelet.plumb/memory": "1025Mi", "fakelet.plumb/after": "2s"})
    hamster.vpa(target="v1")
    until(lambda: len(hamster.pods()) == 3 and all(
        1400 * MIB <= spec_of(p)[0].get("memory", 0) <= 10000 * MIB for p in hamster.pods()), 150,
        "three pods with more memory")


FOLLOWS = [follows("F1", "CPU follows the load, InPlaceOrRecreate", "cpu", "InPlaceOrRecreate"),
           follows("F2", "memory follows the load, InPlaceOrRecreate", "memory", "InPlaceOrRecreate"),
           follows("F3", "CPU follows the load, default mode", "cpu"),
           follows("F4", "memory follows the load, default mode", "memory"),
           follows("F5", "CPU follows the load, the default recommender", "cpu")]


def scenario_e2e_full(make):
    """Acceptance cases F1 to F9: right-sized from usage, boosted and taken back; side by side in namespaces of their own."""
    cluster = make(rate=20.0)
    cluster.install()
    cluster.start_fakelet()
    for daemon in ("admission-controller", "recommender"):
        cluster.start_daemon(daemon)
    cluster.start = Start(cluster, len(FOLLOWS) + 1)
    until(lambda: cluster.client.find("Lease", "vpa-admission-controller", "kube-system"), 60, "the webhook's Lease")
    make.cases(cluster, [*FOLLOWS, unknown_recommender, boost_and_back, boost_of_one, boost_durations, out_of_memory],
               jobs=10)


scenario_e2e_full.seconds = 120
scenario_e2e_full.each_minor = True
