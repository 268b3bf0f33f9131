"""The cluster of the tier `faults`: a real control plane, replicas of the daemons that can be reached one by one, and a load.

Each replica has a way of its own to the API server (a relay with a source address, by which the audit log tells the replicas
apart) and a clock of its own (the file of src/daemon/clock.c at the speed of real time). What ends is started again at once, as
a kubelet does, and an end that no fault explains is a finding.
"""
import contextlib
import http.client
import threading
import time
import urllib.parse

from clockfile import ClockFile
from cluster import Cluster, DAEMONS, until
from kube import ApiError, Client, path_of
from processes import free_port, wait_port
from realcluster import write_kubeconfig
from relay import Relay

NAMESPACE = "faults"
LEASES = {"recommender": "vpa-recommender-lease", "updater": "vpa-updater", "admission-controller": "vpa-admission-controller"}
ELECTED = ("recommender", "updater")
FLAGS = {"recommender": ("--leader-elect=true", "--recommender-interval=5s", "--checkpoint-interval=50s",
                         "--confidence-interval-cpu=2h", "--confidence-interval-memory=2h"),
         "updater": ("--leader-elect=true", "--updater-interval=5s"),
         "admission-controller": ("--status-lease-update-interval=2s",)}
REPLICAS, TOLERATED = 4, 2  # pods of a workload of the load, and how many of them may be away: half
LOST = 255  # exit status of who lost the Lease
UNREACHABLE = (ApiError, OSError, http.client.HTTPException)


class Replica:
    def __init__(self, bed, daemon, number):
        self.bed, self.daemon, self.number, self.name = bed, daemon, number, f"{daemon}-{number}"
        cluster, plane = bed.cluster, bed.cluster.plane
        self.source = f"127.0.{10 + list(DAEMONS).index(daemon)}.{10 + number}"
        self.relay = Relay("127.0.0.1", urllib.parse.urlsplit(plane.url).port, self.source)
        folder = cluster.processes.folder
        self.clock = ClockFile(folder / f"{self.name}.clock")
        config = write_kubeconfig(folder / f"{self.name}.kubeconfig", f"https://127.0.0.1:{self.relay.port}", plane.ca,
                                  token=plane.token(f"vpa-{daemon}"))
        port = free_port()
        command = [cluster.programs / DAEMONS[daemon], f"--kubeconfig={config}", f"--address=127.0.0.1:{port}", "--v=3",
                   *FLAGS[daemon]]
        if daemon == "admission-controller":
            command += cluster._webhook_flags()
        if daemon == "updater":
            command.append(f"--ledger-file={folder / self.name}.ledger")
        self.address = Client(f"http://127.0.0.1:{port}", timeout=5)
        self.process = cluster.processes.start(self.name, command, {"VPA_SIMULATED_CLOCK": str(self.clock.path),
                                                                    "NAMESPACE": "kube-system"})
        wait_port(port)
        self.busy = threading.Lock()  # whoever ends and starts it
        self.peak = self.first = 0.0  # MiB: the largest, and that of the first minute
        self.said, self.began = 0, time.monotonic()  # length of its log, and when this process began

    def again(self):
        self.said, self.began = self.process.log.stat().st_size, time.monotonic()
        self.process.start()

    def text(self):
        """What this process has said."""
        with open(self.process.log, "rb") as log:
            log.seek(self.said)
            return log.read().decode(errors="replace")

    def leads(self):
        """Whoever loses the Lease ends: so it leads from when it said so."""
        return self.process.running() and "Successfully acquired lease" in self.text()

    def measure(self):
        """Resident memory, once it is up."""
        if self.process.running() and time.monotonic() - self.began > 2:
            with contextlib.suppress(OSError, KeyError, AttributeError):
                now, peak = self.process.resident()
                self.first = self.first or now
                self.peak = max(self.peak, peak)


def workload(name, replicas, request="100m", **annotations):
    labels = {"app": name}
    marks = {f"fakelet.plumb/{k}": v for k, v in {"cpu": "50m", "memory": "48Mi", **annotations}.items()}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {"replicas": replicas, "selector": {"matchLabels": labels},
                     "template": {"metadata": {"labels": labels, "annotations": marks},
                                  "spec": {"terminationGracePeriodSeconds": 1, "containers": [
                                      {"name": "c", "image": "fakelet",
                                       "resources": {"requests": {"cpu": request, "memory": "64Mi"}}}]}}}}


def autoscaler(name, target, mode, recommender=None):
    spec = {"targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": target},
            "updatePolicy": {"updateMode": mode}}
    if recommender:
        spec["recommenders"] = [{"name": recommender}]
    return {"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler",
            "metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec}


def ready(pod):
    return not pod["metadata"].get("deletionTimestamp") and any(
        c["type"] == "Ready" and c["status"] == "True" for c in pod["status"].get("conditions") or [])


class FaultBed:
    """pushed: workloads whose recommendation the load moves, so that the updater always has something to do; learned: workloads
    that the recommender serves."""

    def __init__(self, folder, minor, preset, pushed=4, learned=4):
        self.cluster = cluster = Cluster(folder, minor, preset=preset, fresh=True)
        self.client, self.plane = cluster.client, cluster.plane
        self.pushed = [f"pushed-{i}" for i in range(pushed)]
        self.learned = [f"learned-{i}" for i in range(learned)]
        cluster.install()
        self.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        cluster.start_fakelet("--tick=200ms", "--metric-resolution=1s")
        until(lambda: self.client.find("ServiceAccount", "default", NAMESPACE), 60, "the default service account")
        for name in self.pushed:
            self.client.create(workload(name, REPLICAS))
            self.client.create(autoscaler(name, name, "Recreate", "nobody"))
        for i, name in enumerate(self.learned):
            self.client.create(workload(name, 3, "1", trace=("postgresql", "redis", "jvm", "nginx")[i % 4]))
            self.client.create(autoscaler(name, name, "Recreate"))
        self.client.create(workload("fresh", 2))
        self.replicas = [Replica(self, daemon, number) for daemon in DAEMONS
                         for number in range(2 if daemon in ELECTED else 1)]
        self.etcd = next(p for p in cluster.processes.all if p.name == "etcd")

    def recommend(self, vpa, container="c", **amounts):
        self.client.merge("VerticalPodAutoscaler", vpa, {"status": {"recommendation": {"containerRecommendations": [
            {"containerName": container, **amounts}]}}}, NAMESPACE, "status")

    def push(self, vpa, cpu):
        """Every pod of the workload is to have so many millicores."""
        self.recommend(vpa, target={"cpu": f"{cpu}m", "memory": "64Mi"}, lowerBound={"cpu": f"{cpu * 9 // 10}m", "memory": "60Mi"},
                       upperBound={"cpu": f"{cpu * 11 // 10}m", "memory": "70Mi"})

    def pods(self, name=None):
        return self.client.list("Pod", NAMESPACE, f"?labelSelector=app%3D{name}" if name else "")

    def holder(self, daemon):
        found = self.client.find("Lease", LEASES[daemon], "kube-system") or {}
        return found.get("spec", {}).get("holderIdentity") or ""

    def of(self, daemon):
        return [r for r in self.replicas if r.daemon == daemon]

    def answered(self, workload):
        """The CPU request that a new pod of the workload would get; it is not made (dryRun)."""
        model = self.pods(workload)[0]["metadata"]
        pod = {"apiVersion": "v1", "kind": "Pod",
               "metadata": {"name": "asked", "namespace": NAMESPACE, "labels": model["labels"],
                            "ownerReferences": model["ownerReferences"]},
               "spec": {"containers": [{"name": "c", "image": "fakelet", "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}}]}}
        made = self.client.request("POST", path_of("Pod", namespace=NAMESPACE) + "?dryRun=All", pod)
        return made["spec"]["containers"][0]["resources"]["requests"]["cpu"]

    def close(self):
        return self.cluster.close()
