"""Two replicas of the recommender: the standby goes on where the leader ends, whatever ended it."""
import signal
import urllib.parse

from cluster import ROOT, documents, until
from formulas import parse_quantity
from realcluster import write_kubeconfig
from relay import Relay
from s_recommend import NAMESPACE, start_workloads

LEASE = "vpa-recommender-lease"
NAMES = ("mongodb", "etcd", "orders", "web")
ELECTION = ("--leader-elect=true", "--leader-elect-lease-duration=120s", "--leader-elect-renew-deadline=90s",
            "--leader-elect-retry-period=5s")
# Passes of which a loaded machine may let one replica read another sample, or none.
SLACK = 4


def lease(cluster, name):
    return (cluster.client.find("Lease", name, "kube-system") or {}).get("spec", {})


def holder(cluster):
    return lease(cluster, LEASE).get("holderIdentity") or ""


def start(cluster, *flags):
    cluster.start_daemon("recommender", *ELECTION, *flags)
    return cluster.daemons.pop("recommender")


def start_twin(cluster):
    """A recommender with VPAs of its own for the same workloads, whose lead nobody contests."""
    for vpa in documents(ROOT / "deploy/demo/vpas.yaml"):
        vpa["metadata"]["name"] += "-twin"
        vpa["spec"]["updatePolicy"]["updateMode"] = "Off"
        vpa["spec"]["recommenders"] = [{"name": "twin"}]
        cluster.client.apply(vpa)
    return start(cluster, "--recommender-name=twin", "--leader-elect-resource-name=vpa-recommender")


def start_cut_off(cluster):
    """A recommender whose way to the API server goes through a relay."""
    relay = Relay("127.0.0.1", urllib.parse.urlsplit(cluster.plane.url).port)
    config = cluster.processes.folder / "relayed.kubeconfig"
    write_kubeconfig(config, f"http://127.0.0.1:{relay.port}", token=cluster.plane.token("vpa-recommender"))
    return start(cluster, f"--kubeconfig={config}"), relay


def wait_for_standby(cluster):
    """Until another one than the leader has told that it is in step."""
    def in_step():
        found = lease(cluster, LEASE + "-standby")
        return found.get("renewTime") and found.get("holderIdentity") != holder(cluster)
    until(in_step, 90, "a standby is in step")


def wait_for_another(cluster, before):
    until(lambda: holder(cluster) not in ("", before), 60, "the standby leads")


def expect_lost(process):
    until(lambda: not process.running(), 60, "who lost the lead ends")
    assert process.process.returncode == 255 and "lost master" in process.text(), process.text()[-1500:]
    process.process = None


def kill(cluster, leader):
    before = holder(cluster)
    leader.kill()
    wait_for_another(cluster, before)


def stop(cluster, leader):
    """The Lease is given back, after the checkpoints that were waiting."""
    before = holder(cluster)
    leader.stop()
    wait_for_another(cluster, before)


def freeze(cluster, leader):
    before = holder(cluster)
    leader.process.send_signal(signal.SIGSTOP)
    wait_for_another(cluster, before)
    leader.process.send_signal(signal.SIGCONT)
    expect_lost(leader)


def samples(cluster, name):
    found = cluster.client.find("VerticalPodAutoscalerCheckpoint", name, NAMESPACE) or {}
    return found.get("status", {}).get("totalSamplesCount", 0), found.get("status", {}).get("lastSampleStart") or ""


def stop_in_step(cluster, processes):
    """All stop after a pass with samples of after this call."""
    moment = cluster.plane.now()
    wanted = [f"{n}{suffix}-{n}" for n in NAMES for suffix in ("", "-twin")]
    until(lambda: all(samples(cluster, name)[1] > moment for name in wanted), 60, f"checkpoints after {moment}")
    for process in processes:
        process.stop()


def compare(cluster):
    for name in NAMES:
        one, other = (samples(cluster, f"{name}{suffix}-{name}")[0] for suffix in ("", "-twin"))
        assert abs(one - other) <= SLACK * len(cluster.pods(NAMESPACE, app=name) or [1]), (name, one, other)
        ours, twins = (cluster.recommendation(NAMESPACE, name + suffix)[name] for suffix in ("", "-twin"))
        for bound in ("target", "lowerBound", "upperBound"):
            for kind in ("cpu", "memory"):
                a, b = (parse_quantity(r[bound][kind]) for r in (ours, twins))
                assert abs(a - b) <= 0.06 * b, (name, bound, kind, a, b)  # neighbours: a bucket is 5 % wide


def scenario_takeover(make):
    """kill -9, SIGTERM, SIGSTOP and SIGCONT, and a partition of the leader: each time the standby goes on, and at the
    end statuses and checkpoints are those of a recommender that nobody disturbed."""
    cluster = make(rate=30.0)
    start_workloads(cluster, "Off")
    twin = start_twin(cluster)
    leader = start(cluster)
    until(lambda: holder(cluster), 30, "the first one leads")
    relay = None
    for end in (kill, stop, freeze):
        standby = start(cluster)
        wait_for_standby(cluster)
        end(cluster, leader)
        leader = standby
    standby, relay = start_cut_off(cluster)
    wait_for_standby(cluster)
    kill(cluster, leader)  # now the one behind the relay leads
    leader, standby = standby, start(cluster)
    wait_for_standby(cluster)
    before = holder(cluster)
    relay.cut()
    wait_for_another(cluster, before)
    expect_lost(leader)
    relay.close()
    stop_in_step(cluster, (standby, twin))
    compare(cluster)


scenario_takeover.tiers = ["sim"]
scenario_takeover.why = "hours of cluster time"


def scenario_unusable_object(make):
    """A VPA that nobody can read gets a Warning event from the leader alone, and no status; mended, it is served."""
    cluster = make(rate=30.0)
    cluster.install()
    cluster.start_fakelet()  # without usage no standby is in step
    cluster.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    spec = {"targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "resourcePolicy": {"containerPolicies": [{"containerName": "*", "minAllowed": {"cpu": "1e1.5"}}]}}
    cluster.client.create({"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler",
                           "metadata": {"name": "web", "namespace": NAMESPACE}, "spec": spec})
    replicas = [start(cluster), start(cluster)]

    def told():
        return [e for e in cluster.client.list("Event", NAMESPACE) if e["reason"] == "UnusableObject"]
    event = until(told, 30, "the event")[0]
    assert event["type"] == "Warning" and event["source"]["component"] == "vpa-recommender", event
    about = event["involvedObject"]
    assert (about["kind"], about["name"], about["apiVersion"]) == ("VerticalPodAutoscaler", "web", "autoscaling.k8s.io/v1")
    assert about["uid"] and "minAllowed" in event["message"], event
    wait_for_standby(cluster)
    assert len(told()) == 1, told()

    def vpa():
        return cluster.client.find("VerticalPodAutoscaler", "web", NAMESPACE)
    assert not vpa().get("status"), vpa()
    spec["resourcePolicy"]["containerPolicies"][0]["minAllowed"]["cpu"] = "1"
    cluster.client.merge("VerticalPodAutoscaler", "web", {"spec": spec}, NAMESPACE)
    until(lambda: vpa().get("status"), 30, "a status")
    for one in replicas:
        one.stop()


scenario_unusable_object.tiers = ["sim"]
scenario_unusable_object.why = "minutes of cluster time"
