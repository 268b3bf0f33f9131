"""Several algorithms in one recommender: each VPA has the one that it names, a restart keeps what each has learned."""
import json
import subprocess

from cluster import ROOT, documents, until

NAMESPACE = "demo"
STATE = "vpa.autoscaling.k8s.io/algorithm-state"
# One workload for each algorithm that a flag of its own tells of; VPA's own has none.
WORKLOADS = {"vpa": "web", "crane": "etcd", "autopilot": "orders", "autopilot-ml": "shop", "plumb": "mongodb"}
COPIES = {"shop": "web"}  # workloads that the demo does not have


def served(cluster):
    """The algorithms of this build."""
    text = subprocess.run([cluster.programs / "vpa-recommender", "--help"], capture_output=True, text=True, check=True)
    flags = text.stdout + text.stderr
    return {name: vpa for name, vpa in WORKLOADS.items() if name == "vpa" or f"--{name}-" in flags}


def named(found, name):
    """A demo object of one name, container included, under another one."""
    old = found["metadata"]["name"]
    return json.loads(json.dumps(found).replace(f'": "{old}"', f'": "{name}"'))


def demo_object(file, kind, name):
    of = COPIES.get(name, name)
    found = next(d for d in documents(ROOT / "deploy/demo" / file) if d["kind"] == kind and d["metadata"]["name"] == of)
    return named(found, name)


def name_algorithm(cluster, vpa, algorithm):
    found = demo_object("vpas.yaml", "VerticalPodAutoscaler", vpa)
    found["spec"]["updatePolicy"]["updateMode"] = "Off"
    found["spec"]["recommenders"] = [{"name": "default" if algorithm == "vpa" else algorithm}]
    cluster.client.apply(found)


def condition(cluster, vpa):
    """(status, reason) of the condition Algorithm, or None."""
    found = cluster.client.get("VerticalPodAutoscaler", vpa, NAMESPACE).get("status", {})
    for entry in found.get("conditions", []):
        if entry["type"] == "Algorithm":
            return entry["status"], entry["reason"]
    return None


def checkpoints(cluster):
    """{name: object}"""
    return {c["metadata"]["name"]: c for c in cluster.client.list("VerticalPodAutoscalerCheckpoint", NAMESPACE)}


def samples(cluster, algorithms):
    """{algorithm: how many CPU samples its stored state has seen}; VPA's own in its own format."""
    stored, found = checkpoints(cluster), {}
    for algorithm, vpa in algorithms.items():
        own = stored.get(f"{vpa}-{vpa}")
        if algorithm == "vpa":
            found[algorithm] = own["status"].get("totalSamplesCount", 0) if own else 0
            continue
        state = stored.get(f"{vpa}-{vpa}.{algorithm}")
        found[algorithm] = json.loads(state["metadata"]["annotations"][STATE])["samples"] if state else 0
        assert own is None or own["status"]["version"] == "v3", own
        assert state is None or state["status"]["version"] == f"plumb-{algorithm}", state
    return found


def recommended(cluster, algorithms):
    return all(cluster.recommendation(NAMESPACE, vpa).get(vpa) for vpa in algorithms.values())


def more_samples(cluster, algorithms, before):
    now = samples(cluster, algorithms)
    return all(now[a] > before[a] for a in algorithms)


def scenario_algorithms(make):
    """VPAs of the same kind of workload have different algorithms in one process; kill -9 and switching lose nothing."""
    cluster = make(rate=120.0, fast_clock=True)  # some learn in windows of five minutes
    cluster.install()
    cluster.start_fakelet()
    cluster.apply(ROOT / "deploy/demo/workloads.yaml")
    for copy in COPIES:
        cluster.client.apply(demo_object("workloads.yaml", "Deployment", copy))
    algorithms = served(cluster)
    assert set(algorithms) == set(WORKLOADS), algorithms
    for algorithm, vpa in algorithms.items():
        name_algorithm(cluster, vpa, algorithm)
    recommender = cluster.start_daemon("recommender", "--crane-creation-cooldown=1s")
    until(lambda: recommended(cluster, algorithms), 90, f"recommendations of {algorithms}")
    for algorithm, vpa in algorithms.items():
        wanted = None if algorithm == "vpa" else ("True", algorithm)
        assert condition(cluster, vpa) == wanted, (vpa, condition(cluster, vpa))
    for _ in range(2):
        before = samples(cluster, algorithms)
        until(lambda: more_samples(cluster, algorithms, before), 60, f"checkpoints after {before}")
        stored = samples(cluster, algorithms)
        recommender.kill()
        recommender.start()
        until(lambda: more_samples(cluster, algorithms, stored), 60, f"the new process going on from {stored}")
        assert recommended(cluster, algorithms)
    # There and back: the state goes on, whoever recommends.
    learned = samples(cluster, algorithms)
    name_algorithm(cluster, algorithms["crane"], "vpa")
    until(lambda: condition(cluster, algorithms["crane"]) is None, 60, "VPA's own algorithm")
    until(lambda: more_samples(cluster, algorithms, learned), 60, f"the former algorithm learning on from {learned}")
    recommender.kill()
    recommender.start()
    name_algorithm(cluster, algorithms["crane"], "crane")
    until(lambda: condition(cluster, algorithms["crane"]) == ("True", "crane"), 60, "Crane's again")
    until(lambda: more_samples(cluster, algorithms, learned), 60, f"Crane's state going on from {learned}")
    assert recommended(cluster, algorithms)
    # The VPA goes, and all that was stored for it.
    cluster.client.delete("VerticalPodAutoscaler", algorithms["crane"], NAMESPACE)
    until(lambda: not [n for n in checkpoints(cluster) if n.startswith(algorithms["crane"] + "-")], 120,
          "the checkpoints of a VPA that is gone to go")


scenario_algorithms.each_minor = True
