"""Sick connections to the API server: HTTP/2 connections that are told to go, certificates, a server that is away, a proxy."""
import json
import re
import signal
import subprocess
import time
import urllib.parse

from cluster import until
from realcluster import write_kubeconfig
from socks import NAME, Socks

NAMESPACE = "transport"
WORKLOADS = 12
LEASE_SECONDS = 15


def start(make, daemons=("recommender", "updater"), certificates=False, leader_election=True, **options):
    """A cluster with VPAs, their usage, and daemons whose passes come every second."""
    cluster = make(rate=60.0, **options)
    cluster.install()
    cluster.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    cluster.start_fakelet()
    for i in range(WORKLOADS):
        labels = {"app": f"w{i}"}
        cluster.client.create({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": f"w{i}", "namespace": NAMESPACE},
            "spec": {"replicas": 2, "selector": {"matchLabels": labels},
                     "template": {"metadata": {"labels": labels}, "spec": {"containers": [
                         {"name": "c", "image": "fakelet", "resources": {"requests": {"cpu": "1", "memory": "64Mi"}}}]}}}})
        cluster.client.create({
            "apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler",
            "metadata": {"name": f"w{i}", "namespace": NAMESPACE},
            "spec": {"targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": f"w{i}"},
                     "updatePolicy": {"updateMode": "Off"}}})
    for name in daemons:
        if certificates:
            use_certificate(cluster, name)
        cluster.start_daemon(name, f"--leader-elect={str(leader_election).lower()}",
                             *(["--use-admission-controller-status=false"] if name == "updater" else []))
    until(lambda: all(cluster.recommendation(NAMESPACE, f"w{i}") for i in range(WORKLOADS)), 120, "recommendations")
    return cluster


def use_certificate(cluster, name):
    """The daemon is known by a client certificate, which it reads from files."""
    pki = cluster.plane.pki
    pki.leaf(f"vpa-{name}", "ca", f"/O=system:serviceaccounts/CN=system:serviceaccount:kube-system:vpa-{name}", "clientAuth")
    write_kubeconfig(cluster.processes.folder / f"{name}.kubeconfig", cluster.plane.url, cluster.plane.ca,
                     certificate=(pki.crt(f"vpa-{name}"), pki.key(f"vpa-{name}")))


def passes(cluster, name):
    return cluster.metrics(name).get(f'vpa_{name}_execution_latency_seconds_count{{step="total"}}', 0)


def watch_over(cluster, seconds, slowest):
    """Passes go on and leases are renewed all the time; the longest time without either."""
    gaps, last = {}, {}
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        now = time.monotonic()
        for name in cluster.daemons:
            lease = cluster.client.find("Lease", f"vpa-{name}-lease", "kube-system") or \
                cluster.client.find("Lease", f"vpa-{name}", "kube-system") or {}
            for what, value in ((f"passes of the {name}", passes(cluster, name)),
                                (f"lease of the {name}", (lease.get("spec") or {}).get("renewTime"))):
                if last.get(what, (None,))[0] != value:
                    last[what] = value, now
                gaps[what] = max(gaps.get(what, 0), now - last[what][1])
        for what, gap in gaps.items():
            assert gap < slowest, f"{what}: nothing for {gap:.0f} s"
        time.sleep(0.2)
    return ", ".join(f"{what} {gap:.1f} s" for what, gap in sorted(gaps.items()))


def scenario_goaways(make):
    """An API server that sends GOAWAY with one request of fifty: passes and leases go on as without."""
    cluster = start(make, api_flags=("--goaway-chance=0.02",))
    before = passes(cluster, "recommender")
    make.say("longest gaps: " + watch_over(cluster, 60, LEASE_SECONDS))
    assert passes(cluster, "recommender") >= before + 20, "passes of the recommender"
    for name, daemon in cluster.daemons.items():
        lost = [line for line in complaints(daemon.text()) if "timeout" in line]
        assert not lost, (name, lost[:5])
        make.say(f"{name}: {len(complaints(daemon.text()))} warnings and errors")


scenario_goaways.tiers, scenario_goaways.why = ("real",), "the simulator speaks HTTP/1.1"
scenario_goaways.seconds = 100


def scenario_client_certificates(make):
    """Daemons known by client certificates go on when the lifetime of their connections ends, after five minutes."""
    cluster = start(make, certificates=True, api_flags=("--goaway-chance=0.001",))
    make.say("longest gaps: " + watch_over(cluster, 330, LEASE_SECONDS))


scenario_client_certificates.tiers, scenario_client_certificates.why = ("real",), "the simulator has no TLS"
scenario_client_certificates.seconds = 370


def complaints(text):
    """Lines of warnings and errors."""
    return [line for line in text.splitlines() if re.match(r"[WE]\d{4} ", line)]


def scenario_api_server_away(make):
    """The API server is gone for 25 s: one line of each daemon when it goes, one when it is back, and all goes on."""
    cluster = start(make, api_flags=("--v=0",), leader_election=False)
    before = {name: len(daemon.text()) for name, daemon in cluster.daemons.items()}
    server = cluster.plane.api_server
    server.stop(signal.SIGKILL)
    time.sleep(25)
    server.start()
    until(lambda: cluster.client.raw("GET", "/readyz")[0] == 200, 120, "kube-apiserver is ready")
    back = '"The API server answers again"'
    for name, daemon in cluster.daemons.items():
        # Passes of the updater ask nothing: its watches are what finds out, a minute after the last failure at the latest.
        until(lambda: back in daemon.text()[before[name]:], 90, f"the {name} knows that the API server answers again")
        cluster.wait_passes(name, 3)
    for name, daemon in cluster.daemons.items():
        away, _, after = daemon.text()[before[name]:].partition(back)
        # A write that was under way when the server went is told by itself: nobody knows what became of it.
        gone = '"The API server does not answer"'
        said = [line for line in complaints(away)
                if gone in line or ("connection reset" not in line and "unexpected EOF" not in line)]
        assert len(said) == 1 and gone in said[0], (name, said)
        assert "The API server" not in after, (name, after)
        make.say(f"{name}: one line; {len(complaints(after))} warnings and errors after it was back")


scenario_api_server_away.tiers, scenario_api_server_away.why = ("real",), "the simulator forgets everything when it ends"
scenario_api_server_away.seconds = 80


def scenario_socks_proxy(make):
    """A SOCKS5 proxy gets the name of the API server, which only it knows, from proxy-url and from the environment."""
    cluster = make()
    relay = Socks("127.0.0.1", urllib.parse.urlsplit(cluster.plane.url).port)
    proxy = f"socks5://127.0.0.1:{relay.port}"
    direct, proxied = (cluster.processes.folder / f"{name}.kubeconfig" for name in ("direct", "proxied"))
    write_kubeconfig(direct, "http://api.invalid:6443")
    config = json.loads(direct.read_text())
    config["clusters"][0]["cluster"]["proxy-url"] = proxy
    proxied.write_text(json.dumps(config))
    for kubeconfig, env in ((proxied, {}), (direct, {"HTTP_PROXY": proxy})):
        relay.asked.clear()
        done = subprocess.run([cluster.programs / "kubectl-vpa", "version", "-o", "json", f"--kubeconfig={kubeconfig}"],
                              capture_output=True, text=True, timeout=60, env={**cluster.env, **env})
        assert done.returncode == 0 and '"kubernetes"' in done.stdout, (env, done, relay.asked)
        assert set(relay.asked) == {(NAME, b"api.invalid", 6443)}, (env, relay.asked)
    relay.close()


scenario_socks_proxy.tiers, scenario_socks_proxy.why = ("sim",), "no certificate names api.invalid"
scenario_socks_proxy.seconds = 5
