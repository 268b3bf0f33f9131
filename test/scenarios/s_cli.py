"""kubectl-vpa against the cluster: found by kubectl as a plugin, contexts and namespaces, what it answers."""
import collections
import datetime
import http.server
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import threading
import urllib.parse
import xml.dom.minidom

import yaml

import browser
from bed import marked
from cluster import ROOT, until
from kube import Client
from processes import free_port
from s_kubectl import kubectl_of


def command_of(cluster):
    """A function that runs kubectl-vpa and gives (exit status, standard output, standard error)."""
    def run(*words, kubeconfig=cluster.plane.kubeconfig, env=None):
        given = [] if words == ("--help",) or not kubeconfig else [f"--kubeconfig={kubeconfig}"]
        done = subprocess.run([cluster.programs / "kubectl-vpa", *words, *given],
                              capture_output=True, text=True, timeout=180,
                              env={**os.environ, **cluster.env, **(env or {})})
        assert "AddressSanitizer" not in done.stderr and "runtime error" not in done.stderr, done.stderr
        return done.returncode, done.stdout, done.stderr
    return run


def scenario_cli_frame(make):
    """kubectl finds the plugin; contexts and KUBECONFIG as kubectl has them; errors and exit statuses."""
    cluster = make()
    run = command_of(cluster)
    status, out, err = run("version", "-o", "json")
    assert (status, err) == (0, ""), (status, err)
    versions = {row["component"]: row["version"] for row in json.loads(out)["components"]}
    assert versions["kubernetes"].startswith("v1."), versions
    assert run("version", "-o", "yaml")[1].startswith("components:\n- component: kubectl-vpa\n")

    kubectl = shutil.which("kubectl")
    if kubectl:
        env = {**os.environ, **cluster.env, "PATH": f"{cluster.programs}:{os.environ['PATH']}",
               "KUBECONFIG": f"/nonexistent/config:{cluster.plane.kubeconfig}"}
        assert "kubectl-vpa" in subprocess.run([kubectl, "plugin", "list"], capture_output=True, text=True, env=env).stdout
        found = subprocess.run([kubectl, "vpa", "version"], capture_output=True, text=True, env=env)
        assert found.returncode == 0 and "kubernetes" in found.stdout, found
    else:
        make.say("kubectl is not installed: the plugin was run by its own name")

    other = cluster.processes.folder / "contexts.kubeconfig"
    config = yaml.safe_load(open(cluster.plane.kubeconfig))
    config["contexts"].append({"name": "broken", "context": {"cluster": "nowhere"}})
    other.write_text(yaml.safe_dump(config))
    status, out, err = run("version", "--context=broken", kubeconfig=other)
    assert status == 1 and 'cluster "nowhere" was not found for context "broken"' in err, (status, err)
    status, out, err = run("version", f"--context={config['current-context']}", kubeconfig=other)
    assert status == 0, err
    assert run("nonsense")[0] == 2 and run("version", "--nonsense")[0] == 2
    several_kubeconfigs(run, kubectl, cluster, make())


def write_parts(folder, clusters):
    """Kubeconfigs and parts of such in the folder; dev and prod are whole, each with its own as the current context."""
    folder.mkdir()
    for name, cluster in clusters.items():
        config = {"current-context": name, "clusters": [{"name": name, "cluster": {"server": cluster.plane.url}}],
                  "contexts": [{"name": name, "context": {"cluster": name, "user": "admin", "namespace": "default"}}],
                  "users": [{"name": "admin", "user": {"token": cluster.plane.client.token or "x"}}]}
        (folder / name).write_text(json.dumps(config))
    parts = {"empty": "", "use-nope": "current-context: nope\n", "broken": "[", "list": "- a\n", "no-list": "clusters: {prod: {}}\n",
             "mixed": "current-context: mixed\ncontexts: [{name: mixed, context: {cluster: prod, user: admin}}]\n",
             "no-ca": "clusters: [{name: prod, cluster: {server: 'https://127.0.0.1:1', certificate-authority: /nonexistent/ca}}]\n",
             "alias": "clusters:\n- {name: other, cluster: &k {server: 'http://127.0.0.1:1'}}\n- {name: prod, cluster: *k}\n"}
    for name, text in parts.items():
        (folder / name).write_text(text)


# Files of KUBECONFIG, words, which server is asked; None: an error.
SEVERAL = [
    ("dev:prod", (), "dev"), ("prod:dev", (), "prod"), ("dev:prod", ("--context=prod",), "prod"),
    ("empty:missing:prod", (), "prod"), ("mixed:dev:prod", (), "prod"), ("dev:mixed:prod", ("--context=mixed",), "prod"),
    ("dev:prod:alias", ("--context=prod",), "prod"), ("alias:dev:prod", (), "dev"), ("use-nope:dev", ("--context=dev",), "dev"),
    ("use-nope:dev", (), None), ("dev:prod", ("--context=nope",), None), ("missing:empty", ("--context=nope",), None),
    ("broken:dev", (), None), ("dev:broken", (), None), ("list:dev", (), None), ("no-list:dev:prod", (), None), (".:dev", (), None),
    ("no-ca:prod", (), None), ("no-ca:dev:prod", (), "dev"), ("mixed:dev", (), None), (":", (), None),
]


def several_kubeconfigs(run, kubectl, dev, prod):
    """The files of KUBECONFIG over two servers: the one that kubectl asks is asked, and an error is one for both."""
    clusters, folder = {"dev": dev, "prod": prod}, dev.processes.folder / "several"
    write_parts(folder, clusters)
    container = {"name": "app", "image": "app", "resources": {"requests": {"cpu": "100m"}}}
    for name, cluster in clusters.items():
        cluster.install()
        cluster.client.create({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": f"on-{name}", "namespace": "default"},
                               "spec": {"replicas": 0, "selector": {"matchLabels": {"app": "web"}}, "template": {
                                   "metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container]}}}})

    def ask_kubectl(env, *words):
        done = subprocess.run([kubectl, *words], capture_output=True, text=True, timeout=60, env={**os.environ, **env})
        return done.returncode, done.stdout, done.stderr

    def env_of(files):
        paths = [str(folder / file) if file else "" for file in files.split(":")]
        return {"KUBECONFIG": ":".join(paths), "HOME": str(folder), "KUBERNETES_SERVICE_HOST": ""}

    for files, words, wanted in SEVERAL:
        env = env_of(files)
        status, out, err = run("create", "-n", "default", *words, kubeconfig=None, env=env)
        found = [made["metadata"]["name"] for made in yaml.safe_load_all(out)] if status == 0 else None
        assert found == (wanted and [f"on-{wanted}"]) and status in (0, 1), (files, words, status, out, err)
        assert wanted or re.match(r"error: .+\n$", err), (files, words, err)
        if kubectl:
            status, out, err = ask_kubectl(env, "get", "deployments", "-n", "default", "-o", "name", *words)
            assert (out.split() if status == 0 else None) == (wanted and [f"deployment.apps/on-{wanted}"]), (files, words, out, err)
    assert 'error: context "nope" does not exist\n' == run("create", "--context=nope", kubeconfig=None, env=env_of("dev:prod"))[2]
    assert str(folder / "broken") in run("create", kubeconfig=None, env=env_of("dev:broken"))[2]
    write_elsewhere(run, ask_kubectl if kubectl else None, clusters, folder, env_of("dev:prod"))


def write_elsewhere(run, ask_kubectl, clusters, folder, env):
    """After `kubectl config use-context prod`, which writes into the first file, prod alone gets the VPAs."""
    if ask_kubectl:
        status, out, err = ask_kubectl(env, "config", "use-context", "prod")
        assert status == 0, err
    else:
        (folder / "dev").write_text(json.dumps({**json.loads((folder / "dev").read_text()), "current-context": "prod"}))
    assert yaml.safe_load((folder / "dev").read_text())["current-context"] == "prod"
    status, out, err = run("create", "--apply", "-n", "default", kubeconfig=None, env=env)
    assert status == 0, (out, err)
    found = {name: [v["metadata"]["name"] for v in cluster.client.list("VerticalPodAutoscaler", "default")]
             for name, cluster in clusters.items()}
    assert found == {"dev": [], "prod": ["on-prod"]}, found


scenario_cli_frame.tiers, scenario_cli_frame.why = ["sim"], "what it says of itself is the same on both"


class Garbage(http.server.BaseHTTPRequestHandler):
    """Answers every request with the same bytes that are no answer."""
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(self.server.body)))
        self.end_headers()
        self.wfile.write(self.server.body)

    do_POST = do_PATCH = do_GET

    def log_message(self, *words):
        pass


def scenario_cli_garbage(make):
    """An API server that answers garbage, and a full disk: every command ends and says so, nothing reaches the terminal raw."""
    cluster = make(rate=600.0)  # caches are waited for two minutes
    run = command_of(cluster)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Garbage)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    config = yaml.safe_load(open(cluster.plane.kubeconfig))
    for entry in config["clusters"]:
        entry["cluster"] = {"server": f"http://127.0.0.1:{server.server_port}"}
    kubeconfig = cluster.processes.folder / "garbage.kubeconfig"
    kubeconfig.write_text(json.dumps(config))
    try:
        for body in (b'{"items":{}}', b'\xff\x00[', b'{"message":"\\u001b]0;x\\u0007"}'):
            server.body = body
            for words in (("why", "p"), ("why", "deploy/p"), ("create",), ("diff", "deploy/p"), ("show", "p"), ("report",), ("doctor",)):
                status, out, err = run(*words, kubeconfig=kubeconfig)
                assert status == 1 or words[0] in ("report", "diff"), (body, words, status, out, err)
                assert status in (0, 1) and "\x1b" not in out + err and (out or err), (body, words, out, err)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    for words in (["--help"], ["why", "--help"], ["completion", "bash"]):
        with open("/dev/full", "w") as full:
            done = subprocess.run([cluster.programs / "kubectl-vpa", *words], stdout=full, stderr=subprocess.PIPE, text=True)
        assert done.returncode == 1 and "cannot be written" in done.stderr, (words, done)


scenario_cli_garbage.tiers, scenario_cli_garbage.why = ["sim"], "the server is the test's own"


# ---- the forecast ----

FLAGS = ("--use-admission-controller-status=false", "--updater-interval=30s", "--kube-api-qps=1000", "--kube-api-burst=1000")
MODES = ("Off", "Initial", "Recreate", "Recreate", "Auto", "InPlaceOrRecreate", "InPlaceOrRecreate", "InPlace")
AGES = (600, 3 * 3600, 30 * 3600)  # seconds, far from every threshold of the updater


def at(now, seconds_ago):
    then = datetime.datetime.fromisoformat(now.replace("Z", "+00:00")) - datetime.timedelta(seconds=seconds_ago)
    return then.strftime("%Y-%m-%dT%H:%M:%SZ")


def random_vpa(dice, namespace, name, target):
    mode = dice.choice(MODES)
    policy = {"updateMode": mode}
    if dice.random() < 0.3:
        policy["minReplicas"] = dice.choice((1, 2, 3, 5))
    if dice.random() < 0.15 and mode != "Off":
        policy["evictionRequirements"] = [{"resources": [dice.choice(("cpu", "memory"))],
                                           "changeRequirement": dice.choice(("TargetHigherThanRequests",
                                                                             "TargetLowerThanRequests"))}]
    spec = {"targetRef": target, "updatePolicy": policy}
    if dice.random() < 0.3:
        spec["resourcePolicy"] = {"containerPolicies": [{"containerName": dice.choice(("*", "app")), **dice.choice((
            {"minAllowed": {"cpu": "150m"}}, {"maxAllowed": {"cpu": "400m", "memory": "300Mi"}}, {"mode": "Off"},
            {"controlledResources": ["cpu"]}, {"controlledValues": "RequestsOnly"}))}]}
    if dice.random() < 0.1:
        spec["startupBoost"] = {"cpu": {"type": "Factor", "factor": 2, "durationSeconds": 60}}
    return {"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler",
            "metadata": {"name": name, "namespace": namespace}, "spec": spec}


def random_recommendation(dice):
    cpu, memory = dice.choice((50, 100, 105, 250, 1000)), dice.choice((64, 128, 130, 512))
    return {"containerRecommendations": [{
        "containerName": dice.choice(("app",) * 9 + ("other",)),
        "target": {"cpu": f"{cpu}m", "memory": f"{memory}Mi"}, "uncappedTarget": {"cpu": f"{cpu}m", "memory": f"{memory}Mi"},
        "lowerBound": {"cpu": f"{cpu * 8 // 10}m", "memory": f"{memory * 8 // 10}Mi"},
        "upperBound": {"cpu": f"{cpu * 2}m", "memory": f"{memory * 2}Mi"}}]}


def random_pod(dice, now, namespace, name, owner, labels, limits):
    requests = {"cpu": f"{dice.choice((50, 100, 100, 200))}m", "memory": f"{dice.choice((64, 128, 128))}Mi"}
    resources = {"requests": requests}
    if limits:
        resources["limits"] = {"cpu": "2", "memory": "1Gi"}
    annotations = {}
    if dice.random() < 0.1:
        annotations["vpaObservedContainers"] = dice.choice(("app", "sidecar"))
    if dice.random() < 0.06:
        annotations["vpaCpuStartupBoost/app"] = json.dumps({"requests": {"cpu": "40m", "memory": "64Mi"}, "limits": {}})
    pod = {"apiVersion": "v1", "kind": "Pod",
           "metadata": {"name": name, "namespace": namespace, "labels": labels, "annotations": annotations,
                        "ownerReferences": [owner] if owner else []},
           "spec": {"nodeName": "node", "containers": [{"name": "app", "image": "app", "resources": resources}]}}
    running = dice.random() < 0.93
    age = dice.choice(AGES)
    status = {"phase": "Running" if running else "Pending", "startTime": at(now, age),
              "conditions": [{"type": "Ready", "status": "True" if running and dice.random() < 0.9 else "False",
                              "lastTransitionTime": at(now, age - 60)}],
              "containerStatuses": [{"name": "app", "image": "app", "imageID": "", "ready": running, "restartCount": 0,
                                     "state": {"running": {"startedAt": at(now, age)}} if running else {"waiting": {}},
                                     "resources": resources}]}
    if running and dice.random() < 0.08:
        status["conditions"].append({"type": dice.choice(("PodResizePending", "PodResizeInProgress")), "status": "True",
                                     "reason": dice.choice(("Deferred", "Infeasible", "")), "lastTransitionTime": at(now, 60)})
    if running and dice.random() < 0.05:
        status["containerStatuses"][0]["lastState"] = {"terminated": {
            "reason": "OOMKilled", "exitCode": 137, "startedAt": at(now, 120), "finishedAt": at(now, 60)}}
    return pod, status


def fill(cluster, dice, namespace, workloads):
    """Workloads with random VPAs, pods, limits and budgets in a namespace; gives the number of pods."""
    client, now, pods = cluster.client, cluster.plane.now(), 0
    client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    if dice.random() < 0.4:
        client.create({"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "limits", "namespace": namespace},
                       "spec": {"limits": [{"type": "Container", "min": {"cpu": dice.choice(("10m", "45m")), "memory": "32Mi"}}]}})
    for number in range(workloads):
        name, count = f"w{number:02}", dice.randint(1, 12)
        labels = {"app": name}
        kind = dice.choice(("Deployment", "Deployment", "StatefulSet", None))
        template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "app", "image": "app"}]}}
        spec = {"replicas": max(1, count + dice.choice((0, 0, 0, 1, -1))), "selector": {"matchLabels": labels},
                "template": template}
        owner = target = None
        if kind:
            made = client.create({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name, "namespace": namespace},
                                  "spec": {**spec, **({"serviceName": name} if kind == "StatefulSet" else {})}})
            target = {"apiVersion": "apps/v1", "kind": kind, "name": name}
            owner = {**target, "uid": made["metadata"]["uid"], "controller": True}
        if kind == "Deployment":
            made = client.create({"apiVersion": "apps/v1", "kind": "ReplicaSet", "spec": spec, "metadata": {
                "name": f"{name}-5d4f8", "namespace": namespace, "labels": labels, "ownerReferences": [owner]}})
            owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"{name}-5d4f8",
                     "uid": made["metadata"]["uid"], "controller": True}
        for rival in range(dice.choice((0, 1, 1, 1, 1, 2))):
            vpa = random_vpa(dice, namespace, f"{name}-{rival}", target or {"apiVersion": "apps/v1", "kind": "Deployment",
                                                                           "name": name})
            client.create(vpa)
            if dice.random() < 0.95:
                client.merge("VerticalPodAutoscaler", f"{name}-{rival}", {"status": {
                    "recommendation": random_recommendation(dice)}}, namespace, "status")
        limits = dice.random() < 0.5
        for index in range(count):
            pod, status = random_pod(dice, now, namespace, f"{name}-{index}", owner, labels, limits)
            client.create(pod)
            client.merge("Pod", pod["metadata"]["name"], {"status": status}, namespace, "status")
            pods += 1
        if dice.random() < 0.3:
            client.create({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
                           "metadata": {"name": name, "namespace": namespace},
                           "spec": {"selector": {"matchLabels": labels}, "minAvailable": 1}})
            client.merge("PodDisruptionBudget", name, {"status": {
                # All or none: the requests of a pass overlap, and which of them is the first to take the last share is chance.
                "disruptionsAllowed": dice.choice((0, 20)), "currentHealthy": count, "desiredHealthy": 1,
                "expectedPods": count, "observedGeneration": 1}}, namespace, "status")
    return pods


def snapshot(cluster):
    return {(p["metadata"]["namespace"], p["metadata"]["name"]): p for p in cluster.client.list("Pod")}


def happened(before, after):
    """What a pass did to each pod that it changed."""
    found = {}
    for key, pod in before.items():
        now = after.get(key)
        if now is None or now["metadata"].get("deletionTimestamp"):
            found[key] = "evict"
        elif (now["spec"]["containers"], now["metadata"].get("annotations")) != (
                pod["spec"]["containers"], pod["metadata"].get("annotations")):
            found[key] = "end startup boost" if marked(pod) and not marked(now) else "resize in place"
    return found


def scenario_cli_forecast(make):
    """For a thousand random pods `why` says before a pass what the updater then does."""
    dice = random.Random(int(os.environ.get("PLUMB_SEED", "16")))
    # Real time: what happened a minute ago must not come to five before the pass, on a busy machine too.
    cluster = make(controllers=False, flags=("--no-service-account",))
    cluster.install()
    cluster.client.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node"}})
    cluster.client.merge("Node", "node", {"status": {"allocatable": {"cpu": "10000", "memory": "10000Gi", "pods": "5000"},
                                                     "capacity": {"cpu": "10000", "memory": "10000Gi", "pods": "5000"}}},
                         subresource="status")
    pods = number = 0
    while pods < 1000:
        pods += fill(cluster, dice, f"ns-{number:02}", 16)
        number += 1
    before = snapshot(cluster)
    status, out, err = command_of(cluster)("why", "-A", "-o", "json", f"--updater-flags={' '.join(FLAGS)}")
    assert status == 0, err
    rows = {(r["namespace"], r["pod"]): r for r in json.loads(out)["pods"]}
    assert len(rows) == pods and err == "note: no Deployment of an updater is found: whether one runs is not known\n", (
        len(rows), pods, err)
    cluster.start_daemon("updater", *FLAGS)
    until(lambda: cluster.metrics("updater").get('vpa_updater_execution_latency_seconds_count{step="total"}'), 60, "one pass")
    done = happened(before, snapshot(cluster))
    wrong = [(key, rows[key]["next_pass"], done.get(key, "nothing"), rows[key]["rule"], rows[key]["why"])
             for key in sorted(rows) if rows[key]["next_pass"] != done.get(key, "nothing")]
    rules = collections.Counter(r["rule"] or r["next_pass"] for r in rows.values())
    make.say(f"{pods} pods, {len(done)} changed: " + ", ".join(f"{n} {r}" for r, n in rules.most_common()))
    assert not wrong, (len(wrong), wrong[:10])


scenario_cli_forecast.tiers, scenario_cli_forecast.why = ["sim"], "a thousand pods without their controllers"


# ---- what was decided ----

def scenario_cli_decisions(make):
    """`why` tells the updater's ledger: from an address on loopback, and through a port-forward of its own, which it ends."""
    cluster = make(rate=60.0, controllers=False, flags=("--no-service-account",))
    client, run = cluster.client, command_of(cluster)
    cluster.install()
    cluster.apply(ROOT / "deploy/updater-deployment.yaml")
    pods = fill(cluster, random.Random(3), "shop", 16)
    cluster.start_daemon("updater", *FLAGS, "--updater-interval=10m")
    until(lambda: cluster.metrics("updater").get('vpa_updater_execution_latency_seconds_count{step="total"}'), 60, "one pass")
    client.request("POST", "/kubesim/clock", {"rate": 1})  # the next pass comes after this test
    updater = cluster.addresses["updater"]
    ledger = updater.request("GET", "/decisions?namespace=shop")["decisions"]
    alive = {p["metadata"]["name"] for p in client.list("Pod", "shop")}
    changed = next(d for d in ledger if d["decision"] == "resize" and d["pod"] in alive)
    make.say(f"{pods} pods, {len(ledger)} decisions")
    status, out, err = run("why", changed["pod"], "-n", "shop", "-o", "json", "--decisions-from=none")
    governs = json.loads(out)["vpa"]  # of running pods another one may, where this one leaves them alone
    wanted = [(d["pod"], d["decision"], d["rule"], d["why"]) for d in reversed(ledger)
              if d["vpa"] == governs or d["pod"] == changed["pod"]][:20]

    def told(*words, env=None):
        status, out, err = run("why", changed["pod"], "-n", "shop", "-o", "json", *words, env=env)
        assert status == 0, err
        return json.loads(out)

    address = f"http://127.0.0.1:{updater.port}"
    given = told(f"--decisions-from={address}")
    assert [(d["pod"], d["decision"], d["rule"], d["why"]) for d in given["decisions"]] == wanted, (given, wanted)
    text = run("why", changed["pod"], "-n", "shop", f"--decisions-from={address}/decisions")[1]
    assert f"{changed['pod']} resize: {changed['rule']}: {changed['why']}" in text.split("\nDecisions\n")[1], text
    assert "no address on loopback" in told("--decisions-from=http://192.0.2.1:8943")["decisions_missing"]
    # A VPA and a workload are told the same of: what was decided about the VPA, and about each of their pods.
    kind, workload = given["controller"].split()
    for word, of in ((f"vpa/{governs}", "VPA"), (f"{kind.lower()}/{workload}", kind)):
        status, out, err = run("why", word, "-n", "shop", "-o", "json", f"--decisions-from={address}")
        answer = json.loads(out)
        assert status == 0 and (answer["kind"], answer["name"]) == (of, word.split("/")[1]), (out, err)
        pods_of = {p["pod"] for p in answer["pods"]}
        told_of = [(d["pod"], d["decision"], d["why"]) for d in reversed(ledger) if d["vpa"] == governs or d["pod"] in pods_of][:20]
        assert changed["pod"] in pods_of and answer["rules_of"] == min(pods_of) and answer["containers"], answer
        assert [(d["pod"], d["decision"], d["why"]) for d in answer["decisions"]] == told_of, (answer, told_of)
        text = run("why", word, "-n", "shop", f"--decisions-from={address}")[1]
        assert text.startswith(f"{of} shop/{word.split('/')[1]}, {len(pods_of)} pod") and f"{changed['pod']} resize: " in text, text
        assert all(head in text for head in ("\nVPA: ", "\nContainer app", "\nUpdater, next pass\n", "\nWebhook, for a new pod",
                                             "\nEvents\n", "\nDecisions\n")), text
    client.create(random_vpa(random.Random(1), "shop", "podless", {"apiVersion": "apps/v1", "kind": "Deployment", "name": "nowhere"}))
    text = run("why", "vpa/podless", "-n", "shop", f"--decisions-from={address}")[1]
    assert "VPA shop/podless, 0 pods\n" in text and "it controls no live pod" in text and "none in the updater's ledger" in text, text
    assert run("why", "deploy/nowhere", "-n", "shop")[0] == 1
    assert told("--decisions-from=none")["decisions_missing"] == "not asked for"

    # Nothing forwards ports on the simulator: a kubectl that leads to the updater stands for the real one.
    tools = cluster.processes.folder / "tools"
    tools.mkdir()
    kubectl = tools / "kubectl"
    kubectl.write_text(f"#!/bin/sh\necho \"$@\" > {tools}/words\necho $$ > {tools}/pid\n"
                       f"echo 'Forwarding from 127.0.0.1:{updater.port} -> 8943'\nexec sleep 60\n")
    kubectl.chmod(0o755)
    env = {"PATH": f"{tools}:{os.environ['PATH']}"}
    assert [d["why"] for d in told(env=env)["decisions"]] == [w[3] for w in wanted]
    words = (tools / "words").read_text()
    assert "--namespace=kube-system" in words and words.endswith(" -- deploy/vpa-updater :8943\n"), words
    assert not pathlib.Path(f"/proc/{(tools / 'pid').read_text().strip()}").exists()
    kubectl.write_text("#!/bin/sh\necho 'error: pods is \033[31mforbidden' >&2\nexit 1\n")
    missing = told(env=env)["decisions_missing"]
    assert missing.startswith("kubectl port-forward ended: error: pods is"), missing
    assert "\x1b" not in run("why", changed["pod"], "-n", "shop", env=env)[1]


scenario_cli_decisions.tiers, scenario_cli_decisions.why = ["sim"], "passes of the simulated clock"


# ---- which VPA ----

def scenario_cli_modes(make):
    """`why` names the VPA that changes a running pod and the one that a new pod gets, where several modes meet; as the daemons act."""
    cluster = make(rate=10.0, controllers=False, flags=("--no-service-account",))
    client, run = cluster.client, command_of(cluster)
    cluster.install()
    client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    target = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web"}
    labels, resources = {"app": "web"}, {"requests": {"cpu": "100m"}}
    container = {"name": "app", "image": "app", "resources": resources}
    made = client.create({**{k: target[k] for k in ("apiVersion", "kind")}, "metadata": {"name": "web", "namespace": "shop"}, "spec": {
        "replicas": 3, "serviceName": "web", "selector": {"matchLabels": labels}, "template": {
            "metadata": {"labels": labels}, "spec": {"containers": [container]}}}})
    for index in range(3):
        client.create({"apiVersion": "v1", "kind": "Pod", "metadata": {
            "name": f"web-{index}", "namespace": "shop", "labels": labels,
            "ownerReferences": [{**target, "uid": made["metadata"]["uid"], "controller": True}]},
            "spec": {"nodeName": "node", "containers": [container]}})
        client.merge("Pod", f"web-{index}", {"status": {
            "phase": "Running", "startTime": at(cluster.plane.now(), 99999), "conditions": [{"type": "Ready", "status": "True"}],
            "containerStatuses": [{"name": "app", "image": "app", "imageID": "", "ready": True, "restartCount": 0,
                                   "state": {"running": {"startedAt": at(cluster.plane.now(), 99999)}}}]}}, "shop", "status")

    def vpa(name, mode, cpu):
        client.create({"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler", "metadata": {
            "name": name, "namespace": "shop"}, "spec": {"targetRef": target, "updatePolicy": {"updateMode": mode}}})
        client.merge("VerticalPodAutoscaler", name, {"status": {"recommendation": {"containerRecommendations": [
            {"containerName": "app", "target": {"cpu": cpu}, "lowerBound": {"cpu": cpu}, "upperBound": {"cpu": cpu}}]}}}, "shop", "status")

    def why():
        status, out, err = run("why", "web-0", "-n", "shop", "-o", "json", f"--updater-flags={' '.join(FLAGS)}", "--decisions-from=none")
        assert status == 0, err
        found = json.loads(out)
        text = run("why", "web-0", "-n", "shop", f"--updater-flags={' '.join(FLAGS)}", "--decisions-from=none")[1]
        patch = [op["value"] for op in found["webhook"].get("patch", []) if op["path"].endswith("/requests/cpu")]
        return found["vpa"], found.get("vpa_of_new_pods"), patch, found["updater"]["rule"] or found["updater"]["action"], text

    # Names are in the order of age, should two be made within a second.
    vpa("a-off", "Off", "200m")
    running, new, patch, rule, text = why()
    assert (running, new, patch, rule) == ("a-off", None, [], "mode") and "mode Off: running pods are left alone" in text, text
    vpa("b-initial", "Initial", "300m")
    running, new, patch, rule, text = why()
    assert (running, new, patch, rule) == ("b-initial", "b-initial", ["300m"], "mode"), text
    assert "VPA: b-initial (mode Initial, of StatefulSet web)\n  the oldest of those that are not Off\n" in text, text
    assert "  nothing: mode Initial: only new pods get the recommendation\n" in text, text
    vpa("c-recreate", "Recreate", "400m")
    running, new, patch, rule, text = why()
    assert (running, new, patch, rule) == ("c-recreate", "b-initial", ["300m"], "evict"), text
    assert "VPA: c-recreate (mode Recreate, of StatefulSet web)\n  the oldest of those that change running pods\n" in text, text
    assert "  new pods: b-initial (mode Initial, of StatefulSet web), the oldest of those that are not Off\n" in text, text
    assert "  not a-off: mode Off leaves running pods alone and new ones\n" in text, text
    assert "  not b-initial: mode Initial leaves running pods alone\n" in text, text
    rows = json.loads(run("why", "vpa/b-initial", "-n", "shop", "-o", "json", f"--updater-flags={' '.join(FLAGS)}")[1])
    assert (rows["kind"], rows["vpa"], rows["vpa_of_new_pods"], len(rows["pods"])) == ("VPA", "c-recreate", "b-initial", 3), rows

    before = snapshot(cluster)
    cluster.start_daemon("updater", *FLAGS)
    until(lambda: happened(before, snapshot(cluster)), 60, "an eviction")
    events = until(lambda: [e for e in client.list("Event", "shop") if e["involvedObject"]["kind"] == "VerticalPodAutoscaler"], 30, "events")
    assert {e["involvedObject"]["name"] for e in events} == {"c-recreate"}, events


scenario_cli_modes.tiers, scenario_cli_modes.why = ["sim"], "passes of the simulated clock"


# ---- doctor ----

def scenario_cli_doctor(make):
    """Installations broken in a dozen ways: each is found and named, with what to do; a sound one has no errors."""
    cluster = make(fresh=True)
    client, run = cluster.client, command_of(cluster)
    cluster.install()
    cluster.start_fakelet()
    for name in ("recommender", "updater", "admission-controller"):
        cluster.apply(ROOT / f"deploy/{name}-deployment.yaml")
    cluster.apply(ROOT / "deploy/admission-controller-service.yaml")
    cluster.start_daemon("admission-controller")
    for name in ("recommender", "updater"):
        cluster.start_daemon(name, "--leader-elect=true")
    client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})

    def findings():
        status, out, err = run("doctor", "--json")
        assert out, (status, err)
        found = json.loads(out)["findings"]
        assert status == any(f["level"] == "error" for f in found), (status, out)
        return {f["check"] for f in found if f["level"] != "ok"}, found, err

    last = []

    def is_sound():
        last[:] = [findings()]
        return not any(f["level"] == "error" for f in last[0][1])
    try:
        until(is_sound, 120, "a sound installation")
    except Exception:
        raise AssertionError(last)
    sound = last[0][0]
    named = []

    def expect(check, broken, mended):
        broken()
        try:
            until(lambda: check in findings()[0], 60, check)
        except Exception:
            raise AssertionError((check, findings()))
        row = next(f for f in findings()[1] if f["check"] == check and f["level"] != "ok")
        assert row["finding"] and row["advice"] and row["subject"], row
        named.append(check)
        if mended:
            mended()
            until(lambda: check not in findings()[0] or check in sound, 60, f"no {check}")

    vpas = [{"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler",
             "metadata": {"name": name, "namespace": "shop"},
             "spec": {"targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}} for name in ("a", "b")]
    client.create(vpas[0])
    expect("vpa-conflict", lambda: client.create(vpas[1]), lambda: client.delete("VerticalPodAutoscaler", "b", "shop"))
    expect("panic", lambda: client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
        "name": "vpa-panic", "namespace": "kube-system"}}), lambda: client.delete("ConfigMap", "vpa-panic", "kube-system"))
    image = {"spec": {"template": {"spec": {"containers": [{"name": "recommender", "image": "x/vpa-recommender:9.9.9"}]}}}}
    deployment = client.get("Deployment", "vpa-recommender", "kube-system")
    expect("version-skew", lambda: client.merge("Deployment", "vpa-recommender", image, "kube-system"), None)
    expect("daemon", lambda: client.delete("Deployment", "vpa-recommender", "kube-system"), None)
    cluster.apply(ROOT / "deploy/recommender-deployment.yaml")
    other = {**deployment, "metadata": {"name": "other", "namespace": "shop"}, "status": {}}
    expect("second-installation", lambda: client.create(other), lambda: client.delete("Deployment", "other", "shop"))
    if cluster.tier == "sim":
        make.say("the simulator serves no HorizontalPodAutoscalers: that finding is for real servers")
    else:
        hpa = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
               "metadata": {"name": "web", "namespace": "shop"},
               "spec": {"maxReplicas": 3, "scaleTargetRef": vpas[0]["spec"]["targetRef"], "metrics": [
                   {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}}]}}
        expect("hpa", lambda: client.create(hpa), lambda: client.delete("HorizontalPodAutoscaler", "web", "shop"))
    if cluster.tier != "sim":
        expect("rights", lambda: client.delete("ClusterRoleBinding", "system:vpa-evictioner-binding"),
               lambda: cluster.apply(ROOT / "deploy/vpa-rbac.yaml"))
    expect("metrics", lambda: client.delete("APIService", "v1beta1.metrics.k8s.io"), None)

    cluster.daemons["admission-controller"].stop()
    expect("webhook-reach", lambda: None, None)
    hooks = client.get("MutatingWebhookConfiguration", "vpa-webhook-config")["webhooks"]
    pods = hooks[0]

    def registered(**change):
        return lambda: client.merge("MutatingWebhookConfiguration", "vpa-webhook-config", {"webhooks": [{**pods, **change}]})
    service = {"namespace": "kube-system", "name": "nowhere", "port": 443}
    idle = {"metadata": {"name": "kept-by-the-chart"}, "webhooks": [{**pods, "rules": []}]}
    client.create({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration", **idle})
    assert "second-installation" not in findings()[0], findings()
    expect("webhook-service", registered(clientConfig={"service": service, "caBundle": pods["clientConfig"]["caBundle"]}), None)
    if cluster.tier == "sim":  # a real server refuses to store it
        expect("webhook-ca", registered(clientConfig={"service": service, "caBundle": ""}), None)
    expect("webhook-rules", registered(rules=[{**pods["rules"][0], "operations": ["DELETE"]}]), None)
    expect("webhook-policy", registered(failurePolicy="Fail"), None)
    expect("webhook", lambda: client.delete("MutatingWebhookConfiguration", "vpa-webhook-config"), None)  # "idle" is not called
    expect("lease", lambda: client.delete("Lease", "vpa-admission-controller", "kube-system"), None)
    definition = client.get("CustomResourceDefinition", "verticalpodautoscalers.autoscaling.k8s.io")
    versions = definition["spec"]["versions"]
    for version in versions:
        version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"].pop("startupBoost", None)
        version["schema"]["openAPIV3Schema"]["properties"]["spec"].pop("x-kubernetes-validations", None)
    expect("crd-old", lambda: client.merge("CustomResourceDefinition", definition["metadata"]["name"],
                                           {"spec": {"versions": versions}}), None)
    expect("crd", lambda: client.delete("CustomResourceDefinition", definition["metadata"]["name"]), None)
    make.say(f"{len(named)} broken installations: " + ", ".join(named))
    assert len(named) >= 12


# ---- what is printed ----

def scenario_cli_answers(make):
    """create, diff (applied, it says nothing more), show, report and top; what may not be read narrows the answer and is said."""
    cluster = make(rate=60.0)
    client, run = cluster.client, command_of(cluster)
    cluster.install()
    cluster.start_fakelet()
    client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    until(lambda: client.find("ServiceAccount", "default", "shop"), 30, "the default service account")
    container = {"name": "app", "image": "app", "resources": {"requests": {"cpu": "100m", "memory": "100Mi"},
                                                              "limits": {"cpu": "200m", "memory": "200Mi"}}}
    for kind in ("Deployment", "StatefulSet"):
        labels = {"app": f"web-{kind.lower()}"}
        client.create({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "web", "namespace": "shop", "labels": {"tier": kind}},
                       "spec": {"replicas": 2, "selector": {"matchLabels": labels}, "template": {
                           "metadata": {"labels": labels}, "spec": {"containers": [container]}}}})
    until(lambda: len(client.list("Pod", "shop")) == 4, 60, "the pods")

    status, out, err = run("create", "-n", "shop", "--mode=Off", "--selector=tier=Deployment")
    assert status == 0 and [d["metadata"]["name"] for d in yaml.safe_load_all(out)] == ["web"], (out, err)
    status, out, err = run("create", "-n", "shop", "--mode=Off")
    made = list(yaml.safe_load_all(out))
    assert {(d["metadata"]["name"], d["spec"]["targetRef"]["kind"], d["spec"]["updatePolicy"]["updateMode"]) for d in made} == {
        ("web", "Deployment", "Off"), ("web-statefulset", "StatefulSet", "Off")}, out
    assert client.list("VerticalPodAutoscaler", "shop") == []
    status, out, err = run("create", "-n", "shop", "--apply", "-o", "json")
    assert status == 0 and [r["result"] for r in json.loads(out)["created"]] == ["created", "created"], (out, err)
    assert "every workload has a VPA already" in run("create", "-n", "shop", "--apply")[2]
    assert run("create", "--mode=Sometimes")[0] == 2

    assert "has no recommendation yet" in run("diff", "deploy/web", "-n", "shop")[2]
    amounts = {"cpu": "250m", "memory": "150Mi"}
    client.merge("VerticalPodAutoscaler", "web", {"status": {"recommendation": {"containerRecommendations": [
        {"containerName": "app", "target": amounts, "lowerBound": amounts, "upperBound": amounts}]}}}, "shop", "status")
    status, out, err = run("diff", "deploy/web", "-n", "shop", "--no-color")
    assert status == 0 and "- app.requests.cpu: 100m\n+ app.requests.cpu: 250m\n" in out, (out, err)
    assert "+ app.limits.cpu: 500m" in out, out
    pod = next(p["metadata"]["name"] for p in client.list("Pod", "shop") if p["metadata"]["labels"].get("app") == "web-deployment")
    for word in (pod, "vpa/web", "deploy/web"):
        status, out, err = run("why", word, "-n", "shop", "--decisions-from=none")
        assert status == 0 and "VPA: web (mode Off, of Deployment web)" in out, (word, out, err)
        for rule, values in (("requests now", "cpu 100m, memory 100Mi"), ("new requests", "cpu 250m, memory 150Mi"),
                             ("new limits", "cpu 500m, memory 300Mi")):
            assert re.search(rf"^ +{rule} +{values}", out, re.M), (word, rule, out)
        assert "mode Off: running pods are left alone" in out and "Webhook, for a new pod\n  no patch" in out, (word, out)
    client.merge("VerticalPodAutoscaler", "web", {"spec": {"updatePolicy": {"updateMode": "Recreate"}}}, "shop")
    out = run("why", pod, "-n", "shop", "--decisions-from=none")[1]
    assert "Webhook, for a new pod\n  no patch" not in out and "requests.cpu: 100m" in out and "requests.cpu: 250m" in out, out
    client.merge("VerticalPodAutoscaler", "web", {"spec": {"updatePolicy": {"updateMode": "Off"}}}, "shop")
    patch = run("diff", "deploy/web", "-n", "shop", "--format=patch")[1]
    kustomize = yaml.safe_load(run("diff", "deploy/web", "-n", "shop", "--format=kustomize")[1])
    assert yaml.safe_load(kustomize["patches"][0]["patch"]) == yaml.safe_load(patch), kustomize
    kubectl = shutil.which("kubectl")
    if kubectl:
        subprocess.run([kubectl, f"--kubeconfig={cluster.plane.kubeconfig}", "patch", "deploy/web", "-n", "shop", "--patch-file=/dev/stdin"],
                       input=patch, text=True, check=True, capture_output=True)
        status, out, err = run("diff", "deploy/web", "-n", "shop")
        assert (status, out) == (0, "") and "the manifest has what VPA web recommends" in err, (out, err)

    client.create({"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscalerCheckpoint",
                   "metadata": {"name": "web-app", "namespace": "shop"}, "spec": {"vpaObjectName": "web", "containerName": "app"},
                   "status": {"version": "v3", "totalSamplesCount": 900, "firstSampleStart": "2026-02-20T00:00:00Z",
                              "lastSampleStart": "2026-03-01T00:00:00Z",
                              "cpuHistogram": {"bucketWeights": {"3": 10000, "9": 5000}, "totalWeight": 12.5},
                              "memoryHistogram": {"bucketWeights": {"7": 10000}, "totalWeight": 9.0}}})
    drawing = cluster.processes.folder / "web.svg"
    status, out, err = run("show", "web", "-n", "shop", f"--svg={drawing}")
    assert status == 0 and "target 250m" in out and "66.7%" in out and "900 samples" in out, (out, err)
    xml.dom.minidom.parse(str(drawing))
    assert "margin 15%, half-life 24h0m0s, " in out and "; p50 " in out and "the flags of the recommender are not known" in err, (out, err)
    deployment = next(d for d in yaml.safe_load_all((ROOT / "deploy/recommender-deployment.yaml").read_text()) if d["kind"] == "Deployment")
    deployment["spec"]["replicas"] = 0
    deployment["spec"]["template"]["spec"]["containers"][0]["args"] = [
        "--target-cpu-percentile=0.8", "--recommendation-lower-bound-memory-percentile=0.25", "--recommendation-margin-fraction=0.4",
        "--cpu-histogram-decay-half-life=36h"]
    client.create(deployment)
    status, out, err = run("show", "web", "-n", "shop")
    cpu, memory = out.split("Container app, memory")
    assert status == 0 and "margin 40%, half-life 36h0m0s, " in cpu and "p50 " in cpu and "p80 " in cpu and " < p80" in cpu, (out, err)
    assert "margin 40%, half-life 24h0m0s, " in memory and "p25 " in memory and "p90 " in memory and err == "", (out, err)
    status, out, err = run("show", "web", "-n", "shop", "-o", "json", "--recommender-flags=--recommendation-margin-fraction=0.2")
    assert status == 0 and {p["margin"] for p in json.loads(out)["pictures"]} == {0.2}, (out, err)
    client.delete("Deployment", "vpa-recommender", "kube-system")
    assert "has no checkpoint yet" in run("show", "web-statefulset", "-n", "shop")[2]

    rows = {(r["kind"], r["workload"]): r for r in json.loads(run("report", "-n", "shop", "-o", "json")[1])["rows"]}
    assert rows["Deployment", "web"]["vpa"] == "web" and "target" in rows["Deployment", "web"], rows
    assert "target" not in rows["StatefulSet", "web"] and rows["StatefulSet", "web"]["pods"] == 2, rows
    assert run("report", "-n", "shop", "-o", "csv")[1].startswith("NAMESPACE,WORKLOAD,CONTAINER,")
    assert "Deployment/web" in run("top", "-A", "--sort=risk")[1]
    client.create({"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler",
                   "metadata": {"name": "by-labels", "namespace": "shop"},
                   "spec": {"selector": {"matchLabels": {"app": "bare"}}}})
    client.merge("VerticalPodAutoscaler", "by-labels", {"status": {"recommendation": {"containerRecommendations": [
        {"containerName": "app", "target": amounts}]}}}, "shop", "status")
    for name, app in (("bare", "bare"), ("other", "other")):
        client.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "shop", "labels": {"app": app}},
                       "spec": {"containers": [container]}})
    rows = {(r["kind"], r["workload"]): r for r in json.loads(run("report", "-n", "shop", "-o", "json")[1])["rows"]}
    assert rows["Pod", "bare"]["vpa"] == "by-labels" and rows["Pod", "bare"]["target"]["cpu_millicores"] == 250, rows
    assert "vpa" not in rows["Pod", "other"] and rows["Deployment", "web"]["vpa"] == "web", rows
    client.delete("VerticalPodAutoscaler", "by-labels", "shop")
    for name in ("bare", "other"):
        client.delete("Pod", name, "shop")
    contexts = cluster.processes.folder / "two.kubeconfig"
    config = yaml.safe_load(open(cluster.plane.kubeconfig))
    config["contexts"].append({"name": "other", "context": config["contexts"][0]["context"]})
    contexts.write_text(json.dumps(config))
    status, out, err = run("shadow", "-n", "shop", "--against=other", "-o", "json", kubeconfig=contexts)
    assert status == 0 and [r["apart"] for r in json.loads(out)["targets"]] == ["+0%", "+0%"], (out, err)
    client.create({**made[0], "metadata": {"name": "younger", "namespace": "shop"}})
    amounts = {"cpu": "500m", "memory": "150Mi"}
    client.merge("VerticalPodAutoscaler", "younger", {"status": {"recommendation": {"containerRecommendations": [
        {"containerName": "app", "target": amounts}]}}}, "shop", "status")
    status, out, err = run("shadow", "-n", "shop", "-o", "json")
    assert status == 0 and [r["apart"] for r in json.loads(out)["targets"]] == ["+100%", "+0%"], (out, err)
    client.delete("VerticalPodAutoscaler", "younger", "shop")
    if cluster.tier == "sim":
        cluster.plane.faults({"method": "GET", "path": "/verticalpodautoscalers", "status": 403},
                             {"method": "GET", "path": "/limitranges", "status": 403})
        status, out, err = run("report", "-n", "shop", "-o", "json")
        answer = json.loads(out)
        # The pods that were deleted may still be ending.
        assert status == 1 and len([r for r in answer["rows"] if r["kind"] != "Pod"]) == 2, (out, err)
        assert any("not allowed to list verticalpodautoscalers in shop" in note for note in answer["notes"]), answer["notes"]
        status, out, err = run("why", "-n", "shop")
        assert status == 1 and "verticalpodautoscalers" in err, err
        cluster.plane.faults({"method": "GET", "path": "/limitranges", "status": 403})
        status, out, err = run("why", "-n", "shop")
        assert status == 0 and "not allowed to list limitranges" in err and "web-" in out, (out, err)
        cluster.plane.faults()
        stale_page(cluster)


def readings(cluster):
    """How often VPAs were listed, which every reading begins with."""
    found = cluster.plane.client.request("GET", "/kubesim/requests")["requests"]
    return sum(r["calls"] for r in found if r["verb"] == "list" and r["resource"].startswith("verticalpodautoscalers"))


def stale_page(cluster):
    """A page that could not be read anew is not shown as if it had been."""
    served = cluster.processes.start("dash", [cluster.programs / "kubectl-vpa", "dash", "-n", "shop",
                                              f"--kubeconfig={cluster.plane.kubeconfig}"], cluster.env)
    until(lambda: re.search(r"http://\S+", served.text()), 30, "the address of the page")
    address = re.search(r"http://\S+", served.text()).group()
    client, path = Client(address), urllib.parse.urlsplit(address).path
    assert client.raw("GET", path)[0] == 200
    cluster.plane.faults({"method": "GET", "path": "/pods", "status": 403})
    until(lambda: client.raw("GET", path)[0] == 503, 60, "503 while the pods cannot be read")
    before = readings(cluster)
    # The first one is due to the answer before; who comes back later is not told what was hours ago.
    until(lambda: readings(cluster) >= before + 3, 60, "further readings, though nobody asks")
    assert served.text().count("error:") == 1, served.text()  # told once
    cluster.plane.faults()
    until(lambda: client.raw("GET", path)[0] == 200, 60, "the page again")
    assert served.stop() == 0


# ---- its patch ----

APPLYING = re.compile(r"^ *(kubectl vpa diff \S+ -n \S+ --format=patch \|\s+kubectl .*)$", re.M)


def of_manifest(client):
    """What the manifest says of the Deployment, and by which notes of kubectl and of the server the next apply goes."""
    web = client.get("Deployment", "web", "shop")
    template = web["spec"]["template"]
    app = template["spec"]["containers"][0]
    applied = [m for m in web["metadata"].get("managedFields") or [] if m["manager"] == "kubectl" and m["operation"] == "Apply"]
    said = (web["spec"]["replicas"], web["spec"]["selector"], template["metadata"]["labels"], app["image"], app["env"],
            web["metadata"].get("annotations", {}).get("kubectl.kubernetes.io/last-applied-configuration"))
    return web["metadata"]["generation"], app["resources"], said, ["f:replicas" in m["fieldsV1"]["f:spec"] for m in applied]


def scenario_cli_patch(make):
    """The documented way to bring diff's patch into a workload, which kubectl made by either apply: resources change, once, and nothing else."""
    cluster = make(rate=60.0)
    kubectl, client = kubectl_of(cluster, make, make.tier != "sim"), cluster.client
    cluster.install()
    tools = cluster.processes.folder / "tools"
    tools.mkdir()
    (tools / "kubectl").symlink_to(cluster.plane.assets["kubectl"] if make.tier != "sim" else shutil.which("kubectl"))
    (tools / "kubectl-vpa").symlink_to(pathlib.Path(cluster.programs / "kubectl-vpa").resolve())
    documented = APPLYING.findall(command_of(cluster)("diff", "--help")[1])
    assert len(documented) == 1 and " ".join(documented[0].split()) in GUIDE.read_text(), documented
    client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    labels, before, after = {"app": "web"}, {"cpu": "100m", "memory": "100Mi"}, {"cpu": "250m", "memory": "150Mi"}
    app = {"name": "app", "image": "app:1", "env": [{"name": "A", "value": "1"}], "resources": {"requests": before}}
    manifest = json.dumps({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"}, "spec": {
        "replicas": 3, "selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": {"containers": [app]}}}})
    client.create({"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler", "metadata": {"name": "web", "namespace": "shop"},
                   "spec": {"targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "updatePolicy": {"updateMode": "Off"}}})
    client.merge("VerticalPodAutoscaler", "web", {"status": {"recommendation": {"containerRecommendations": [
        {"containerName": "app", "target": after}]}}}, "shop", "status")
    for way in ([], ["--server-side"]):
        kubectl("apply", *way, "-f", "-", text=manifest)
        generation, resources, said, owned = of_manifest(client)
        assert resources == {"requests": before} and (not way or owned == [True]), (resources, owned)
        for _ in range(2):
            done = subprocess.run(["bash", "-o", "pipefail", "-c", documented[0]], capture_output=True, text=True, timeout=180, env={
                **os.environ, **cluster.env, "HOME": str(tools), "PATH": f"{tools}:{os.environ['PATH']}",
                "KUBECONFIG": str(cluster.plane.kubeconfig)})
            assert done.returncode == 0, (way, done.stdout, done.stderr)
            assert of_manifest(client) == (generation + 1, {"requests": after}, said, owned), (way, of_manifest(client), said, owned)
        client.delete("Deployment", "web", "shop")
        until(lambda: not client.find("Deployment", "web", "shop"), 30, "the Deployment has gone")


scenario_cli_patch.each_minor = True


# ---- who governs ----

def custom_kind(kind, scaled):
    """A definition in the group plumb.example; with `scaled`, the scale subresource."""
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {
        "type": "object", "x-kubernetes-preserve-unknown-fields": True}}}
    if scaled:
        version["subresources"] = {"scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas",
                                             "labelSelectorPath": ".spec.labels"}}
    plural = kind.lower() + "s"
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.plumb.example"},
            "spec": {"group": "plumb.example", "scope": "Namespaced", "versions": [version],
                     "names": {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()}}}


def scenario_cli_governed(make):
    """create and diff see the VPA of a workload whichever way it takes the pods: a controller above, labels, a foreign selector."""
    cluster = make(controllers=False, flags=("--no-service-account",))
    client, run = cluster.client, command_of(cluster)
    cluster.install()
    client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    for kind, scaled in (("Rollout", True), ("Owner", False)):
        client.create(custom_kind(kind, scaled))
        until(lambda: client.raw("GET", f"/apis/plumb.example/v1/{kind.lower()}s")[0] == 200, 30, kind)

    def custom(kind, name):
        made = client.request("POST", f"/apis/plumb.example/v1/namespaces/shop/{kind.lower()}s", {
            "apiVersion": "plumb.example/v1", "kind": kind, "metadata": {"name": name, "namespace": "shop"},
            "spec": {"replicas": 1, "labels": f"app={name}"}, "status": {"replicas": 1}})
        return {"apiVersion": "plumb.example/v1", "kind": kind, "name": name, "uid": made["metadata"]["uid"], "controller": True}

    def workload(kind, name, labels, owner=None, selector=None):
        made = client.create({"apiVersion": "apps/v1", "kind": kind, "metadata": {
            "name": name, "namespace": "shop", "ownerReferences": [owner] if owner else []}, "spec": {
                "replicas": 1, "selector": {"matchLabels": selector or labels}, "template": {
                    "metadata": {"labels": labels}, "spec": {"containers": [{
                        "name": "app", "image": "app", "resources": {"requests": {"cpu": "100m"}}}]}}}})
        return {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": made["metadata"]["uid"], "controller": True}

    def pod(name, labels, owner):
        client.create({"apiVersion": "v1", "kind": "Pod", "metadata": {
            "name": name, "namespace": "shop", "labels": labels, "ownerReferences": [owner]},
            "spec": {"containers": [{"name": "app", "image": "app"}]}})

    def vpa(name, **spec):
        client.create({"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler",
                       "metadata": {"name": name, "namespace": "shop"}, "spec": spec})
        client.merge("VerticalPodAutoscaler", name, {"status": {"recommendation": {"containerRecommendations": [
            {"containerName": "app", "target": {"cpu": "250m"}, "lowerBound": {"cpu": "200m"}, "upperBound": {"cpu": "300m"}}]}}},
            "shop", "status")

    workload("Deployment", "inner", {"app": "above"}, custom("Rollout", "above"))
    vpa("of-above", targetRef={"apiVersion": "plumb.example/v1", "kind": "Rollout", "name": "above"})
    workload("Deployment", "labelled", {"app": "labelled"})
    vpa("by-labels", selector={"matchLabels": {"app": "labelled"}})
    replicas = workload("ReplicaSet", "live-1", {"app": "live"}, workload("Deployment", "live", {"app": "live"}))
    pod("live-1-a", {"app": "live", "added": "by-hand"}, replicas)
    vpa("by-live-labels", selector={"matchLabels": {"added": "by-hand"}})
    workload("Deployment", "broad", {"app": "broad"})
    vpa("broad", targetRef={"apiVersion": "apps/v1", "kind": "Deployment", "name": "broad"})
    workload("Deployment", "under", {"app": "broad", "part": "under"}, selector={"part": "under"})
    workload("StatefulSet", "operated", {"app": "operated"}, custom("Owner", "operator"))
    pod("lonely-1-a", {"app": "lonely"}, workload("ReplicaSet", "lonely-1", {"app": "lonely"}, custom("Rollout", "lonely")))
    workload("Deployment", "plain", {"app": "plain"})
    vpa("plain", selector={"matchLabels": {"app": "nobody"}})

    status, out, err = run("create", "-n", "shop")
    made = {(d["metadata"]["name"], d["spec"]["targetRef"]["kind"], d["spec"]["targetRef"]["name"],
             d["spec"]["targetRef"]["apiVersion"]) for d in yaml.safe_load_all(out)}
    assert status == 0 and made == {("plain-deployment", "Deployment", "plain", "apps/v1"),
                                    ("operated", "StatefulSet", "operated", "apps/v1"),
                                    ("lonely", "Rollout", "lonely", "plumb.example/v1")}, (made, err)
    assert "Deployment shop/under is left out: VPA broad, whose target is Deployment broad, takes its pods in" in err, err
    status, out, err = run("create", "-n", "shop", "--apply", "-o", "json")
    assert status == 0 and len(json.loads(out)["created"]) == 3, (out, err)
    status, out, err = run("create", "-n", "shop", "--apply")
    assert (status, out) == (0, "") and "every workload has a VPA already" in err, (out, err)

    for word in ("deploy/inner", "deploy/labelled"):
        status, out, err = run("diff", word, "-n", "shop")
        assert status == 0 and out == "- app.requests.cpu: 100m\n+ app.requests.cpu: 250m\n", (word, out, err)
    status, out, err = run("diff", "deploy/under", "-n", "shop")
    assert status == 1 and "VPA broad, whose target is Deployment broad, only learns from them" in err, (out, err)
    cluster.plane.faults({"method": "GET", "path": "/deployments", "status": 403}, {"method": "GET", "path": "/pods", "status": 403})
    status, out, err = run("create", "-n", "shop", "-o", "json")
    assert (status, json.loads(out)["items"]) == (1, []), (status, out)
    assert "not allowed to list deployments" in err and "pods" in err, err
    cluster.plane.faults({"method": "GET", "path": "/verticalpodautoscalers", "status": 403})
    status, out, err = run("create", "-n", "shop")
    assert (status, out) == (1, "") and "verticalpodautoscalers" in err, (out, err)
    cluster.plane.faults()

    definition = client.get("CustomResourceDefinition", "verticalpodautoscalers.autoscaling.k8s.io")
    for version in definition["spec"]["versions"]:
        version["schema"]["openAPIV3Schema"] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    client.merge("CustomResourceDefinition", definition["metadata"]["name"], {"spec": {"versions": definition["spec"]["versions"]}})
    workload("Deployment", "odd", {"app": "odd"})
    client.create({"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler",
                   "metadata": {"name": "unreadable", "namespace": "shop"},
                   "spec": {"updatePolicy": "odd", "targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "odd"}}})
    status, out, err = run("create", "-n", "shop")
    assert (status, out) == (0, "") and "unreadable is passed over" in err and "every workload has a VPA already" in err, (out, err)


scenario_cli_governed.tiers, scenario_cli_governed.why = ["sim"], "who owns what is read the same on both; the walk up is tested on both elsewhere"


# ---- the page in a browser ----

DRIVE = """
  const rows = document.getElementById("rows"), filter = document.getElementById("filter");
  const column = name => Array.from(rows.tHead.rows[0].cells).findIndex(c => c.textContent === name);
  const values = name => Array.from(rows.tBodies[0].rows).filter(r => !r.hidden).map(r => Number(r.cells[column(name)].dataset.v));
  const button = name => rows.tHead.rows[0].cells[column(name)].querySelector("button");
  const shown = () => parseInt(document.getElementById("count").textContent);
  const got = { all: shown(), laid: values("CPU").length };
  document.getElementById("more").click();
  got.more = values("CPU").length;
  button("CPU lacks").focus();
  got.focus = document.activeElement.textContent;
  button("CPU lacks").click();
  got.descending = values("CPU lacks").every((v, i, all) => i === 0 || all[i - 1] >= v);
  got.sort = button("CPU lacks").parentElement.getAttribute("aria-sort");
  button("CPU lacks").click();
  got.ascending = values("CPU lacks").every((v, i, all) => i === 0 || all[i - 1] <= v);
  filter.value = "app-7 c1";
  filter.dispatchEvent(new Event("input"));
  await pause(300);
  got.filtered = shown();
  got.names = Array.from(rows.tBodies[0].rows).filter(r => !r.hidden).every(r => r.textContent.includes("app-7") && r.textContent.includes("c1"));
  got.count = document.getElementById("count").textContent;
  filter.value = "";
  filter.dispatchEvent(new Event("input"));
  document.getElementById("only").value = "bare";
  document.getElementById("only").dispatchEvent(new Event("change"));
  await pause(300);
  got.bare = shown();
  got.unnamed = Array.from(document.querySelectorAll("button, input, select, svg")).filter(e =>
    !(e.textContent.trim() || e.labels && e.labels.length || e.querySelector("title"))).length;
  got.overflow = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  return got;
"""


def keyboard(folder, address, width):
    """Tab leads from the top through the tools to every heading that is seen; Enter sorts by it; what is typed filters."""
    focus = "(document.activeElement.id || document.activeElement.className || document.activeElement.textContent)"
    column = ("(name => { const t = document.getElementById('rows'), c = Array.from(t.tHead.rows[0].cells).findIndex("
              "h => h.textContent === name); return {sort: t.tHead.rows[0].cells[c].getAttribute('aria-sort'), values: "
              "Array.from(t.tBodies[0].rows).slice(0, 50).map(r => Number(r.cells[c].dataset.v))}; })")
    with browser.Keyboard(folder, address, width, 800) as keys:
        seen = []
        while "CPU lacks" not in seen:
            keys.press("Tab")
            seen.append(keys.ask(focus))
            assert len(seen) < 40, seen
            if seen[-1] == "filter":
                keys.write("app-7 c1")
                shown = keys.ask("new Promise(done => { const look = setInterval(() => { const text = "
                                 "document.getElementById('count').textContent; if (!text.startsWith('5000')) {"
                                 " clearInterval(look); done(text); } }, 10); })")
                assert 0 < int(shown.split()[0]) < 1000, shown
        assert seen[:6] == ["skip", "12 more", "12 more", "filter", "only", "wrap"], seen
        assert ("VPA" in seen) == (width > 640), seen  # columns that a narrow screen does not show are not stopped at
        assert keys.ask("getComputedStyle(document.activeElement).outlineStyle") != "none"
        for order in ("descending", "ascending"):
            keys.press("Enter")
            got = keys.ask(f"{column}('CPU lacks')")
            assert got["sort"] == order and got["values"] == sorted(got["values"], reverse=order == "descending"), got
        assert keys.ask(focus) == "CPU lacks"


def scenario_cli_terminal(make):
    """top on a terminal: keys choose what a row is and its order, scroll, and end it."""
    tmux = shutil.which("tmux")
    if not tmux:
        raise make.skip("no tmux on this machine: top was not seen on a terminal")
    cluster = make(controllers=False, flags=(
        f"--load={ROOT / 'deploy/vpa-v1-crd-gen.yaml'}",
        "--generate=vpas=60,pods-per-vpa=1,containers=2,namespaces=2,checkpoints=0,metrics=1,mode=Recreate,recommended=1"))
    folder = cluster.processes.folder

    def terminal(*words):
        return subprocess.run([tmux, "-S", folder / "tmux", "-f", "/dev/null", *words], capture_output=True, text=True,
                              env={**os.environ, **cluster.env})
    program = f"{cluster.programs / 'kubectl-vpa'} top -A --kubeconfig={cluster.plane.kubeconfig}"
    started = terminal("new-session", "-d", "-x", "200", "-y", "20", f"{program}; echo ended $?; exec sleep 300")
    assert started.returncode == 0, started

    def screen(ready, what):
        last = []

        def look():
            last[:] = [terminal("capture-pane", "-p").stdout.splitlines()]
            return ready(last[0])
        try:
            until(look, 60, what)
        except Exception:
            raise AssertionError((what, last))
        return last[0]

    def press(key):
        terminal("send-keys", key)
    try:
        lines = screen(lambda s: len(s) == 20 and s[19], "the first screen")
        assert "by workload, order waste" in lines[0] and lines[1].startswith("NAMESPACE") and "Deployment/app-" in lines[2], lines
        press("NPage")
        below = screen(lambda s: s[2:] != lines[2:], "the next page")
        assert not set(below[3:]) & set(lines[2:19]) and below[1] == lines[1], (lines, below)
        press("c")
        screen(lambda s: "by container" in s[0], "containers")
        press("r")
        screen(lambda s: "order risk" in s[0], "the order of risk")
        press("s")
        rows = screen(lambda s: "by namespace" in s[0] and len(s) > 2, "namespaces")
        press("PPage")
        rows = screen(lambda s: [r.split()[0] for r in s[2:] if r] == ["ns-0", "ns-1"], "two namespaces")
        assert rows[1].startswith("NAMESPACE"), rows
        cluster.plane.faults({"method": "GET", "path": "/verticalpodautoscalers", "status": 403})
        press("n")
        screen(lambda s: "order name" in s[0], "rows without what may not be read")
        cluster.plane.faults()
        press("w")
        screen(lambda s: "order waste" in s[0], "whole rows again")
        press("q")
        ended = screen(lambda s: any(line.startswith("ended") for line in s), "the end")
        assert "ended 0" in ended and not any("note:" in line for line in ended), ended
    finally:
        terminal("kill-server")


scenario_cli_terminal.tiers, scenario_cli_terminal.why = ["sim"], "what a terminal shows is the same on both"


def scenario_cli_page(make):
    """report --html with 5,000 containers, and dash, in a browser: sorted, filtered, no console error, pictures of each width."""
    if not browser.PROGRAM:
        raise make.skip("no chromium on this machine")
    cluster = make(controllers=False, flags=(
        f"--load={ROOT / 'deploy/vpa-v1-crd-gen.yaml'}",
        "--generate=vpas=1000,pods-per-vpa=1,containers=5,namespaces=20,checkpoints=0,metrics=1,mode=Recreate,recommended=1"))
    folder, run = cluster.processes.folder, command_of(cluster)
    page = folder / "report.html"
    status, out, err = run("report", "-A", f"--html={page}")
    assert status == 0 and page.stat().st_size > 1 << 20, err
    found = browser.drive(folder, page, DRIVE)
    got = found["result"]
    assert found["seen"] == [], found["seen"]
    assert (got["all"], got["laid"], got["more"]) == (5000, 300, 1200) and got["descending"] and got["ascending"] and got["sort"] == "descending", got
    assert got["focus"] == "CPU lacks" and got["unnamed"] == 0 and got["overflow"] <= 0, got
    assert 0 < got["filtered"] < 1000 and got["names"] and got["count"] == f"{got['filtered']} of 5000 containers", got
    assert got["bare"] == 0, got
    make.say(f"5,000 containers: the page was complete after {found['loaded']:.0f} ms")
    for name, width, height, dark in (("narrow", 400, 800, False), ("middle", 1280, 900, False), ("dark", 1280, 900, True),
                                      ("wide", 4000, 1400, False)):
        make.say(f"picture: {browser.picture(folder, page.as_uri(), name, width, height, dark)}")

    for width in (400, 1280):
        keyboard(folder, page.as_uri(), width)
    served = cluster.processes.start("dash", [cluster.programs / "kubectl-vpa", "dash", "-n", "ns-0",
                                              f"--kubeconfig={cluster.plane.kubeconfig}"], cluster.env)
    until(lambda: re.search(r"http://\S+", served.text()), 30, "the address of the page")
    address = re.search(r"http://\S+", served.text()).group()
    client = Client(address)
    path = urllib.parse.urlsplit(address).path
    assert client.raw("GET", path)[0] == 200
    assert client.raw("GET", path, headers={"Host": "evil.example"})[0] == 403
    assert client.raw("GET", path[:-1])[0] == 403 and client.raw("GET", "/")[0] == 403
    assert client.raw("POST", path, b"")[0] == 405
    make.say(f"picture: {browser.picture(folder, address, 'dash', 1280, 900)}")
    assert served.stop() == 0


scenario_cli_page.tiers, scenario_cli_page.why = ["sim"], "what a browser shows is the same on both"


def cost(cluster, *words):
    """(seconds of work, MiB resident at most) of one run whose output nobody reads. A child of this interpreter would count
    the interpreter's memory as its own, one of GNU time does not."""
    figures = cluster.processes.folder / "cost"
    subprocess.run(["/usr/bin/time", "-f", "%U %S %M", "-o", figures, cluster.programs / "kubectl-vpa", *words,
                    f"--kubeconfig={cluster.plane.kubeconfig}"],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, **cluster.env}, timeout=180)
    user, system, size = figures.read_text().split()
    return float(user) + float(system), int(size) / 1024


def scenario_cli_large(make):
    """A table of 5,000 containers takes less than a second of work and 60 MiB: report, top and why of all namespaces."""
    if make.preset != "release":
        raise make.skip("the figures are those of the release build")
    if not os.access("/usr/bin/time", os.X_OK):
        raise make.skip("no GNU time on this machine: apt-get install time")
    cluster = make(controllers=False, flags=(
        f"--load={ROOT / 'deploy/vpa-v1-crd-gen.yaml'}",
        "--generate=vpas=1000,pods-per-vpa=1,containers=5,namespaces=20,checkpoints=0,metrics=1,mode=Recreate,recommended=1"))
    rows = command_of(cluster)("report", "-A", "-o", "json")[1]
    assert len(json.loads(rows)["rows"]) == 5000
    for word in ("report", "top", "why"):
        seconds, size = cost(cluster, word, "-A")
        make.say(f"{word} of 5,000 containers: {seconds:.2f} s of work, {size:.0f} MiB")
        assert seconds < 1 and size < 60, (word, seconds, size)


scenario_cli_large.preset = "release"
scenario_cli_large.tiers, scenario_cli_large.why = ["sim"], "objects that the simulator makes by itself"


# ---- targets from history ----

class Prometheus(http.server.BaseHTTPRequestHandler):
    """Answers range queries with a steady usage of given pods; keeps what it was asked."""
    def do_POST(self):
        form = urllib.parse.parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        query, start, end = form["query"][0], float(form["start"][0]), float(form["end"][0])
        self.server.asked.append((self.path, query))
        step = 3600
        result = [{"metric": {"namespace": "shop", "pod": pod, "container": "app"},
                   "values": [[t, str(cpu if "cpu" in query else memory)] for t in range(int(start), int(end), step)]}
                  for pod, cpu, memory in self.server.usage]
        body = json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass


def scenario_cli_history(make):
    """report of workloads without a VPA: targets by the algorithms over Prometheus' history, as table, CSV, JSON and pictures."""
    cluster = make(controllers=False, flags=("--no-service-account",))
    client, run = cluster.client, command_of(cluster)
    cluster.install()
    client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    for name in ("known", "unknown"):
        owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name, "uid": "u", "controller": True}
        labels = {"app": name}
        made = client.create({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {
            "name": f"{name}-5d4f8", "namespace": "shop", "ownerReferences": [owner]}, "spec": {
                "replicas": 2, "selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": {
                    "containers": [{"name": "app", "image": "app"}]}}}})
        for pod in ("aaaaa", "bbbbb"):
            client.create({"apiVersion": "v1", "kind": "Pod", "metadata": {
                "name": f"{name}-5d4f8-{pod}", "namespace": "shop", "labels": labels, "ownerReferences": [
                    {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"{name}-5d4f8", "uid": made["metadata"]["uid"],
                     "controller": True}]},
                "spec": {"containers": [{"name": "app", "image": "app", "resources": {"requests": {
                    "cpu": "2", "memory": "128Mi"}}}]}})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Prometheus)
    server.asked = []
    server.usage = [("known-5d4f8-aaaaa", 0.5, 512 << 20), ("known-5d4f8-gone1", 0.5, 512 << 20), ("foreign-0", 9, 9 << 30)]
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        address = f"--prometheus=http://127.0.0.1:{server.server_port}"
        for algorithm in ("vpa", "crane", "plumb"):
            status, out, err = run("report", "-n", "shop", "-o", "json", address, f"--algorithm={algorithm}")
            assert status == 0, err
            rows = {r["workload"]: r for r in json.loads(out)["rows"]}
            row = rows["known"]
            assert "target" not in rows["unknown"] and "algorithm" not in rows["unknown"], rows
            assert row["algorithm"] == algorithm and row["pods"] == 2, row
            cpu, memory = row["target"]["cpu_millicores"] / 2, row["target"]["memory_bytes"] / 2
            make.say(f"{algorithm}: {cpu:.0f}m and {memory / 2**20:.0f}Mi for a steady 500m and 512Mi")
            assert 450 <= cpu <= 900 and 500 << 20 <= memory <= 900 << 20, row
            assert row["saves"]["cpu_millicores"] == 4000 - 2 * cpu and row["lacks"]["memory_bytes"] == 2 * memory - (256 << 20), row
        assert {p for p, _ in server.asked} == {"/api/v1/query_range"}, server.asked
        assert all('namespace="shop"' in q and 'job="kubelet"' in q for _, q in server.asked), server.asked[:2]
        assert run("report", "-n", "shop", "-o", "csv", address)[1].splitlines()[1].endswith(",vpa")
        assert "Deployment/known" in run("report", "-n", "shop", "--sort=risk", address)[1].splitlines()[1]
        page = cluster.processes.folder / "history.html"
        status, out, err = run("report", "-n", "shop", address, "--algorithm=plumb", f"--html={page}")
        assert status == 0, err
        text = page.read_text()
        assert text.count("<polyline") == 2 and "shop / known / app (by plumb)" in text and "CPU over time: at most 1, requested 4" in text
        if browser.PROGRAM:
            make.say(f"picture: {browser.picture(cluster.processes.folder, page.as_uri(), 'history', 1280, 1400)}")
        server.usage = [("known-5d4f8-aaaaa", "NaN", "NaN")]
        rows = json.loads(run("report", "-n", "shop", "-o", "json", address)[1])["rows"]
        assert not any("target" in r for r in rows), rows
        assert run("report", address, "--algorithm=guess")[0] == 1
        assert run("report", address, "--recommender-flags=--history-length=x")[0] == 1
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    status, out, err = run("report", "-n", "shop", address)
    assert status == 1 and out == "" and "cannot get usage history" in err, (out, err)


scenario_cli_history.tiers, scenario_cli_history.why = ["sim"], "the past of the simulated clock"


# ---- the guide ----

GUIDE = ROOT / "docs/guide/kubectl-vpa.md"


def scenario_cli_guide(make):
    """What the guide shows is what the commands print."""
    cluster = make(controllers=False, flags=(
        f"--load={ROOT / 'deploy/vpa-v1-crd-gen.yaml'}",
        "--generate=vpas=2,pods-per-vpa=2,containers=1,namespaces=1,checkpoints=1,metrics=0,mode=Recreate,recommended=1"))
    run = command_of(cluster)
    cluster.client.create({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {
        "name": "vpa-admission-controller", "namespace": "kube-system"}, "spec": {
            "renewTime": cluster.plane.now()[:19] + ".000000Z"}})
    blocks = re.findall(r"^```console\n\$ kubectl vpa ([^\n]*)\n(.*?)^```", GUIDE.read_text(), re.S | re.M)
    assert len(blocks) >= 5, len(blocks)
    for words, shown in blocks:
        status, out, err = run(*words.split())
        assert status == 0 and out == shown, (words, out, shown, err)


scenario_cli_guide.tiers, scenario_cli_guide.why = ["sim"], "the guide shows the demo's cluster"
scenario_cli_doctor.each_minor = True


# ---- the examples ----

def examples(run):
    """Every command line that --help of a command or the guide gives as an example: {the line: where it stands}."""
    commands = re.findall(r"^  (\w+) ", run("--help")[1].split("Commands:\n")[1].split("\n\n")[0], re.M)
    assert len(commands) >= 12, commands
    found = {line: "the guide" for line in re.findall(r"^    (kubectl vpa .*?)(?:   .*)?$", GUIDE.read_text(), re.M)}
    for command in commands:
        status, out, err = run(command, "--help")
        own = re.findall(r"^  ((?:kubectl vpa|source) [^\n]*)(?<!\|)$", out.replace("|\n   ", "|"), re.M)
        assert status == 0 and own, (command, out, err)
        found.update({line: f"{command} --help" for line in own})
    assert {line.split("kubectl vpa ")[1].split()[0] for line in found} >= set(commands), (found, commands)
    return found


def demo(client):
    """What the examples name: a Deployment web in shop with pod, VPA, recommendation and checkpoint, and one without a VPA."""
    client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    container = {"name": "app", "image": "app", "resources": {"requests": {"cpu": "100m", "memory": "100Mi"}}}
    for name in ("web", "bare"):
        spec = {"replicas": 1, "selector": {"matchLabels": {"app": name}}, "template": {
            "metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}}}
        owner = None
        for kind, suffix in (("Deployment", ""), ("ReplicaSet", "-5d4f8")):
            made = client.create({"apiVersion": "apps/v1", "kind": kind, "spec": spec, "metadata": {
                "name": name + suffix, "namespace": "shop", "ownerReferences": [owner] if owner else []}})
            owner = {"apiVersion": "apps/v1", "kind": kind, "name": name + suffix, "uid": made["metadata"]["uid"], "controller": True}
        client.create({"apiVersion": "v1", "kind": "Pod", "metadata": {
            "name": f"{name}-5d4f8", "namespace": "shop", "labels": {"app": name}, "ownerReferences": [owner]},
            "spec": {"nodeName": "node", "containers": [container]}})
    client.create({"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler", "metadata": {"name": "web", "namespace": "shop"},
                   "spec": {"targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}})
    amounts = {"cpu": "250m", "memory": "150Mi"}
    client.merge("VerticalPodAutoscaler", "web", {"status": {"recommendation": {"containerRecommendations": [
        {"containerName": "app", "target": amounts, "lowerBound": amounts, "upperBound": amounts}]}}}, "shop", "status")
    client.create({"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscalerCheckpoint",
                   "metadata": {"name": "web-app", "namespace": "shop"}, "spec": {"vpaObjectName": "web", "containerName": "app"},
                   "status": {"version": "v3", "totalSamplesCount": 900, "firstSampleStart": "2026-02-20T00:00:00Z",
                              "lastSampleStart": "2026-03-01T00:00:00Z",
                              "cpuHistogram": {"bucketWeights": {"3": 10000}, "totalWeight": 12.5},
                              "memoryHistogram": {"bucketWeights": {"7": 10000}, "totalWeight": 9.0}}})


def scenario_cli_examples(make):
    """Every example of every --help and of the guide, run as it stands there by a shell on the demo's cluster."""
    cluster = make(controllers=False, flags=("--no-service-account",))
    run, folder = command_of(cluster), cluster.processes.folder
    cluster.install()
    demo(cluster.client)
    work, tools = folder / "work", folder / "tools"
    (work / "traces").mkdir(parents=True)
    tools.mkdir()
    if not shutil.which("kubectl"):
        (tools / "kubectl").write_text('#!/bin/sh\n[ "$1" = vpa ] || exec cat\nshift\nexec kubectl-vpa "$@"\n')
        (tools / "kubectl").chmod(0o755)
        make.say("kubectl is not installed: the plugin was run by its own name")
    usage = "timestamp_seconds,cpu_cores,memory_bytes\n" + "".join(
        f"{1772323200 + 300 * i},{0.1 + 0.05 * (i % 7)},{(200 + i % 11) << 20}\n" for i in range(600))
    for file in ("week.csv", "traces/week.csv"):
        (work / file).write_text(usage)
    (work / "shop.top").write_text("".join(
        f"{1772323200 + 60 * i}\nPOD   NAME   CPU(cores)   MEMORY(bytes)\nweb-5d4f8   app   {100 + i % 7}m   {200 + i % 11}Mi\n" for i in range(60)))
    (work / "vpa.yaml").write_text(yaml.safe_dump({"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler", "metadata": {
        "name": "web"}, "spec": {"targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}}))
    config = yaml.safe_load(open(cluster.plane.kubeconfig))
    config["contexts"].append({"name": "upstream", "context": config["contexts"][0]["context"]})
    (folder / "contexts").write_text(json.dumps(config))
    env = {**os.environ, **cluster.env, "KUBECONFIG": str(folder / "contexts"),
           "PATH": f"{cluster.programs}:{tools}:{os.environ['PATH']}"}
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Prometheus)
    server.asked, server.usage = [], [("bare-5d4f8", 0.5, 512 << 20)]
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    lines = examples(run)
    try:
        for line, where in lines.items():
            if line == "kubectl vpa dash -A":
                served = cluster.processes.start("dash", [cluster.programs / "kubectl-vpa", "dash", "-A"], env)
                until(lambda: re.search(r"http://127.0.0.1:\S+", served.text()), 60, "the address of the page")
                assert served.stop() == 0
                continue
            words = line.replace("127.0.0.1:9090", f"127.0.0.1:{server.server_port}").replace("127.0.0.1:8943", f"127.0.0.1:{free_port()}")
            done = subprocess.run(["bash", "-o", "pipefail", "-c", words], cwd=work, env=env, stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, timeout=180)
            status = {0, 1} if " doctor" in line else {0}  # 1: what it looks at has errors, as here, where no daemon runs
            assert done.returncode in status and "Sanitizer" not in done.stderr, (where, line, done)
            silent = ">" in line or " drive " in line or line.startswith("source") or "--html" in line or " -A --mode" in line
            assert done.stdout or silent, (where, line, done)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    files = {f.name for f in work.iterdir()}
    assert {"web.svg", "report.html", "vpas.yaml", "week.svg"} <= files, files
    make.say(f"{len(lines)} examples")


scenario_cli_examples.tiers, scenario_cli_examples.why = ["sim"], "the guide shows the demo's cluster"
