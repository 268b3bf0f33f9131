"""The dashboard's queries on a real Prometheus that scrapes the three daemons at work, and the pictures of it for docs/monitoring.md."""
import datetime
import json
import os
import pathlib
import sys
import time
import urllib.parse

from cluster import ROOT, until
from kube import Client
from processes import free_port, wait_port
from s_recommend import start_workloads
from s_state_metrics import start_state_metrics

sys.path.insert(0, str(ROOT / "test/monitoring"))
import parts  # noqa: E402
import pictures  # noqa: E402

CONFIG = {"global": {"scrape_interval": "1s", "scrape_timeout": "1s"}}
RATE = "30s"  # the interval that Grafana would put into rates
PICTURES = os.environ.get("PLUMB_PICTURES")  # where to; else they are drawn and thrown away
SPEED, LENGTH = (60.0, 180) if PICTURES else (300.0, 0)  # the cluster's seconds to one of Prometheus; how long it scrapes at least
POINTS = 90  # of a picture


def start_prometheus(cluster, program):
    """A client of it; it scrapes, each second, what `scrape` writes."""
    folder, port = pathlib.Path(cluster.processes.folder), free_port()
    config = folder / "prometheus.json"  # JSON is YAML
    config.write_text(json.dumps({**CONFIG, "scrape_configs": [{"job_name": "vpa", "file_sd_configs": [{"files": [str(folder / "targets.json")]}]}]}))
    cluster.processes.start("prometheus", [program, f"--config.file={config}", f"--storage.tsdb.path={folder / 'prometheus'}",
                                           f"--web.listen-address=127.0.0.1:{port}", "--log.level=warn"])
    wait_port(port)
    client = Client(f"http://127.0.0.1:{port}")
    until(lambda: client.raw("GET", "/-/ready")[0] == 200, 30, "Prometheus is ready")
    return client


def scrape(cluster):
    """The daemons that run become targets, each under its name."""
    folder = pathlib.Path(cluster.processes.folder)
    targets = [{"targets": [f"{client.host}:{client.port}"], "labels": {"instance": name}} for name, client in cluster.addresses.items()]
    (folder / "targets.new").write_text(json.dumps(targets))
    (folder / "targets.new").rename(folder / "targets.json")


def ask(prometheus, path, **query):
    """The series of the answer; fails where Prometheus refuses the query."""
    status, _, body = prometheus.raw("GET", f"/api/v1/{path}?" + urllib.parse.urlencode(query))
    assert status == 200, f"{query}: {status} {body}"
    return json.loads(body)["data"]["result"]


def answer(prometheus, expression):
    return [s for s in ask(prometheus, "query", query=expression) if s["value"][1] != "NaN"]


def cluster_time(cluster):
    """What stands for time() in a query: Prometheus does not know the simulated clock."""
    there = datetime.datetime.fromisoformat(cluster.plane.now()[:19] + "+00:00").timestamp()
    return f"({there:.0f} + {SPEED:.0f} * (time() - {time.time():.3f}))"


def answers(prometheus, panels, clock, begin, end):
    """{id of a panel: [(legend, points)]}, as test/monitoring/pictures.py draws them."""
    found = {}
    for panel in panels:
        for target in panel["targets"]:
            expression = target["expr"].replace(parts.dashboard().RATE, RATE).replace("time()", clock)
            for series in ask(prometheus, "query_range", query=expression, start=begin, end=end, step=max(1, (end - begin) / POINTS)):
                points = [(t, float(v)) for t, v in series["values"] if v not in ("NaN", "+Inf", "-Inf")]
                if points:
                    found.setdefault(panel["id"], []).append((pictures.legend(target, series["metric"]), points))
    return found


def draw(make, cluster, prometheus, begin, folder):
    """A picture of each row of which something was scraped."""
    drawing, clock, end = parts.dashboard().dashboard(), cluster_time(cluster), time.time()
    for title, panels in pictures.rows(drawing).items():
        found = answers(prometheus, panels, clock, begin, end)
        if found:
            name = title.partition(" (")[0].lower().replace(" ", "-")
            (folder / f"dashboard-{name}.svg").write_text(pictures.draw(title, panels, found))
            make.say(f"dashboard: {name}: {len(found)} of {len(panels)} panels with data")


def with_series_of_vpas(cluster, make):
    """Whether kube-state-metrics is scraped too, configured as the docs say."""
    try:
        cluster.addresses["kube-state-metrics"] = start_state_metrics(cluster, make)[1]
    except make.skip as reason:
        make.say(f"dashboard: the series of each VPA are not scraped: {reason}")
        return False
    return True


def scenario_dashboard(make):
    """Every query of the dashboard is answered; all but those on what seldom happens, with figures. PLUMB_PICTURES=DIR: the pictures go there."""
    program, made = parts.program("prometheus"), parts.dashboard()
    if not program:
        raise make.skip("no network for apt-get download prometheus")
    cluster = make(rate=SPEED, fresh=True)
    begin, prometheus = time.time(), start_prometheus(cluster, program)
    start_workloads(cluster)
    for name in ("admission-controller", "updater", "recommender"):
        cluster.start_daemon(name)
    of_vpas = with_series_of_vpas(cluster, make)
    scrape(cluster)
    waiting = {}
    queries = [(f"{title}: {query.expr}", query, query.expr.replace(made.RATE, RATE)) for title, query in made.queries()]

    def all_answered():
        found = {name for name, query, expr in queries
                 if answer(prometheus, expr) or (query.rare and not (of_vpas and "kube_verticalpodautoscaler_" in expr))}
        waiting.update({name: name not in found for name, _, _ in queries})
        return len(found) == len(queries)
    try:
        until(all_answered, 180, "every query has an answer", every=1)
    except AssertionError as late:
        raise AssertionError(f"{late}; without: " + "; ".join(name for name, missing in waiting.items() if missing)) from None
    leaders = {s["metric"]["component"]: float(s["value"][1]) for s in answer(prometheus, dict(
        (title, query.expr) for title, query in made.queries())["Leader"])}
    assert leaders == {"vpa-recommender": 1, "vpa-updater": 1, "vpa-admission-controller": 1}, leaders
    make.say(f"dashboard: {len(queries)} queries, {sum(q.rare for _, q, _ in queries)} of them on what seldom happens, "
             f"answered after {time.time() - begin:.0f} s")
    until(lambda: time.time() > begin + LENGTH, LENGTH + 1, "the time that the pictures show")
    draw(make, cluster, prometheus, begin, pathlib.Path(PICTURES or cluster.processes.folder))


scenario_dashboard.tiers = ["sim"]
scenario_dashboard.why = "what is scraped is the same on both"
