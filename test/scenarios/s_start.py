"""Bad input at start: one clear message, the right exit status (docs/errors.md lists them)."""
import http.client
import os
import ssl
import subprocess

from cluster import DAEMONS, until
from realcluster import write_kubeconfig


def outcome(cluster, daemon, *flags, env=None, seconds=20):
    """(exit status, text) of a daemon that must end by itself."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("KUBERNETES_")}
    done = subprocess.run([cluster.programs / DAEMONS[daemon], *map(str, flags)], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=seconds, env={**clean, **(env or {})})
    return done.returncode, done.stderr


def scenario_bad_start(make):
    """Wrong flags, kubeconfig, certificate: message and status for each daemon."""
    cluster = make()
    folder = cluster.processes.folder
    broken = folder / "broken.kubeconfig"
    broken.write_text("clusters: [")
    for daemon in DAEMONS:
        cases = [
            (["--no-such-flag"], 2, "unknown flag: --no-such-flag"),
            (["--kube-api-qps=many"], 2, 'invalid argument "many" for "--kube-api-qps" flag'),
            (["--feature-gates=Nonsense=true"], 2, "unrecognized feature gate: Nonsense"),
            (["--vpa-object-namespace=a", "--ignored-vpa-object-namespaces=b"], 1, "mutually exclusive"),
            (["--kubeconfig=/does/not/exist", "--address=127.0.0.1:0"], 255, "/does/not/exist"),
            ([f"--kubeconfig={broken}", "--address=127.0.0.1:0"], 255, "broken.kubeconfig"),
            (["--address=127.0.0.1:0"], 255, "unable to load in-cluster configuration"),
        ]
        for flags, status, text in cases:
            got, output = outcome(cluster, daemon, *flags)
            assert got == status and text in output, (daemon, flags, got, output[-2000:])
    config = cluster.plane.kubeconfig
    cluster.install()
    got, output = outcome(cluster, "admission-controller", f"--kubeconfig={config}", "--address=127.0.0.1:0",
                          "--tls-cert-file=/does/not/exist", "--tls-private-key=/does/not/exist", seconds=40,
                          env=cluster.env)
    assert got == 255 and "/does/not/exist" in output, (got, output[-2000:])
    got, output = outcome(cluster, "updater", "--admission-controller-status-lease-timeout=0s")
    assert got == 1 and "must be positive" in output, (got, output)


def scenario_away(make):
    """API server away, wrong CA, no rights: the daemon says so and waits; it goes on when the server is there."""
    cluster = make()
    cluster.install()
    config = cluster.processes.folder / "recommender.kubeconfig"
    write_kubeconfig(config, "http://127.0.0.1:1" if cluster.tier == "sim" else "https://127.0.0.1:1", cluster.plane.ca)
    away = cluster.start_daemon("recommender")
    until(lambda: "refused" in away.text(), 30, "the log says that nobody answers")
    assert away.running()
    assert away.stop() == 0
    write_kubeconfig(config, cluster.plane.url, cluster.plane.ca, token=cluster.plane.token("vpa-recommender"))
    away.start()
    until(lambda: cluster.addresses["recommender"].raw("GET", "/health-check")[0] == 200, 30, "the recommender is healthy")


def scenario_no_profiling(make):
    """--profiling=true serves nothing, on no port of any daemon; the log says so once."""
    cluster = make()
    cluster.install()
    for name in DAEMONS:
        daemon = cluster.start_daemon(name, "--profiling=true")
        for path in ("/debug/pprof/", "/debug/pprof/profile", "/debug/pprof/heap", "/debug/pprof"):
            status, _, body = cluster.addresses[name].raw("GET", path)
            assert status == 404 and b"goroutine" not in body, (name, path, status, body)
        assert daemon.text().count('"Flag has no effect" flag="profiling"') == 1, daemon.text()
    loose = ssl.create_default_context()
    loose.check_hostname, loose.verify_mode = False, ssl.CERT_NONE
    for path in ("/debug/pprof/", "/debug/pprof/profile"):
        webhook = http.client.HTTPSConnection("127.0.0.1", cluster.webhook_port, context=loose, timeout=20)
        webhook.request("GET", path)
        body = webhook.getresponse().read()  # the webhook answers every path alike
        assert b"pprof" not in body and b"goroutine" not in body, (path, body)
        webhook.close()
