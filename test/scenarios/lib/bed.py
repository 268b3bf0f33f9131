"""A small cluster for scenarios about single decisions: one node, the updater (and the webhook where it is needed), no
recommender; the scenario writes recommendations itself. Runs on the simulator and on a real API server alike."""
import collections
import datetime
import json
import time

from cluster import until
from formulas import parse_quantity
from kube import ApiError

NAMESPACE = "bed"
IN_PLACE_MODES = ("InPlaceOrRecreate", "InPlace")


def annotations_of(pod):
    return pod["metadata"].get("annotations") or {}


def resources_of(pod, index=0):
    """(requests, limits) of the spec as numbers."""
    found = pod["spec"]["containers"][index].get("resources") or {}
    return tuple({k: parse_quantity(v) for k, v in (found.get(part) or {}).items()} for part in ("requests", "limits"))


def actual_of(pod, container=None):
    """(requests, limits) of the status as numbers: what the container runs with."""
    statuses = pod["status"].get("containerStatuses") or []
    status = next((s for s in statuses if container in (None, s["name"])), {})
    found = status.get("resources") or {}
    return tuple({k: parse_quantity(v) for k, v in (found.get(part) or {}).items()} for part in ("requests", "limits"))


def condition(pod, kind):
    return next((c for c in pod["status"].get("conditions") or [] if c["type"] == kind), None)


def is_ready(pod):
    return (condition(pod, "Ready") or {}).get("status") == "True"


def marked(pod):
    """Containers with a marker of a startup boost."""
    return sorted(k.split("/", 1)[1] for k in annotations_of(pod) if k.startswith("vpaCpuStartupBoost/"))


def number(values):
    return {k: parse_quantity(v) for k, v in values.items()}


class Bed:
    def __init__(self, make, rate=1.0, node_cpu="16", node_memory="64Gi", webhook=False, sim_flags=(), updater=(),
                 admission=(), nodes=1, prove=False):
        self.rate = rate if make.tier == "sim" else 1.0
        self.cluster = make(rate=self.rate, flags=sim_flags)
        self.tier, self.client = self.cluster.tier, self.cluster.client
        self.is_sim = self.tier == "sim"
        # Does the API server itself refuse what a node can never hold?
        self.refuses_capacity = "--minor=34" not in sim_flags if self.is_sim else self.tier == "1.36"
        self.cluster.install()
        self.client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        self.cluster.start_fakelet(f"--nodes={nodes}", f"--node-cpu={node_cpu}", f"--node-memory={node_memory}",
                                   f"--tick={'200ms' if self.rate <= 1 else '1s'}")
        until(lambda: self.client.find("ServiceAccount", "default", NAMESPACE), 30, "the default service account")
        if webhook:
            self.start_webhook(*admission)
        self.proofs = () if prove else ("--prove-evictions=off",)  # most scenarios do without a webhook
        self.updater_flags = updater
        if updater is not None:
            self.start_updater(*updater)

    def start_webhook(self, *flags):
        self.cluster.start_daemon("admission-controller", *flags)

        def registered():
            found = self.client.find("MutatingWebhookConfiguration", "vpa-webhook-config")
            return found and f":{self.cluster.webhook_port}" in found["webhooks"][0]["clientConfig"].get("url", "")
        until(registered, 60, "the webhook has registered itself")

    def start_updater(self, *flags):
        return self.cluster.start_daemon("updater", f"--updater-interval={max(1, int(self.rate))}s",
                                         "--use-admission-controller-status=false", *self.proofs, *flags)

    @property
    def updater(self):
        return self.cluster.daemons["updater"]

    # ---- objects ----

    def workload(self, name, requests=None, limits=None, replicas=2, kind="Deployment", annotations=None, probe=False,
                 containers=None, resize_policy=None, ready=True, labels=None):
        """A Deployment or StatefulSet with one container named like it, or with the given ones. `labels`: more of its pods."""
        resources = {k: v for k, v in (("requests", requests), ("limits", limits)) if v}
        if containers is None:
            containers = [{"name": name, "image": "fakelet", "resources": resources}]
            if resize_policy:
                containers[0]["resizePolicy"] = [{"resourceName": r, "restartPolicy": p} for r, p in resize_policy.items()]
        if probe:
            for container in containers:
                container["readinessProbe"] = {"httpGet": {"path": "/", "port": 80}}
        spec = {"replicas": replicas, "selector": {"matchLabels": {"app": name}},
                "template": {"metadata": {"labels": {"app": name, **(labels or {})},
                                          "annotations": {f"fakelet.plumb/{k}": v for k, v in (annotations or {}).items()}},
                             "spec": {"containers": containers, "terminationGracePeriodSeconds": 1}}}
        if kind == "StatefulSet":
            spec["serviceName"] = name
        self.client.apply({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name, "namespace": NAMESPACE},
                           "spec": spec})
        if ready:
            until(lambda: len(self.pods(name)) == replicas and all(map(is_ready, self.pods(name))), 60,
                  f"{name} is ready")

    def vpa(self, name, mode, kind="Deployment", policies=None, target=None, create=False, **more):
        """`create` sends it as kubectl create does. `more` are further members of updatePolicy, or (startupBoost; selector, which
        stands instead of the target) of the spec."""
        spec = {"targetRef": {"apiVersion": "apps/v1", "kind": kind, "name": target or name}}
        if "selector" in more:
            spec = {"selector": more.pop("selector")}
        if mode:
            spec["updatePolicy"] = {"updateMode": mode}
        if "startupBoost" in more:
            spec["startupBoost"] = more.pop("startupBoost")
        if policies:
            spec["resourcePolicy"] = {"containerPolicies": policies}
        if more:
            spec["updatePolicy"].update(more)
        send = self.client.create if create else self.client.apply
        return send({"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler",
                     "metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec})

    def recommend(self, vpa, container=None, bounds=0.1, **target):
        """Writes a recommendation as the recommender would; bounds: distance of lower and upper bound."""
        def scaled(factor):
            return {k: f"{int(1000 * parse_quantity(v) * factor)}m" for k, v in target.items()}
        found = {"containerName": container or vpa, "target": target, "uncappedTarget": target,
                 "lowerBound": scaled(1 - bounds), "upperBound": scaled(1 + bounds)}
        others = []
        if container:
            others = [c for n, c in self.cluster.recommendation(NAMESPACE, vpa).items() if n != container]
        self.client.merge("VerticalPodAutoscaler", vpa, {"status": {"recommendation": {
            "containerRecommendations": others + [found]}}}, NAMESPACE, "status")

    # ---- what happened ----

    def now(self):
        """The time of the cluster, in seconds since 1970."""
        if not self.is_sim:
            return time.time()
        return datetime.datetime.fromisoformat(self.cluster.plane.now().replace("Z", "+00:00")).timestamp()

    def pods(self, name):
        return sorted((p for p in self.cluster.pods(NAMESPACE, app=name) if not p["metadata"].get("deletionTimestamp")),
                      key=lambda p: p["metadata"]["name"])

    def uids(self, name):
        return {p["metadata"]["uid"] for p in self.pods(name)}

    def events(self, reason, name=""):
        """How often an event was recorded for pods whose name begins with `name`."""
        return sum(e.get("count") or 1 for e in self.client.list("Event", NAMESPACE)
                   if e["reason"] == reason and e["involvedObject"]["name"].startswith(name))

    def calls(self, daemon="updater"):
        """Calls so far: {(verb, resource): n}; a subresource is part of the resource."""
        if self.is_sim:
            return collections.Counter(self.cluster.plane.requests(f"vpa-{daemon}"))
        found = collections.Counter()
        for line in self.cluster.plane.audit().splitlines():
            entry = json.loads(line)
            if entry["user"]["username"].endswith(f":vpa-{daemon}") and "objectRef" in entry:
                ref = entry["objectRef"]
                found[entry["verb"], "/".join(filter(None, (ref["resource"], ref.get("subresource"))))] += 1
        return found

    def resizes(self):
        return self.calls()["patch", "pods/resize"]

    def evictions(self):
        return self.calls()["create", "pods/eviction"]

    def metric(self, name, daemon="updater", **labels):
        """Sum of the series of that name with those labels."""
        return sum(value for series, value in self.cluster.metrics(daemon).items()
                   if series.split("{")[0] == name and all(f'{k}="{v}"' in series for k, v in labels.items()))

    def failures(self, vpa, reason):
        return self.metric("vpa_updater_failed_in_place_update_attempts_total", vpa_name=vpa, reason=reason)

    def passes(self, count):
        """Waits for so many whole passes of the updater from now on."""
        def done():
            return self.metric("vpa_updater_execution_latency_seconds_count", step="total")
        first = done()
        until(lambda: done() >= first + max(1, count + (count > 0)), 20 + 10 * count, f"{count} passes of the updater")

    def applied(self, name, requests, limits=None):
        """Every pod runs with these requests (and limits), by its status."""
        want, most = number(requests), number(limits or {})

        def check(pod):
            actual, bounds = actual_of(pod)
            return actual == want and (limits is None or bounds == most) and resources_of(pod)[0] == want
        return all(map(check, self.pods(name)))


__all__ = ["ApiError", "Bed", "IN_PLACE_MODES", "NAMESPACE", "actual_of", "annotations_of", "condition", "is_ready",
           "marked", "number", "resources_of", "until"]
