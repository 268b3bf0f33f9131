"""A real control plane as plain processes: etcd, kube-apiserver, kube-controller-manager, kube-scheduler."""
import base64
import datetime
import json
import os
import pathlib
import subprocess
import threading
import time
import urllib.request

from controlplane import ControlPlane
from kube import Client, path_of, until
from processes import Processes, free_port

ROOT = pathlib.Path(__file__).resolve().parents[3]
CONTROLLERS = ",".join(f"{name}-controller" for name in (
    "serviceaccount-token", "serviceaccount", "namespace", "deployment", "replicaset", "replicationcontroller",
    "statefulset", "daemonset", "job", "cronjob", "disruption", "pod-garbage-collector", "garbage-collector",
    "endpointslice", "clusterrole-aggregation")) + ",root-ca-certificate-publisher-controller"


class MissingAssets(Exception):
    """Says which programs are missing and what to do."""


def find_assets(minor):
    """{program: path}. VPA_KUBE_ASSETS (one folder) wins over the cache of test/realcluster/build."""
    cache = pathlib.Path(subprocess.run([ROOT / "test/realcluster/build", "--where"], check=True,
                                        capture_output=True, text=True).stdout.strip())
    folders = [cache / minor, cache / "etcd"]
    if os.environ.get("VPA_KUBE_ASSETS"):
        given = pathlib.Path(os.environ["VPA_KUBE_ASSETS"])
        folders = [given / minor, given / "etcd", given]
    found, missing = {}, []
    for program in ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"):
        path = next((f / program for f in folders if (f / program).is_file()), None)
        if path:
            found[program] = path
        elif program != "kubectl":
            missing.append(program)
    if missing:
        raise MissingAssets(f"no {', '.join(missing)} in {', '.join(map(str, folders))}; "
                            f"set VPA_KUBE_ASSETS or run test/realcluster/build")
    return found


class Pki:
    """Keys and certificates of one control plane, P-256, made with openssl."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True)
        for name in ("ca", "front-proxy-ca"):
            self._key(name)
            self._run("req", "-x509", "-new", "-key", self.key(name), "-days", "3650", "-subj", f"/CN={name}",
                      "-addext", "keyUsage=critical,keyCertSign,cRLSign", "-out", self.crt(name))
        self.leaf("apiserver", "ca", "/CN=kube-apiserver", "serverAuth",
                  "DNS:localhost,DNS:kubernetes.default.svc,IP:127.0.0.1,IP:10.0.0.1")
        for name, subject in (("admin", "/O=system:masters/CN=admin"),
                              ("controller-manager", "/CN=system:kube-controller-manager"),
                              ("scheduler", "/CN=system:kube-scheduler"),
                              ("kubelet-client", "/O=system:masters/CN=apiserver-kubelet-client")):
            self.leaf(name, "ca", subject, "clientAuth")
        self.leaf("webhook", "ca", "/CN=webhook", "serverAuth",
                  "DNS:localhost,DNS:vpa-webhook.kube-system.svc,DNS:metrics-server.kube-system.svc,IP:127.0.0.1")
        self.leaf("front-proxy-client", "front-proxy-ca", "/CN=front-proxy-client", "clientAuth")
        self._key("sa")
        self._run("ec", "-in", self.key("sa"), "-pubout", "-out", self.folder / "sa.pub")

    def key(self, name):
        return self.folder / f"{name}.key"

    def crt(self, name):
        return self.folder / f"{name}.crt"

    def _run(self, *arguments):
        subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)

    def _key(self, name):
        self._run("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", self.key(name))

    def leaf(self, name, ca, subject, usage, names=""):
        self._key(name)
        request, extensions = self.folder / f"{name}.csr", self.folder / f"{name}.ext"
        self._run("req", "-new", "-key", self.key(name), "-subj", subject, "-out", request)
        extensions.write_text(f"extendedKeyUsage={usage}\nkeyUsage=critical,digitalSignature\n"
                              "basicConstraints=CA:FALSE\n" + (f"subjectAltName={names}\n" if names else ""))
        self._run("x509", "-req", "-in", request, "-CA", self.crt(ca), "-CAkey", self.key(ca), "-CAcreateserial",
                  "-days", "3650", "-extfile", extensions, "-out", self.crt(name))


def write_kubeconfig(path, server, ca=None, token=None, certificate=None):
    cluster = {"server": server}
    if ca:
        cluster["certificate-authority"] = str(ca)
    user = {}
    if token:
        user["token"] = token
    if certificate:
        user["client-certificate"], user["client-key"] = map(str, certificate)
    config = {"apiVersion": "v1", "kind": "Config", "current-context": "test",
              "clusters": [{"name": "test", "cluster": cluster}], "users": [{"name": "test", "user": user}],
              "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}]}
    path.write_text(json.dumps(config, indent=1))
    path.chmod(0o600)
    return path


def write_tokens(folder, users):
    """The file of bearer tokens; a user is (secret, name, uid, group)."""
    path = pathlib.Path(folder) / "tokens.csv"
    path.write_text("".join(f'{secret},{name},{uid},"{group}"\n' for secret, name, uid, group in users))
    return path


class RealControlPlane(ControlPlane):
    """Started by the constructor; .client is cluster-admin, .url and .ca are for other kubeconfigs."""

    def __init__(self, processes, minor, users=(), controllers=True, flags=()):
        self.processes, self.minor, self.assets = processes, minor, find_assets(minor)
        self.folder, self.audit_from = processes.folder, 0
        self.pki = Pki(self.folder / "pki")
        etcd, peer, api, manager, scheduler = (free_port() for _ in range(5))
        self.url, self.ca = f"https://127.0.0.1:{api}", self.pki.crt("ca")
        self.front_proxy = self.pki.crt("front-proxy-client"), self.pki.key("front-proxy-client")
        self.user_certificate = self.pki.crt("admin"), self.pki.key("admin")
        self._etcd(etcd, peer)
        more = [f"--token-auth-file={write_tokens(self.folder, users)}"] if users else []
        self._apiserver(etcd, api, [*more, *flags])
        self.client = Client(self.url, ca=self.ca, certificate=(self.pki.crt("admin"), self.pki.key("admin")))
        self.kubeconfig = write_kubeconfig(self.folder / "admin.kubeconfig", self.url, self.ca,
                                           certificate=(self.pki.crt("admin"), self.pki.key("admin")))
        until(lambda: self.client.raw("GET", "/readyz")[0] == 200, 120, "kube-apiserver is ready")
        self.manager_ports = manager, scheduler
        if controllers:
            self.start_controllers()

    def _etcd(self, port, peer):
        url, peers = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{peer}"
        self.processes.start("etcd", [
            self.assets["etcd"], "--name", "t", "--data-dir", self.folder / "etcd", "--unsafe-no-fsync",
            "--log-level", "error", "--listen-client-urls", url, "--advertise-client-urls", url,
            "--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers, "--initial-cluster", f"t={peers}"])
        self.etcd_url = url

    def _apiserver(self, etcd, port, more):
        p = self.pki
        self.api_server = self.processes.start("kube-apiserver", [
            self.assets["kube-apiserver"], f"--etcd-servers=http://127.0.0.1:{etcd}", "--bind-address=127.0.0.1",
            f"--secure-port={port}", "--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none",
            f"--tls-cert-file={p.crt('apiserver')}", f"--tls-private-key-file={p.key('apiserver')}",
            f"--client-ca-file={p.crt('ca')}", "--authorization-mode=Node,RBAC", "--allow-privileged=true",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={p.folder / 'sa.pub'}", f"--service-account-signing-key-file={p.key('sa')}",
            f"--requestheader-client-ca-file={p.crt('front-proxy-ca')}",
            "--requestheader-allowed-names=front-proxy-client", "--requestheader-username-headers=X-Remote-User",
            "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-",
            f"--proxy-client-cert-file={p.crt('front-proxy-client')}",
            f"--proxy-client-key-file={p.key('front-proxy-client')}",
            f"--kubelet-client-certificate={p.crt('kubelet-client')}",
            f"--kubelet-client-key={p.key('kubelet-client')}",
            f"--audit-log-path={self.folder / 'audit.log'}", f"--audit-policy-file={self._audit_policy()}",
            *more])

    def _audit_policy(self):
        """Every request of the daemons, without bodies: what the report on rights is made of."""
        path = self.folder / "audit-policy.json"
        path.write_text(json.dumps({
            "apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
            "rules": [{"level": "Metadata", "users": [
                f"system:serviceaccount:kube-system:vpa-{d}" for d in ("recommender", "updater", "admission-controller")]},
                {"level": "None"}]}))
        return path

    def start_controllers(self):
        p, (manager, scheduler) = self.pki, self.manager_ports
        for name, command, port, more in (
                ("controller-manager", "kube-controller-manager", manager, [
                    "--use-service-account-credentials=true", f"--service-account-private-key-file={p.key('sa')}",
                    f"--root-ca-file={p.crt('ca')}", "--kube-api-qps=200", "--kube-api-burst=400",
                    f"--controllers={CONTROLLERS}"]),
                ("scheduler", "kube-scheduler", scheduler, [])):
            config = write_kubeconfig(self.folder / f"{name}.kubeconfig", self.url, self.ca,
                                      certificate=(p.crt(name), p.key(name)))
            self.processes.start(command, [
                self.assets[command], f"--kubeconfig={config}", f"--authentication-kubeconfig={config}",
                f"--authorization-kubeconfig={config}", "--leader-elect=false", "--bind-address=127.0.0.1",
                f"--secure-port={port}", *more])
        until(lambda: self.client.find("ServiceAccount", "default", "default"), 120, "the default service account")

    def now(self):
        """The time of the cluster, RFC 3339."""
        return datetime.datetime.now(datetime.timezone.utc).isoformat()

    def compact(self):
        """Forgets history: old versions answer 410 from now on."""
        def post(path, body):
            request = urllib.request.Request(self.etcd_url + path, json.dumps(body).encode())
            return json.load(urllib.request.urlopen(request, timeout=10))
        revision = post("/v3/kv/range", {"key": base64.b64encode(b"/").decode()})["header"]["revision"]
        post("/v3/kv/compaction", {"revision": revision, "physical": True})

    def audit(self):
        """The daemons' calls since the last reset: text, one event per line."""
        log = self.folder / "audit.log"
        if not log.exists():
            return ""
        with open(log, "rb") as file:
            file.seek(self.audit_from)
            return file.read().decode()

    def reset(self):
        """As new, but for the CRDs, the rights of the daemons and what a server has of itself."""
        client = self.client
        # While an API that nobody serves is registered, the server does not know what a namespace holds, and keeps it.
        served_elsewhere = [s["metadata"]["name"] for s in client.list("APIService") if s["spec"].get("service")]
        for kind, names in (("APIService", served_elsewhere),
                            ("MutatingWebhookConfiguration", self._names("MutatingWebhookConfiguration"))):
            for name in names:
                client.raw("DELETE", path_of(kind, name))
        for kind in ("Service", "ConfigMap", "Lease"):
            for name in self._names(kind, "kube-system"):
                if name.startswith(("vpa-", "metrics-server")):
                    client.raw("DELETE", path_of(kind, name, "kube-system"))
        client.raw("DELETE", path_of("Event", namespace="kube-system"))  # what was told before is counted by nobody
        used = [n for n in self._names("Namespace") if n != "default" and not n.startswith("kube-")]
        for namespace in used:  # what makes pods goes first
            for kind in ("CronJob", "Job", "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController"):
                client.raw("DELETE", path_of(kind, namespace=namespace) + "?propagationPolicy=Background")

        def no_pods():
            """No pod waits for a node that is gone, and no namespace for a pod: it would look again after many seconds."""
            left = {p["metadata"]["namespace"] for p in client.list("Pod")}
            for namespace in left:
                client.raw("DELETE", path_of("Pod", namespace=namespace) + "?gracePeriodSeconds=0")
            return not left
        until(no_pods, 60, "all pods are gone", every=0.3)
        for namespace in used:
            client.raw("DELETE", path_of("Namespace", namespace))
        for node in self._names("Node"):
            client.raw("DELETE", path_of("Node", node))
        until(lambda: no_pods() and not any(client.find("Namespace", n) for n in used), 60,
              f"the namespaces {', '.join(used)} are gone", every=0.3)
        log = self.folder / "audit.log"
        self.audit_from = log.stat().st_size if log.exists() else 0

    def _names(self, kind, namespace=None):
        return [o["metadata"]["name"] for o in self.client.list(kind, namespace)]


class ControlPlanes:
    """Control planes that scenarios use one after the other: to start one takes longer than to empty it.

    uses: {minor: how many scenarios there are}; when the last has ended no idle one goes on using processors.
    """

    def __init__(self, folder, uses):
        self.folder, self.lock, self.uses = pathlib.Path(folder), threading.Lock(), dict(uses)
        self.idle, self.resetting, self.made, self.problems = {}, [], [], []
        self.began, self.first_ready = time.monotonic(), None
        self.started = self.reused = 0
        self.start_seconds = self.reset_seconds = 0.0

    def lease(self, minor):
        with self.lock:
            if self.idle.get(minor):
                self.reused += 1
                return self.idle[minor].pop()
            processes = Processes(self.folder / f"{minor}-{len(self.made)}")
            self.made.append(processes)
            self.started += 1
        begin = time.monotonic()
        plane = RealControlPlane(processes, minor)
        with self.lock:
            self.start_seconds += time.monotonic() - begin
            self.first_ready = self.first_ready or time.monotonic() - self.began
        return plane

    def give_back(self, plane):
        """Empties it in the background; one that cannot be emptied is not used again."""
        def empty():
            begin = time.monotonic()
            try:
                plane.reset()
            except Exception as error:  # whatever it was, the next scenario gets a fresh one
                self.problems.append(f"{plane.folder}: {error}")
                plane.processes.stop_all()
                return
            self.reset_seconds += time.monotonic() - begin
            with self.lock:
                self.idle.setdefault(plane.minor, []).append(plane)
            self._end_idle(plane.minor)
        thread = threading.Thread(target=empty)
        thread.start()
        self.resetting.append(thread)

    def used(self, minor):
        """One scenario of that minor has ended."""
        with self.lock:
            self.uses[minor] = self.uses.get(minor, 0) - 1
        self._end_idle(minor)

    def _end_idle(self, minor):
        with self.lock:
            ending = self.idle.pop(minor, []) if self.uses.get(minor, 0) <= 0 else []
        for plane in ending:
            self.problems += plane.processes.stop_all()

    def close(self):
        """Ends all; a list of what did not end well."""
        for thread in self.resetting:
            thread.join()
        return self.problems + [problem for processes in self.made for problem in processes.stop_all()]
