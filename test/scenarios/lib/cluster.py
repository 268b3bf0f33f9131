"""A cluster for scenarios and the demo: a control plane (simulated or real), the fakelet, and the three daemons."""
import itertools
import json
import os
import pathlib

import yaml

import certs
from clockfile import ClockFile
from controlplane import ControlPlane
from kube import ApiError, Client, path_of, until
from processes import Processes, free_port, wait_port
from realcluster import RealControlPlane, write_kubeconfig, write_tokens

ROOT = pathlib.Path(__file__).resolve().parents[3]
DAEMONS = {"recommender": "vpa-recommender", "updater": "vpa-updater",
           "admission-controller": "vpa-admission-controller"}


# Intervals that follow the rate of the cluster where time itself cannot be made faster.
INTERVALS = {"recommender": (("--recommender-interval", 60), ("--checkpoints-gc-interval", 600),
                             ("--confidence-interval-cpu", 86400), ("--confidence-interval-memory", 86400)),
             "updater": (("--updater-interval", 60),),
             "admission-controller": (("--status-lease-update-interval", 10),)}


def documents(path):
    return [d for d in yaml.safe_load_all(pathlib.Path(path).read_text()) if d]


# When the simulated clock of a scenario begins: the recorded usage follows the hours of the day, and a scenario
# must not depend on the hour at which somebody runs it.
START = "2026-03-02T06:00:00Z"


class SimControlPlane(ControlPlane):
    """kubesim, plain HTTP on a free port; its clock file drives every other process."""

    def __init__(self, processes, programs, rate=1.0, flags=(), users=(), controllers=True):
        self.processes = processes
        if users:
            flags = [*flags, f"--token-auth-file={write_tokens(processes.folder, users)}", "--authorization=rbac"]
        if not controllers:
            flags = [*flags, "--controllers=-"]
        self.clock_file = processes.folder / "clock"
        if not any(flag.startswith("--start-time") for flag in flags):
            flags = [*flags, f"--start-time={START}"]
        flags = [*flags, *self._front_proxy_flags(processes.folder)]
        port = free_port()
        self.url, self.ca = f"http://127.0.0.1:{port}", None
        processes.start("kubesim", [programs / "kubesim", f"--port={port}", f"--clock-file={self.clock_file}",
                                    f"--time-rate={rate}", *flags])
        wait_port(port)
        secret = users[0][0] if users else None
        self.client = Client(self.url, token=secret)
        self.kubeconfig = write_kubeconfig(processes.folder / "admin.kubeconfig", self.url, token=secret)
        until(lambda: self.client.raw("GET", "/readyz")[0] == 200, 20, "kubesim is ready")
        self.env = {"VPA_SIMULATED_CLOCK": str(self.clock_file)}

    def _front_proxy_flags(self, folder):
        """The certificate with which the API server speaks for users, and one of another authority."""
        ours, theirs = folder / "front-proxy", folder / "users"
        certs.make(ours, names=("front-proxy-client",), client=True)
        certs.make(theirs, names=("front-proxy-client",), client=True)
        self.front_proxy = ours / "serverCert.pem", ours / "serverKey.pem"
        self.user_certificate = theirs / "serverCert.pem", theirs / "serverKey.pem"
        return [f"--requestheader-client-ca-file={ours / 'caCert.pem'}",
                f"--proxy-client-cert-file={self.front_proxy[0]}", f"--proxy-client-key-file={self.front_proxy[1]}"]

    def now(self):
        """The time of the cluster, RFC 3339."""
        return self.client.request("GET", "/kubesim/clock")["now"]

    def compact(self):
        """Forgets history: old versions answer 410 from now on."""
        self.client.raw("POST", "/kubesim/compact", b"")

    def faults(self, *rules):
        """Sets the fault rules of kubesim; without one all faults end."""
        self.client.raw("POST", "/kubesim/faults", json.dumps(rules).encode())

    def requests(self, agent, reset=False):
        """Calls of one program since the last reset: {(verb, resource): calls}."""
        found = self.client.request("GET", "/kubesim/requests")["requests"]
        if reset:
            self.client.raw("DELETE", "/kubesim/requests")
        return {(r["verb"], r["resource"]): r["calls"] for r in found if r["userAgent"] == agent}


def sentinel(namespace):
    """What the webhook must know to answer for a pod of it: a LimitRange, a workload, its VPA. And the pod."""
    labels, meta = {"app": "sentinel"}, {"name": "sentinel", "namespace": namespace}
    container = {"name": "sentinel", "image": "fakelet",
                 "resources": {"requests": {"cpu": "10m"}, "limits": {"cpu": "10m"}}}
    return [
        {"apiVersion": "v1", "kind": "LimitRange", "metadata": meta,
         "spec": {"limits": [{"type": "Container", "max": {"cpu": "100m"}}]}},
        {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": meta,
         "spec": {"replicas": 0, "selector": {"matchLabels": labels},
                  "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}}}},
        {"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler", "metadata": meta,
         "spec": {"targetRef": {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "sentinel"},
                  "recommenders": [{"name": "nobody"}],  # one that runs must not replace what is written here
                  "updatePolicy": {"updateMode": "Initial"}}},
    ], {"apiVersion": "v1", "kind": "Pod", "metadata": {**meta, "labels": labels}, "spec": {"containers": [container]}}


class Cluster:
    """tier "sim" or a minor of a real server ("1.36"). .client is cluster-admin.

    With a rate of 60 the simulator's minute takes a second. A real server knows no such thing: there the daemons get
    their intervals divided by it, so that a pass comes as often; or, with `fast_clock`, they and the fakelet read a clock that
    is as many times as fast: samples, windows and ages are then those of hours, what the server itself writes is of seconds.

    users: further ones, known by bearer token, (secret, name, uid, group); rights are then by RBAC on the simulator too.
    Without controllers nothing but the API server runs. planes: where a real control plane is taken from that others used
    before; it has the CRDs and rights of deploy/ already. fresh: not one of these. api_flags: further ones of a real
    kube-apiserver.
    """

    def __init__(self, folder, tier="sim", rate=1.0, preset=None, flags=(), users=(), controllers=True, planes=None,
                 fresh=False, api_flags=(), fast_clock=False):
        self.processes, self.tier, self.rate = Processes(folder), tier, rate
        self.programs = ROOT / "build" / (preset or os.environ.get("PLUMB_PRESET", "release")) / "bin"
        self.daemons, self.addresses, self.planes = {}, {}, None
        self.sentinels = itertools.count()
        if tier == "sim":
            self.plane = SimControlPlane(self.processes, self.programs, rate, flags, users, controllers)
            self.env = dict(self.plane.env)
        else:
            if planes and controllers and not users and not fresh and not api_flags:
                self.planes, self.plane = planes, planes.lease(tier)
            else:
                self.plane = RealControlPlane(self.processes, tier, users, controllers, api_flags)
            self.env = {}
            if fast_clock:
                self.clock = ClockFile(self.processes.folder / "clock", rate)
                self.env["VPA_SIMULATED_CLOCK"] = str(self.clock.path)
        self.short_intervals = tier != "sim" and not fast_clock
        self.client = self.plane.client

    def install(self):
        """CRDs and rights, as `kubectl apply -k deploy/` would, without the Deployments."""
        for obj in documents(ROOT / "deploy/vpa-v1-crd-gen.yaml") + documents(ROOT / "deploy/vpa-rbac.yaml"):
            self.client.apply(obj)
        for kind in ("VerticalPodAutoscaler", "VerticalPodAutoscalerCheckpoint"):
            until(lambda: self.client.raw("GET", path_of(kind))[0] == 200, 30, f"{kind} is served")

    def apply(self, path):
        for obj in documents(path):
            self.client.apply(obj)

    def start_fakelet(self, *flags, record=None):
        port = free_port()
        command = [self.programs / "fakelet", f"--kubeconfig={self.plane.kubeconfig}",
                   f"--metrics-address=127.0.0.1:{port}", f"--traces={ROOT / 'test/traces/data'}", *flags]
        if record:
            command.append(f"--record={record}")
        if self.short_intervals:
            command.append(f"--metric-resolution={max(1.0, 15 / self.rate):g}s")
        if self.tier != "sim":
            command += [f"--tls-cert-file={self.plane.pki.crt('webhook')}",
                        f"--tls-private-key-file={self.plane.pki.key('webhook')}"]
        self.fakelet = self.processes.start("fakelet", command, self.env)
        wait_port(port)
        self.plane.serve_metrics(port)
        until(lambda: self.client.list("PodMetrics") is not None, 30, "metrics.k8s.io is served")

    def start_daemon(self, name, *flags, wait=True):
        """One of DAEMONS with a token of its own and the rights that deploy/ grants."""
        port = free_port()
        config = self.processes.folder / f"{name}.kubeconfig"
        if not config.exists():
            write_kubeconfig(config, self.plane.url, self.plane.ca, token=self.plane.token(f"vpa-{name}"))
        command = [self.programs / DAEMONS[name], f"--kubeconfig={config}", f"--address=127.0.0.1:{port}", "--v=3"]
        if name == "admission-controller":
            command += self._webhook_flags()
        if self.short_intervals:
            command += [f"{flag}={max(1.0, seconds / self.rate):g}s" for flag, seconds in INTERVALS[name]]
        self.addresses[name] = Client(f"http://127.0.0.1:{port}")
        self.daemons[name] = self.processes.start(name, [*command, *flags], {**self.env, "NAMESPACE": "kube-system"})
        if wait:
            wait_port(port)
        return self.daemons[name]

    def _webhook_flags(self):
        certificates = self.processes.folder / "webhook-certs"
        if not certificates.exists():
            self.authority = certs.make(certificates)
        self.webhook_port = free_port()
        return [f"--client-ca-file={certificates / 'caCert.pem'}", f"--tls-cert-file={certificates / 'serverCert.pem'}",
                f"--tls-private-key={certificates / 'serverKey.pem'}", f"--port={self.webhook_port}",
                "--register-by-url", "--webhook-address=https://127.0.0.1", f"--webhook-port={self.webhook_port}",
                "--reload-cert"]

    def rotate_webhook_certificates(self, **options):
        """A new CA and a new pair over the old files."""
        self.authority = certs.make(self.processes.folder / "webhook-certs", **options)

    def start_all(self):
        self.install()
        for name in ("admission-controller", "recommender", "updater"):
            if name not in self.daemons:
                self.start_daemon(name)
        until(lambda: self.client.find("MutatingWebhookConfiguration", "vpa-webhook-config"), 60,
              "the webhook has registered itself")

    def webhook_knows(self):
        """Until the webhook answers pods by every VPA and LimitRange written so far, and the API server asks it.

        Its watches deliver in order: when it knows what is written now (it answers for a pod that is never stored), it
        knows what was written before.
        """
        namespace = f"sentinel-{next(self.sentinels)}"
        self.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        until(lambda: self.client.find("ServiceAccount", "default", namespace), 60, "the default service account")
        objects, pod = sentinel(namespace)
        owner = [self.client.create(obj) for obj in objects][1]
        pod["metadata"]["ownerReferences"] = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "sentinel",
                                               "uid": owner["metadata"]["uid"], "controller": True}]
        wanted = {"containerName": "sentinel", **{k: {"cpu": "500m"} for k in ("target", "lowerBound", "upperBound")}}
        self.client.merge("VerticalPodAutoscaler", "sentinel",
                          {"status": {"recommendation": {"containerRecommendations": [wanted]}}}, namespace, "status")
        dry = path_of("Pod", namespace=namespace) + "?dryRun=All"

        def answered():
            made = self.client.request("POST", dry, pod)["spec"]["containers"][0]["resources"]
            return made["requests"]["cpu"] == "100m"
        until(answered, 60, "the webhook knows what was written")

    def metrics(self, name):
        """Series of a daemon: {'name{labels}': value}."""
        status, _, text = self.addresses[name].raw("GET", "/metrics")
        assert status == 200, status
        return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1])
                for line in text.decode().splitlines() if line and not line.startswith("#")}

    def wait_passes(self, name, count, seconds=120):
        """Until the daemon has begun and ended `count` further passes."""
        series = f'vpa_{name}_execution_latency_seconds_count{{step="total"}}'
        first = self.metrics(name).get(series, 0)
        until(lambda: self.metrics(name).get(series, 0) >= first + count + 1, seconds, f"{count} passes of the {name}")

    def pods(self, namespace, **labels):
        selector = ",".join(f"{k}%3D{v}" for k, v in labels.items())
        return self.client.list("Pod", namespace, f"?labelSelector={selector}" if selector else "")

    def recommendation(self, namespace, name):
        """{container: {target: ..., lowerBound: ...}}, empty without one."""
        vpa = self.client.find("VerticalPodAutoscaler", name, namespace) or {}
        found = (vpa.get("status") or {}).get("recommendation") or {}
        return {c["containerName"]: c for c in found.get("containerRecommendations") or []}

    def close(self):
        """Ends everything; a list of what did not end well."""
        problems = self.processes.stop_all()
        if self.planes:
            (self.processes.folder / "audit.log").write_text(self.plane.audit())
            self.planes.give_back(self.plane)
            self.planes = None
        return problems


__all__ = ["ApiError", "Cluster", "Client", "ROOT", "documents", "until"]
