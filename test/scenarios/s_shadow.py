"""Beside another installation: a shadow decides, compares and writes nothing; then the switch, and back."""
import base64
import re

from bed import NAMESPACE as BED
from bed import Bed
from cluster import until
from s_recommend import NAMESPACE, start_workloads

READS = ("get", "list", "watch")
ROW = re.compile(r"^(target|lowerBound|upperBound) +(cpu|memory) +(\d+) +(\d+) +(\d+) +(\d+) +(\d+)", re.M)


def written_by(cluster, daemon):
    return {call: n for call, n in cluster.plane.requests(f"vpa-{daemon}").items() if call[0] not in READS}


def scenario_shadow(make):
    """A shadow of the recommender agrees with the other one and writes nothing; then it takes over, and goes back."""
    cluster = make(rate=240.0)
    start_workloads(cluster, "Off")
    names = ("mongodb", "etcd", "orders", "web")
    cluster.start_daemon("recommender")
    other = cluster.daemons.pop("recommender")
    until(lambda: all(cluster.recommendation(NAMESPACE, n) for n in names), 60, "first recommendations of the other")
    shadow = cluster.start_daemon("recommender", "--shadow")
    cluster.wait_passes("recommender", 20)
    series = 'vpa_recommender_shadow_relative_difference_count{bound="target",resource="cpu"}'
    assert cluster.metrics("recommender").get(series, 0) >= len(names), cluster.metrics("recommender")
    other.stop()
    cluster.plane.requests("x", reset=True)
    cluster.wait_passes("recommender", 3)
    assert not written_by(cluster, "recommender"), written_by(cluster, "recommender")
    shadow.stop()
    rows = {(bound, of): [int(n) for n in numbers] for bound, of, *numbers in ROW.findall(shadow.text())}
    assert len(rows) == 6, shadow.text()[-2000:]
    for of in ("cpu", "memory"):
        values, _, _, _, within_10 = rows["target", of]
        assert values >= len(names) and within_10 >= values - 1, rows
    make.say("\n".join(shadow.text()[shadow.text().rindex("shadow: "):].splitlines()))

    def samples():
        found = cluster.client.get("VerticalPodAutoscalerCheckpoint", "web-web", NAMESPACE)
        return found.get("status", {}).get("totalSamplesCount", 0)
    for again in (cluster.start_daemon("recommender"), other):  # the switch, and back: the history goes on
        before = until(samples, 60, "a history")
        if again is other:
            other.start()
        until(lambda: samples() > before, 60, "the history grows")
        again.stop()


scenario_shadow.tiers = ["sim"]
scenario_shadow.why = "counts requests, hours of cluster time"


def scenario_shadow_updater(make):
    """A shadow of the updater says whom it would evict and resize, and changes nothing; without --shadow it does both."""
    bed = Bed(make, rate=10.0, updater=None)
    for name, mode in (("evict", "Recreate"), ("resize", "InPlaceOrRecreate")):
        bed.workload(name, {"cpu": "100m", "memory": "100Mi"})
        bed.vpa(name, mode)
        bed.recommend(name, cpu="500m", memory="500Mi")
    pods = {name: bed.pods(name) for name in ("evict", "resize")}

    def state(name):
        return [(p["metadata"]["uid"], p["spec"]["containers"][0]["resources"]) for p in bed.pods(name)]
    before = {name: state(name) for name in pods}
    shadow = bed.start_updater("--shadow")
    until(lambda: all(any(pod["metadata"]["name"] in shadow.text() for pod in of) for of in pods.values()), 60,
          "both are decided on")
    bed.cluster.wait_passes("updater", 3)
    assert {name: state(name) for name in pods} == before
    assert not bed.events("EvictedByVPA"), bed.client.list("Event", BED)
    assert any("eviction" in call[1] for call in written_by(bed.cluster, "updater")), "it asked"
    shadow.stop()
    bed.start_updater()
    until(lambda: {u for u, _ in before["evict"]} - bed.uids("evict"), 60, "the real one evicts")


scenario_shadow_updater.tiers = ["sim"]
scenario_shadow_updater.why = "counts requests"


def scenario_shadow_webhook(make):
    """A shadow of the webhook says what it would patch and refuse, and answers without a change; its registration is the
    operator's, under a name of its own, and is left as it is."""
    bed = Bed(make, rate=10.0, updater=None)
    name = "vpa-webhook-config-shadow"
    bed.cluster.start_daemon("admission-controller", "--shadow", f"--webhook-config-name={name}")
    shadow = bed.cluster.daemons["admission-controller"]
    until(lambda: "Serving the webhook" in shadow.text(), 30, "the shadow listens")
    ca = base64.b64encode((bed.cluster.processes.folder / "webhook-certs/caCert.pem").read_bytes()).decode()
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]},
             {"apiGroups": ["autoscaling.k8s.io"], "apiVersions": ["*"], "resources": ["verticalpodautoscalers"],
              "operations": ["CREATE", "UPDATE"]}]
    made = bed.client.create({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration", "metadata": {"name": name},
        "webhooks": [{"name": "shadow.k8s.io", "admissionReviewVersions": ["v1"], "sideEffects": "None",
                      "failurePolicy": "Ignore", "rules": rules,
                      "clientConfig": {"url": f"https://127.0.0.1:{bed.cluster.webhook_port}", "caBundle": ca}}]})
    bed.vpa("web", "Initial")
    bed.recommend("web", cpu="500m", memory="500Mi")
    bed.workload("web", {"cpu": "100m", "memory": "100Mi"})

    def would_patch():
        """The first pods may have been faster than its watches: others follow."""
        if "Shadow: would patch" not in shadow.text():
            for pod in bed.pods("web")[:1]:
                bed.client.delete("Pod", pod["metadata"]["name"], BED)
        return "Shadow: would patch" in shadow.text()
    until(would_patch, 30, "it would patch a pod")
    bed.client.create({"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler",
                       "metadata": {"name": "wrong", "namespace": BED}, "spec": {
                           "targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "none"},
                           "resourcePolicy": {"containerPolicies": [
                               {"containerName": "a", "minAllowed": {"cpu": "2"}, "maxAllowed": {"cpu": "1"}}]}}})
    until(lambda: "Shadow: would refuse" in shadow.text(), 30, "it would refuse a VPA")
    for pod in bed.pods("web"):
        assert pod["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "100m", "memory": "100Mi"}, pod
    assert not bed.client.find("MutatingWebhookConfiguration", "vpa-webhook-config")
    assert bed.client.find("MutatingWebhookConfiguration", name)["metadata"]["uid"] == made["metadata"]["uid"]
    assert not bed.client.find("Lease", "vpa-admission-controller", "kube-system"), "the updater must not rest on it"


scenario_shadow_webhook.tiers = ["sim"]
scenario_shadow_webhook.why = "the simulator's clock"
