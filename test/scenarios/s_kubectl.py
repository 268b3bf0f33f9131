"""kubectl against the cluster, as an administrator uses it."""
import json
import os
import shutil
import subprocess

from cluster import ROOT, until
from s_recommend import NAMESPACE, start_workloads


def kubectl_of(cluster, factory, built=False):
    """A function that runs kubectl: the machine's own, or the one built with the control plane."""
    program = cluster.plane.assets.get("kubectl") if built else shutil.which("kubectl")
    if not program:
        raise factory.skip("no kubectl on this machine")

    def run(*arguments, text=None, fails=False):
        done = subprocess.run([program, f"--kubeconfig={cluster.plane.kubeconfig}",
                               f"--cache-dir={cluster.processes.folder / 'kubectl-cache'}", *arguments],
                              input=text, capture_output=True, text=True, timeout=180,
                              env={**os.environ, "HOME": str(cluster.processes.folder)})
        assert (done.returncode != 0) == fails, (arguments, done.stdout, done.stderr)
        return done.stdout + (done.stderr if fails else "")
    return run


def scenario_kubectl(make):
    """get, describe, apply (client side, server side, -k of the manifests), patch, top, get -w, diff, explain, delete."""
    use_kubectl(make, False)


def scenario_kubectl_built(make):
    """The same with the kubectl of the control plane's own version."""
    use_kubectl(make, True)


scenario_kubectl_built.tiers = ["real"]
scenario_kubectl_built.why = "kubectl is built with a control plane"


def use_kubectl(make, built):
    cluster = make(rate=60.0, fresh=True)
    kubectl = kubectl_of(cluster, make, built)
    out = kubectl("apply", "-k", str(ROOT / "deploy"))
    assert "customresourcedefinition.apiextensions.k8s.io/verticalpodautoscalers.autoscaling.k8s.io created" in out, out
    assert "deployment.apps/vpa-recommender created" in out, out
    start_workloads(cluster)
    for daemon in ("recommender", "updater", "admission-controller"):
        kubectl("-n", "kube-system", "scale", "deployment", f"vpa-{daemon}", "--replicas=0")
    cluster.start_daemon("recommender", "--recommender-interval=" + ("1m" if cluster.tier == "sim" else "5s"))
    until(lambda: cluster.recommendation(NAMESPACE, "mongodb"), 90, "a recommendation")
    table = kubectl("-n", NAMESPACE, "get", "vpa")
    header, *rows = table.splitlines()
    assert header.split() == ["NAME", "MODE", "CPU", "MEM", "PROVIDED", "AGE"], table
    mongodb = next(r.split() for r in rows if r.startswith("mongodb"))
    assert mongodb[1] == "InPlaceOrRecreate" and mongodb[4] == "True", mongodb
    described = kubectl("-n", NAMESPACE, "describe", "vpa", "mongodb")
    for text in ("Container Recommendations:", "Lower Bound:", "Uncapped Target:", "RecommendationProvided"):
        assert text in described, described
    assert "configured" in kubectl("apply", "-f", "-", text=json.dumps({
        "apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler",
        "metadata": {"name": "web", "namespace": NAMESPACE},
        "spec": {"targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
                 "updatePolicy": {"updateMode": "Initial"}}}))
    assert "patched" in kubectl("-n", NAMESPACE, "patch", "vpa", "web", "--type=merge", "-p",
                                '{"spec":{"updatePolicy":{"minReplicas":1}}}')
    assert cluster.client.get("VerticalPodAutoscaler", "web", NAMESPACE)["spec"]["updatePolicy"] == {
        "updateMode": "Initial", "minReplicas": 1}
    until(lambda: len(cluster.client.list("PodMetrics", NAMESPACE)) > 5, 60, "usage of the pods")
    top = kubectl("-n", NAMESPACE, "top", "pods")
    assert "mongodb-0" in top and "Mi" in top, top
    wide = kubectl("-n", NAMESPACE, "get", "pods", "-o", "wide")
    assert "Running" in wide and "node-" in wide, wide
    watched = kubectl("-n", NAMESPACE, "get", "vpa", "web", "-w", "--request-timeout=10s")
    assert watched.splitlines()[1].startswith("web"), watched
    refused = kubectl("apply", "-f", "-", fails=True, text=json.dumps({
        "apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler",
        "metadata": {"name": "bad", "namespace": NAMESPACE},
        "spec": {"targetRef": {"kind": "Deployment", "name": "web"}, "updatePolicy": {"updateMode": "Sometimes"}}}))
    assert 'Unsupported value: "Sometimes"' in refused, refused
    assert "targetRef" in kubectl("explain", "vpa.spec")
    wide = kubectl("-n", NAMESPACE, "get", "vpa", "-o", "wide").splitlines()[0].split()
    assert wide == ["NAME", "MODE", "CPU", "MEM", "PROVIDED", "AGE", "MINREPLICAS", "OOMSECONDS"], wide
    manifest = json.dumps({
        "apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler",
        "metadata": {"name": "sides", "namespace": NAMESPACE},
        "spec": {"targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
                 "recommenders": [{"name": "nobody"}],  # whose status would differ as well
                 "updatePolicy": {"updateMode": "Initial"}}})
    assert "serverside-applied" in kubectl("apply", "--server-side", "-f", "-", text=manifest)
    assert kubectl("diff", "-f", "-", "--server-side", text=manifest) == ""
    other = kubectl("diff", "-f", "-", "--server-side", text=manifest.replace("Initial", "Off"), fails=True)
    assert "-    updateMode: Initial" in other and '+    updateMode: "Off"' in other, other
    conflict = kubectl("apply", "--server-side", "--field-manager=other", "-f", "-", fails=True,
                       text=manifest.replace("Initial", "Off"))
    assert 'conflict with "kubectl": .spec.updatePolicy.updateMode' in conflict, conflict
    assert "serverside-applied" in kubectl("apply", "--server-side", "-k", str(ROOT / "deploy"), "--force-conflicts")
    assert "deleted" in kubectl("-n", NAMESPACE, "delete", "vpa", "web")


scenario_kubectl.each_minor = True


def scenario_conditions_left(make):
    """The command of the installation page takes away the conditions that upstream would keep for ever, and nothing else."""
    cluster = make(fresh=True)
    cluster.install()
    kubectl = kubectl_of(cluster, make)
    if not shutil.which("jq"):
        raise make.skip("no jq on this machine")
    kubectl("create", "namespace", NAMESPACE)
    ours, theirs = ("EvictionsPaused", "Algorithm"), ("RecommendationProvided", "LowConfidence")
    both = {name: [{"type": t, "status": "True", "lastTransitionTime": "2026-03-02T06:00:00Z", "message": "with \"quotes\" and  blanks"}
                   for t in types] for name, types in (("mixed", (*ours, *theirs)), ("upstream", theirs), ("none", ()))}
    for name, conditions in both.items():
        kubectl("apply", "-f", "-", text=json.dumps({
            "apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler", "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {"targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}}}))
        kubectl("patch", "vpa", name, "-n", NAMESPACE, "--type=merge", "--subresource=status", "-p",
                json.dumps({"status": {"recommendation": {"containerRecommendations": []}, "conditions": conditions}}))
    before = cluster.client.get("VerticalPodAutoscaler", "upstream", NAMESPACE)
    page = (ROOT / "docs/install.md").read_text()
    command = page[page.index("ours='["):].partition("```")[0].replace("kubectl ", f"kubectl --kubeconfig={cluster.plane.kubeconfig} ")
    subprocess.run(["bash", "-euo", "pipefail", "-c", command], check=True, timeout=120, stdout=subprocess.DEVNULL,
                   env={**os.environ, "HOME": str(cluster.processes.folder)})
    status = {name: cluster.client.get("VerticalPodAutoscaler", name, NAMESPACE)["status"] for name in both}
    assert status["mixed"] == {**status["upstream"], "conditions": both["mixed"][2:]}, status["mixed"]
    assert cluster.client.get("VerticalPodAutoscaler", "upstream", NAMESPACE) == before, "written for nothing"
