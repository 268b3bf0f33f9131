"""Bad input at start: one clear message, the right exit status (docs/errors.md lists them)."""
import http.client
import os
import ssl
import subprocess

from cluster import DAEMONS, ROOT, until
from processes import wait_port
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
    wait_port(cluster.webhook_port)
    for path in ("/debug/pprof/", "/debug/pprof/profile"):
        webhook = http.client.HTTPSConnection("127.0.0.1", cluster.webhook_port, context=loose, timeout=20)
        webhook.request("GET", path)
        body = webhook.getresponse().read()  # the webhook answers every path alike
        assert b"pprof" not in body and b"goroutine" not in body, (path, body)
        webhook.close()


def listed_families(program):
    """(every family, those that are there from the start) as docs/metrics.md lists them: all of ours, and upstream's without labels."""
    every, begins, section = set(), set(), None
    for line in (ROOT / "docs/metrics.md").read_text().splitlines():
        section = line[3:] if line.startswith("## ") else section
        if line.startswith("| `") and section in ("Every daemon", program):
            name, _, labels, whose = (cell.strip("| `") for cell in line.split(" | ")[:4])
            every.add(name)
            begins |= {name} if whose == "Plumb" or not labels else set()
    return every, begins


def series(page):
    """{family: label sets} of a page of metrics."""
    made = {line.split()[2]: set() for line in page.splitlines() if line.startswith("# TYPE ")}
    for line in page.splitlines():
        name, _, rest = line.partition(" ")[0].partition("{")
        family = name if name in made else name.removesuffix("_count")
        if line[:1] not in ("", "#") and family in made:
            made[family].add(rest)
    return made


CACHES = "vpa_cache_in_step_timestamp_seconds"


def scenario_families(make):
    """The first page of each daemon, before any answer of the API server, has every family of ours with its series, also those of its caches."""
    cluster = make()
    caches = {}
    for name, program in DAEMONS.items():
        config = write_kubeconfig(cluster.processes.folder / f"{name}.kubeconfig", "http://127.0.0.1:1")
        cluster.start_daemon(name)
        page = series(cluster.addresses[name].raw("GET", "/metrics")[2].decode())
        every, begins = listed_families(program)
        missing = {family for family in begins if not page.get(family)}
        assert not missing, (name, sorted(missing))
        others = {family for family in page if not family.startswith(("process_", "promhttp_"))} - every
        assert not others, (name, sorted(others))
        caches[name] = page[CACHES]
        cluster.daemons.pop(name).stop()
        config.unlink()
    cluster.start_all()
    for name in DAEMONS:
        def ages():
            return cluster.addresses[name].raw("GET", f"/metrics?name[]={CACHES}")[2].decode()
        until(lambda: "} 0\n" not in ages(), 60, f"every cache of the {name} is in step")
        assert series(ages())[CACHES] == caches[name], (name, series(ages())[CACHES] ^ caches[name])
