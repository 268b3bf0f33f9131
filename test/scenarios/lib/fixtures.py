"""What the acceptance cases work with: workloads named hamster, VPAs with seeded recommendations, and what became of the pods."""
import json

from cluster import until
from formulas import parse_quantity
from kube import path_of

KINDS = {"Deployment": "apps/v1", "ReplicationController": "v1", "Job": "batch/v1", "CronJob": "batch/v1",
         "ReplicaSet": "apps/v1", "StatefulSet": "apps/v1"}


def amounts(cpu=None, memory=None):
    return {k: v for k, v in (("cpu", cpu), ("memory", memory)) if v is not None}


def container(name="hamster", requests=None, limits=None):
    resources = {k: v for k, v in (("requests", requests), ("limits", limits)) if v}
    return {"name": name, "image": "fakelet", "resources": resources}


def recommendation(name="hamster", lower=None, upper=None, **target):
    """One entry of a recommendation; the bounds are the target unless given."""
    return {"containerName": name, "target": target, "lowerBound": lower or target, "upperBound": upper or target}


class Hamster:
    """A workload and a VPA in a namespace of their own; every case has one."""

    def __init__(self, cluster, namespace, kind="Deployment", name="hamster"):
        self.cluster, self.client, self.namespace = cluster, cluster.client, namespace
        self.kind, self.name = kind, name
        until(lambda: self.client.find("ServiceAccount", "default", namespace), 60, "the default service account")

    def create(self, containers=None, replicas=3, annotations=None, schedule="* * * * *"):
        containers = containers or [container(requests=amounts("100m", "100Mi"))]
        template = {"metadata": {"labels": {"app": self.name}, "annotations": annotations or {}},
                    "spec": {"containers": containers, "terminationGracePeriodSeconds": 1}}
        spec = {"replicas": replicas, "selector": {"matchLabels": {"app": self.name}}, "template": template}
        if self.kind == "ReplicationController":
            spec["selector"] = {"app": self.name}
        elif self.kind == "StatefulSet":
            spec.update(serviceName=self.name, podManagementPolicy="Parallel")
        elif self.kind in ("Job", "CronJob"):
            template["spec"]["restartPolicy"] = "Never"
            spec = {"parallelism": replicas, "completions": replicas, "backoffLimit": 20, "template": template}
            if self.kind == "CronJob":
                spec = {"schedule": schedule, "concurrencyPolicy": "Forbid", "jobTemplate": {"spec": spec}}
        self.client.create({"apiVersion": KINDS[self.kind], "kind": self.kind,
                            "metadata": {"name": self.name, "namespace": self.namespace}, "spec": spec})

    def change(self, annotations=None, **spec):
        """Annotations of the template (a rollout) or members of the spec."""
        if annotations:
            spec["template"] = {"metadata": {"annotations": annotations}}
        self.client.merge(self.kind, self.name, {"spec": spec}, self.namespace)

    def vpa(self, *recommendations, mode=None, name=None, policies=(), update=None, target=None, **spec):
        """Creates the VPA and seeds its recommendation. update: further members of updatePolicy."""
        name = name or self.name + "-vpa"
        spec["targetRef"] = {"apiVersion": target or KINDS[self.kind], "kind": self.kind, "name": self.name}
        if mode or update:
            spec["updatePolicy"] = {**({"updateMode": mode} if mode else {}), **(update or {})}
        if policies:
            spec["resourcePolicy"] = {"containerPolicies": list(policies)}
        self.client.create({"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler",
                            "metadata": {"name": name, "namespace": self.namespace}, "spec": spec})
        if recommendations:
            self.seed(*recommendations, name=name)

    def seed(self, *recommendations, name=None):
        self.client.request("PATCH", path_of("VerticalPodAutoscaler", name or self.name + "-vpa", self.namespace, "status"),
                            [{"op": "replace", "path": "/status", "value": {
                                "recommendation": {"containerRecommendations": list(recommendations)}}}],
                            "application/json-patch+json")

    def limit_range(self, kind, **bounds):
        self.client.create({"apiVersion": "v1", "kind": "LimitRange",
                            "metadata": {"name": "range", "namespace": self.namespace},
                            "spec": {"limits": [{"type": kind, **bounds}]}})

    # ---- what happened ----

    def pods(self):
        return [p for p in self.cluster.pods(self.namespace, app=self.name)
                if not p["metadata"].get("deletionTimestamp") and p["status"].get("phase") not in ("Succeeded", "Failed")]

    def uids(self):
        return {p["metadata"]["uid"] for p in self.pods()}

    def wait_pods(self, count, phase="Running", seconds=120):
        until(lambda: len(self.pods()) == count and all(p["status"].get("phase") == phase for p in self.pods()), seconds,
              f"{count} pods are {phase}")
        return self.pods()

    def wait_evicted(self, before, count=1, seconds=90):
        until(lambda: len(before - self.uids()) >= count, seconds, f"{count} pods evicted")

    def never_evicted(self, before, passes=4):
        self.cluster.wait_passes("updater", passes)
        assert before <= self.uids(), f"evicted: {before - self.uids()}"

    def wait_resized(self, before, seconds=60, check=None):
        """Some container's status shows other values, and all first pods are there."""
        start = {p["metadata"]["uid"]: statuses(p) for p in self.pods()}

        def resized():
            assert before <= self.uids(), f"evicted: {before - self.uids()}"
            now = {p["metadata"]["uid"]: statuses(p) for p in self.pods()}
            return any(now[u] != first for u, first in start.items()) if check is None else all(map(check, self.pods()))
        until(resized, seconds, "resized in place")


def statuses(pod):
    """[(requests, limits)] as the containers run."""
    return [tuple(json.dumps((s.get("resources") or {}).get(part), sort_keys=True) for part in ("requests", "limits"))
            for s in pod["status"].get("containerStatuses") or []]


def spec_of(pod, index=0):
    """(requests, limits) as numbers."""
    found = pod["spec"]["containers"][index].get("resources") or {}
    return tuple({k: parse_quantity(v) for k, v in (found.get(part) or {}).items()} for part in ("requests", "limits"))


def numbers(values):
    return {k: parse_quantity(v) for k, v in values.items()}
