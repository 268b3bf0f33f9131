"""Random sequences of requests over the kinds and verbs that the suite, kubectl and the scenarios use.

A sequence is made from a seed alone: the same seed gives the same requests. Names come from small pools, so that requests
meet: what was created is patched, resized, evicted, deleted twice. About one body in five is damaged on purpose.
A request is {"method", "path", "body"?, "type"?, "headers"?}; "@rv:PATH" and "@uid:PATH" in a body stand for what the
object at that path had when the request is sent ("0" and a foreign uid when there is none).
"""
import copy
import random

JSON, MERGE = "application/json", "application/merge-patch+json"
STRATEGIC, OPS, APPLY = ("application/strategic-merge-patch+json", "application/json-patch+json",
                         "application/apply-patch+yaml")
CUSTOM = ("verticalpodautoscalers", "verticalpodautoscalercheckpoints")
GROUPS = {
    "pods": "api/v1", "configmaps": "api/v1", "limitranges": "api/v1", "events": "api/v1",
    "serviceaccounts": "api/v1", "replicationcontrollers": "api/v1",
    "deployments": "apis/apps/v1", "replicasets": "apis/apps/v1", "statefulsets": "apis/apps/v1",
    "daemonsets": "apis/apps/v1", "jobs": "apis/batch/v1", "cronjobs": "apis/batch/v1",
    "poddisruptionbudgets": "apis/policy/v1", "leases": "apis/coordination.k8s.io/v1",
   
    "verticalpodautoscalers": "apis/autoscaling.k8s.io/v1",
    "verticalpodautoscalercheckpoints": "apis/autoscaling.k8s.io/v1",
}
KINDS = {
    "pods": "Pod", "configmaps": "ConfigMap", "limitranges": "LimitRange", "events": "Event",
    "serviceaccounts": "ServiceAccount", "replicationcontrollers": "ReplicationController",
    "deployments": "Deployment", "replicasets": "ReplicaSet", "statefulsets": "StatefulSet", "daemonsets": "DaemonSet",
    "jobs": "Job", "cronjobs": "CronJob", "poddisruptionbudgets": "PodDisruptionBudget", "leases": "Lease",
    "verticalpodautoscalers": "VerticalPodAutoscaler",
    "verticalpodautoscalercheckpoints": "VerticalPodAutoscalerCheckpoint",
}
# How often a sequence is about a kind.
WEIGHTS = {"pods": 10, "verticalpodautoscalers": 5, "poddisruptionbudgets": 4, "deployments": 3, "limitranges": 2,
           "configmaps": 2, "leases": 2, "statefulsets": 2, "verticalpodautoscalercheckpoints": 2}
NODES = ("node-a", "node-b")


def pick(r, *values):
    return r.choice(values)


def maybe(r, chance, target, key, value):
    if r.random() < chance:
        target[key] = value() if callable(value) else value


# ---- parts of objects ----

def labels(r):
    return {k: pick(r, "x", "y") for k in r.sample(("app", "tier", "team"), r.randint(1, 2))}


def selector(r):
    if r.random() < 0.7:
        return {"matchLabels": {"app": pick(r, "x", "y")}}
    return {"matchExpressions": [{"key": pick(r, "app", "tier"), "operator": pick(r, "In", "NotIn"),
                                  "values": r.sample(("x", "y", "z"), r.randint(1, 2))}]}


def meta(r, name):
    found = {"name": name}
    maybe(r, 0.6, found, "labels", lambda: labels(r))
    maybe(r, 0.4, found, "annotations", lambda: {pick(r, "note", "plumb.example/why"): pick(r, "", "text", "a\nb", "ü")})
    maybe(r, 0.12, found, "finalizers", lambda: r.sample(("plumb.example/keep", "plumb.example/hold"), r.randint(1, 2)))
    maybe(r, 0.08, found, "ownerReferences", lambda: [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "11111111-2222-3333-4444-555555555555"}])
    return found


CPU = ("100m", "0.1", "1", "250m", "1500m", "2", "0")
MEMORY = ("64Mi", "128Mi", "100M", "1Gi", "134217728", "0")


def amounts(r):
    found = {}
    maybe(r, 0.8, found, "cpu", lambda: pick(r, *CPU))
    maybe(r, 0.7, found, "memory", lambda: pick(r, *MEMORY))
    maybe(r, 0.05, found, "ephemeral-storage", "1Gi")
    return found


def resources(r):
    found = {}
    maybe(r, 0.8, found, "requests", lambda: amounts(r))
    if r.random() < 0.4:
        found["limits"] = {k: ("4" if k == "cpu" else "4Gi") for k in amounts(r)}
        if r.random() < 0.2:
            found["requests"] = dict(found["limits"])
    return found


def container(r, name):
    found = {"name": name, "image": pick(r, "busybox", "busybox:1.36", "registry.example/app:v2")}
    maybe(r, 0.8, found, "resources", lambda: resources(r))
    maybe(r, 0.3, found, "resizePolicy", lambda: [
        {"resourceName": n, "restartPolicy": pick(r, "NotRequired", "RestartContainer")}
        for n in r.sample(("cpu", "memory"), r.randint(1, 2))])
    maybe(r, 0.2, found, "env", lambda: [{"name": "A", "value": "1"}, {"name": "B", "valueFrom": {
        "fieldRef": {"fieldPath": "metadata.name"}}}][:r.randint(1, 2)])
    maybe(r, 0.1, found, "command", ["sleep", "60"])
    return found


def pod_spec(r):
    names = r.sample(("app", "sidecar", "log"), r.randint(1, 2))
    found = {"containers": [container(r, n) for n in names]}
    maybe(r, 0.15, found, "initContainers", lambda: [
        {**container(r, "init"), **({"restartPolicy": "Always"} if r.random() < 0.5 else {})}])
    maybe(r, 0.5, found, "nodeName", lambda: pick(r, *NODES, "node-missing"))
    maybe(r, 0.2, found, "terminationGracePeriodSeconds", lambda: pick(r, 0, 1, 30))
    maybe(r, 0.12, found, "restartPolicy", lambda: pick(r, "Never", "OnFailure", "Always"))
    maybe(r, 0.08, found, "resources", lambda: resources(r))
    maybe(r, 0.05, found, "overhead", {"cpu": "10m"})
    return found


def template(r, always=True):
    spec = pod_spec(r)
    spec.pop("nodeName", None)
    if always:
        spec.pop("restartPolicy", None)
    else:
        spec["restartPolicy"] = pick(r, "Never", "OnFailure")
    return {"metadata": {"labels": {"app": "x", **({"tier": "y"} if r.random() < 0.3 else {})}}, "spec": spec}


def workload(kind):
    def make(r):
        spec = {"selector": {"matchLabels": {"app": "x"}}, "template": template(r)}
        if kind != "daemonsets":
            maybe(r, 0.7, spec, "replicas", lambda: r.randint(0, 4))
        if kind == "statefulsets":
            spec["serviceName"] = "s"
            maybe(r, 0.3, spec, "podManagementPolicy", lambda: pick(r, "Parallel", "OrderedReady"))
        if kind == "deployments":
            maybe(r, 0.2, spec, "paused", True)
            maybe(r, 0.2, spec, "strategy", lambda: {"type": pick(r, "Recreate", "RollingUpdate")})
            maybe(r, 0.2, spec, "revisionHistoryLimit", lambda: r.randint(0, 3))
        if kind == "replicationcontrollers":
            spec["selector"] = {"app": "x"}
        return {"spec": spec}
    return make


def job(r):
    spec = {"template": template(r, always=False)}
    maybe(r, 0.3, spec, "parallelism", lambda: r.randint(0, 3))
    maybe(r, 0.3, spec, "completions", lambda: r.randint(1, 3))
    maybe(r, 0.3, spec, "backoffLimit", lambda: r.randint(0, 3))
    maybe(r, 0.2, spec, "suspend", True)
    return {"spec": spec}


def cron_job(r):
    return {"spec": {"schedule": pick(r, "* * * * *", "@hourly", "5 4 * * 1"), "suspend": True,
                     "jobTemplate": {"spec": job(r)["spec"]}}}


def budget(r):
    spec = {pick(r, "minAvailable", "maxUnavailable"): pick(r, 0, 1, 2, "50%", "100%")}
    maybe(r, 0.9, spec, "selector", lambda: selector(r))
    maybe(r, 0.3, spec, "unhealthyPodEvictionPolicy", lambda: pick(r, "AlwaysAllow", "IfHealthyBudget"))
    return {"spec": spec}


def budget_status(r):
    return {"disruptionsAllowed": r.randint(0, 2), "currentHealthy": r.randint(0, 3), "desiredHealthy": r.randint(0, 3),
            "expectedPods": r.randint(0, 3), "observedGeneration": r.randint(0, 3)}


def limit_range(r):
    one = {"type": pick(r, "Container", "Container", "Pod")}
    maybe(r, 0.5, one, "max", {"cpu": "2", "memory": "2Gi"})
    maybe(r, 0.4, one, "min", {"cpu": "50m", "memory": "32Mi"})
    if one["type"] == "Container":
        maybe(r, 0.5, one, "default", {"cpu": "500m", "memory": "256Mi"})
        maybe(r, 0.4, one, "defaultRequest", {"cpu": "200m", "memory": "128Mi"})
    maybe(r, 0.15, one, "maxLimitRequestRatio", {"cpu": "4"})
    return {"spec": {"limits": [one]}}


def vpa(r):
    spec = {"targetRef": {"apiVersion": "apps/v1", "kind": pick(r, "Deployment", "StatefulSet"), "name": pick(r, "a", "b")}}
    if r.random() < 0.6:
        spec["updatePolicy"] = {}
        maybe(r, 0.8, spec["updatePolicy"], "updateMode", lambda: pick(
            r, "Off", "Initial", "Recreate", "Auto", "InPlaceOrRecreate", "InPlace"))
        maybe(r, 0.4, spec["updatePolicy"], "minReplicas", lambda: r.randint(0, 3))
        maybe(r, 0.2, spec["updatePolicy"], "evictionRequirements", lambda: [
            {"resources": ["cpu"], "changeRequirement": pick(r, "TargetHigherThanRequests", "TargetLowerThanRequests")}])
    if r.random() < 0.5:
        policy = {"containerName": pick(r, "app", "*")}
        maybe(r, 0.4, policy, "mode", lambda: pick(r, "Off", "Auto"))
        maybe(r, 0.4, policy, "minAllowed", lambda: amounts(r))
        maybe(r, 0.3, policy, "maxAllowed", lambda: amounts(r))
        maybe(r, 0.3, policy, "controlledValues", lambda: pick(r, "RequestsOnly", "RequestsAndLimits"))
        maybe(r, 0.3, policy, "controlledResources", lambda: r.sample(("cpu", "memory"), r.randint(0, 2)))
        spec["resourcePolicy"] = {"containerPolicies": [policy]}
    maybe(r, 0.2, spec, "recommenders", lambda: [{"name": pick(r, "default", "other")}])
    return {"spec": spec}


def recommendation(r):
    def one():
        return {"containerName": pick(r, "app", "sidecar"), "target": amounts(r), "lowerBound": amounts(r),
                "upperBound": amounts(r)}
    found = {"recommendation": {"containerRecommendations": [one() for _ in range(r.randint(0, 2))]}}
    maybe(r, 0.5, found, "conditions", lambda: [
        {"type": "RecommendationProvided", "status": pick(r, "True", "False"), "lastTransitionTime": "2020-01-02T03:04:05Z"}])
    return found


def checkpoint(r):
    found = {"spec": {"vpaObjectName": pick(r, "a", "b"), "containerName": "app"}}
    maybe(r, 0.7, found, "status", lambda: checkpoint_status(r))
    return found


def checkpoint_status(r):
    return {"version": "v3", "lastUpdateTime": "2020-01-02T03:04:05Z", "totalSamplesCount": r.randint(0, 9),
            "cpuHistogram": {"bucketWeights": {"0": 10000, "3": r.randint(1, 9)}, "totalWeight": r.random()},
            "firstSampleStart": pick(r, None, "2020-01-01T00:00:00Z")}


def lease(r):
    return {"spec": {"holderIdentity": pick(r, "me", "you"), "leaseDurationSeconds": pick(r, 15, 30),
                     "acquireTime": "2020-01-02T03:04:05.000000Z",
                     "renewTime": f"2020-01-02T03:04:{r.randint(10, 59)}.123456Z", "leaseTransitions": r.randint(0, 2)}}


def event(r):
    return {"involvedObject": {"kind": "Pod", "namespace": "@ns", "name": "a", "apiVersion": "v1"},
            "reason": pick(r, "Evicted", "EvictedByVPA"), "message": "why", "type": pick(r, "Normal", "Warning"),
            "source": {"component": "test"}, "firstTimestamp": "2020-01-02T03:04:05Z",
            "lastTimestamp": "2020-01-02T03:04:05Z", "count": r.randint(1, 3)}


MAKE = {
    "pods": lambda r: {"spec": pod_spec(r)},
    "configmaps": lambda r: {"data": {k: pick(r, "", "1", "long " * 4) for k in r.sample("abc", r.randint(0, 3))}},
    "serviceaccounts": lambda r: {},
    "limitranges": limit_range, "events": event, "poddisruptionbudgets": budget, "leases": lease,
    "deployments": workload("deployments"), "replicasets": workload("replicasets"),
    "statefulsets": workload("statefulsets"), "daemonsets": workload("daemonsets"),
    "replicationcontrollers": workload("replicationcontrollers"), "jobs": job, "cronjobs": cron_job,
    "verticalpodautoscalers": vpa, "verticalpodautoscalercheckpoints": checkpoint,
}


def build(r, plural, name):
    version = GROUPS[plural].removeprefix("apis/").removeprefix("api/")
    return {"apiVersion": version, "kind": KINDS[plural], "metadata": meta(r, name), **MAKE[plural](r)}


# ---- damage ----

def leaves(value, place=()):
    """Every (path, value) of the members of maps and lists."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in items:
        yield place + (key,), member
        yield from leaves(member, place + (key,))


def put(value, place, member):
    for key in place[:-1]:
        value = value[key]
    if member is None:
        del value[place[-1]]
    else:
        value[place[-1]] = member


WRONG = ("", "UPPER_case", "-5", "x" * 70, "a b", 7, True, [], {}, -1, 1.5, "1.5.5", "10Zi")


def damage(r, body):
    """One member missing, of another type or value, or one too many."""
    body = copy.deepcopy(body)
    places = [p for p, _ in leaves(body) if p[0] not in ("apiVersion", "kind")]
    place = r.choice(places)
    what = r.random()
    if what < 0.35:
        put(body, place, None)
    elif what < 0.85:
        put(body, place, copy.deepcopy(r.choice(WRONG)))
    else:
        parents = [()] + [p for p, v in leaves(body) if isinstance(v, dict)]
        put(body, r.choice(parents) + ("bogus",), 1)
    return body


def keep_one(body):
    """A server takes several LimitRanges in any order, so that its answers to pods would be a matter of luck: no second
    one comes of a name that was damaged."""
    if body.get("kind") == "LimitRange":
        metadata = body.setdefault("metadata", {})
        if isinstance(metadata, dict) and isinstance(metadata.get("name", ""), str):
            metadata["name"] = "a"
    return body


# ---- requests ----

class Sequence:
    def __init__(self, seed, namespace, damaged):
        self.damaged = damaged
        self.r, self.ns = random.Random(seed), namespace
        main = self.r.choices(list(GROUPS), [WEIGHTS.get(p, 1) for p in GROUPS])[0]
        others = {"pods": ["poddisruptionbudgets", "limitranges", "pods"], "poddisruptionbudgets": ["pods", "pods"],
                  "limitranges": ["pods"]}.get(main, [])
        self.plurals = [main, main, *others[:self.r.randint(0, len(others))]]
        self.names = ("a", "b")
        self.requests = []

    def path(self, plural, name=None, sub=None, **query):
        path = f"/{GROUPS[plural]}/namespaces/{self.ns}/{plural}"
        for part in (name, sub):
            if part:
                path += "/" + part
        if query:
            path += "?" + "&".join(f"{k}={v}" for k, v in query.items())
        return path

    def add(self, method, path, body=None, media=None):
        request = {"method": method, "path": path}
        if body is not None:
            request["body"] = body
            request["type"] = media or JSON
        self.requests.append(request)

    def options(self, *names):
        """Query parameters, now and then."""
        r, query = self.r, {}
        if "dryRun" in names and r.random() < 0.08:
            query["dryRun"] = pick(r, "All", "All", "Some")
        if "fieldValidation" in names and r.random() < 0.15:
            query["fieldValidation"] = pick(r, "Strict", "Warn", "Ignore", "Bogus")
        if "fieldManager" in names and r.random() < 0.2:
            query["fieldManager"] = pick(r, "one", "two")
        return query

    def object(self, plural, name):
        body = build(self.r, plural, name)
        text = {"@ns": self.ns}
        for place, value in list(leaves(body)):
            if isinstance(value, str) and value in text:
                put(body, place, text[value])
        return keep_one(damage(self.r, body)) if self.r.random() < self.damaged else body

    def create(self, plural, name):
        self.add("POST", self.path(plural, **self.options("dryRun", "fieldValidation", "fieldManager")),
                 self.object(plural, name))

    def replace(self, plural, name):
        body = self.object(plural, name)
        if isinstance(body.get("metadata"), dict) and self.r.random() < 0.7:
            body["metadata"]["resourceVersion"] = pick(self.r, "@rv:" + self.path(plural, name), "1")
        self.add("PUT", self.path(plural, name, **self.options("dryRun", "fieldValidation", "fieldManager")), body)

    def read(self, plural, name):
        self.add("GET", self.path(plural, name))

    def list(self, plural, _name):
        r, query = self.r, {}
        maybe(r, 0.4, query, "labelSelector", lambda: pick(r, "app%3Dx", "app!%3Dx", "app%20in%20(x,y)", "app", "!app",
                                                           "app%3D%3D", "app%20in%20x"))
        maybe(r, 0.3, query, "fieldSelector", lambda: pick(
            r, "metadata.name%3Da", "status.phase!%3DPending", "spec.nodeName%3D", "spec.nodeName!%3D", "bogus%3D1",
            "reason%3DEvicted"))
        maybe(r, 0.15, query, "limit", lambda: pick(r, 1, 500, 0))
        self.add("GET", self.path(plural, **query))

    def merge(self, plural, name):
        r = self.r
        body = build(r, plural, name)
        change = {k: body[k] for k in r.sample(sorted(body), r.randint(1, 2)) if k not in ("apiVersion", "kind")}
        change.setdefault("metadata", {}).pop("name", None)
        if r.random() < 0.3:
            change["metadata"]["annotations"] = pick(r, None, {"note": None}, {"more": "1"})
        if r.random() < 0.15:
            change["metadata"]["finalizers"] = pick(r, None, [])
        media = MERGE if plural in CUSTOM or r.random() < 0.5 else STRATEGIC
        if plural in CUSTOM and r.random() < 0.05:
            media = STRATEGIC
        self.add("PATCH", self.path(plural, name, **self.options("dryRun", "fieldValidation", "fieldManager")),
                 change, media)

    def operations(self, plural, name):
        r, ops = self.r, []
        body = build(r, plural, name)
        places = [(p, v) for p, v in leaves(body) if p[0] not in ("apiVersion", "kind")]
        for _ in range(r.randint(1, 3)):
            place, value = r.choice(places)
            pointer = "/" + "/".join(str(k).replace("~", "~0").replace("/", "~1") for k in place)
            ops.append(pick(r, {"op": "add", "path": pointer, "value": value},
                            {"op": "replace", "path": pointer, "value": value}, {"op": "remove", "path": pointer},
                            {"op": "test", "path": pointer, "value": value},
                            {"op": "test", "path": "/metadata/uid", "value": "@uid:" + self.path(plural, name)}))
        self.add("PATCH", self.path(plural, name, **self.options("dryRun", "fieldManager")), ops, OPS)

    def apply(self, plural, name):
        query = {"fieldManager": pick(self.r, "one", "two")}
        maybe(self.r, 0.4, query, "force", "true")
        self.add("PATCH", self.path(plural, name, **query), self.object(plural, name), APPLY)

    def delete(self, plural, name):
        r, options = self.r, {}
        maybe(r, 0.3, options, "gracePeriodSeconds", lambda: pick(r, 0, 0, 1, 30))
        maybe(r, 0.3, options, "propagationPolicy", lambda: pick(r, "Background", "Foreground", "Orphan", "Bogus"))
        maybe(r, 0.2, options, "preconditions", lambda: {"uid": pick(
            r, "@uid:" + self.path(plural, name), "99999999-2222-3333-4444-555555555555")})
        self.add("DELETE", self.path(plural, name), options or None)

    def delete_all(self, plural, _name):
        self.add("DELETE", self.path(plural, labelSelector="app%3Dx"))

    # pods

    def evict(self, _plural, name):
        r = self.r
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": self.ns}}
        options = {}
        maybe(r, 0.4, options, "preconditions", lambda: {"uid": pick(
            r, "@uid:" + self.path("pods", name), "@uid:" + self.path("pods", name),
            "99999999-2222-3333-4444-555555555555")})
        maybe(r, 0.2, options, "gracePeriodSeconds", lambda: pick(r, 0, 5))
        maybe(r, 0.1, options, "dryRun", ["All"])
        if options:
            body["deleteOptions"] = options
        self.add("POST", self.path("pods", name, "eviction"), body)

    def bind(self, _plural, name):
        self.add("POST", self.path("pods", name, "binding"), {
            "apiVersion": "v1", "kind": "Binding", "metadata": {"name": name},
            "target": {"apiVersion": "v1", "kind": "Node", "name": pick(self.r, *NODES)}})

    def pod_status(self, _plural, name):
        r = self.r
        status = {"phase": pick(r, "Running", "Running", "Pending", "Succeeded", "Failed"),
                  "conditions": [{"type": "Ready", "status": pick(r, "True", "False"),
                                  "lastTransitionTime": "2020-01-02T03:04:05Z"}]}
        if r.random() < 0.5:
            status["containerStatuses"] = [{
                "name": n, "image": "busybox", "imageID": "", "ready": True, "restartCount": 0, "started": True,
                "state": {"running": {"startedAt": "2020-01-02T03:04:05Z"}},
                **({"resources": resources(r)} if r.random() < 0.7 else {})} for n in ("app",)]
        self.add("PATCH", self.path("pods", name, "status"), {"status": status}, pick(r, STRATEGIC, MERGE))

    def resize(self, _plural, name):
        r = self.r
        path = self.path("pods", name, "resize", **self.options("dryRun"))
        if r.random() < 0.5:
            where = f"/spec/containers/{pick(r, 0, 0, 1)}/resources/requests"
            ops = [{"op": pick(r, "add", "replace"), "path": f"{where}/{pick(r, 'cpu', 'memory')}",
                    "value": pick(r, "150m", "96Mi", "3", "1Gi", "-1")} for _ in range(r.randint(1, 2))]
            if r.random() < 0.4:
                ops.insert(0, {"op": "test", "path": "/metadata/uid", "value": "@uid:" + self.path("pods", name)})
            self.add("PATCH", path, ops, OPS)
            return
        change = {"name": pick(r, "app", "sidecar"), "resources": resources(r)}
        maybe(r, 0.1, change, "image", "other")
        self.add("PATCH", path, {"spec": {"containers": [change]}}, STRATEGIC)

    # other subresources

    def status(self, plural, name):
        r = self.r
        made = {"verticalpodautoscalers": recommendation, "verticalpodautoscalercheckpoints": checkpoint_status,
                "poddisruptionbudgets": budget_status}.get(plural)
        if not made:
            return self.read(plural, name)
        value = made(r)
        if plural == "verticalpodautoscalers" and r.random() < 0.6:
            self.add("PATCH", self.path(plural, name, "status"), [
                {"op": pick(r, "replace", "add"), "path": "/status", "value": value}], OPS)
        else:
            self.add("PATCH", self.path(plural, name, "status"), {"status": value}, MERGE)

    def scale(self, plural, name):
        r = self.r
        if r.random() < 0.4:
            self.add("GET", self.path(plural, name, "scale"))
        elif r.random() < 0.5:
            self.add("PATCH", self.path(plural, name, "scale"), {"spec": {"replicas": pick(r, 0, 1, 5, -1)}}, MERGE)
        else:
            self.add("PUT", self.path(plural, name, "scale"), {
                "apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": name, "namespace": self.ns},
                "spec": {"replicas": r.randint(0, 5)}})

    def verbs(self, plural):
        """[(weight, function)]"""
        found = [(5, self.create), (2, self.replace), (2, self.read), (1, self.list), (3, self.merge),
                 (2, self.operations), (2, self.apply), (2, self.delete), (0.3, self.delete_all)]
        if plural == "pods":
            found += [(5, self.evict), (2, self.bind), (4, self.pod_status), (5, self.resize)]
        if plural in ("verticalpodautoscalers", "verticalpodautoscalercheckpoints", "poddisruptionbudgets"):
            found.append((4, self.status))
        if plural in ("deployments", "replicasets", "statefulsets", "replicationcontrollers"):
            found.append((3, self.scale))
        return found

    def step(self):
        plural = self.r.choice(self.plurals)
        verbs = self.verbs(plural)
        verb = self.r.choices([v for _, v in verbs], [w for w, _ in verbs])[0]
        name = self.r.choice(self.names)
        verb(plural, "a" if plural == "limitranges" else name)  # one alone: keep_one()


# ---- what goes beside the requests: of a seed of its own, so that the requests stay the same ----

HOOKS = ("first", "second", "third", "fourth", "fifth")
DEEDS = ("mark", "mark", "mark", "sidecar", "warn", "deny", "broken")
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
METADATA = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
LIST_METADATA = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
LAST = "z-last"  # whose event is the last that is read of a watch


def tell_hooks(r, requests):
    """Objects of the requests say what the webhooks of hooks.py do to them."""
    for request in requests:
        metadata = request["body"].get("metadata") if isinstance(request.get("body"), dict) else None
        if not isinstance(metadata, dict) or r.random() > 0.5:
            continue
        annotations = metadata.setdefault("annotations", {})
        if isinstance(annotations, dict):
            annotations.update({f"hook.plumb.example/{pick(r, *HOOKS)}": pick(r, *DEEDS) for _ in range(r.randint(1, 2))})


def tell_forms(r, requests):
    """Some reads are for a Table or for metadata alone, as kubectl and informers ask for them."""
    for request in requests:
        path = request["path"].split("?")[0].split("/")
        if request["method"] == "GET" and path[-1] != "scale" and r.random() < 0.4:
            one = path[-2] in GROUPS
            request["accept"] = pick(r, TABLE, METADATA if one else LIST_METADATA)


class Plainest:
    """In the place of a generator of random numbers: the first of everything, and nothing that need not be."""

    def random(self):
        return 0.999

    def choice(self, values):
        return values[0]

    def randint(self, least, _most):
        return least

    def sample(self, values, count):
        return list(values)[:count]


def last_object(plural):
    """One that every LimitRange takes, and every selector of the watches."""
    made = build(Plainest(), plural, LAST)
    made["metadata"] = {"name": LAST, "labels": {"app": "x"}}
    if plural == "pods":
        small = {"cpu": "100m", "memory": "64Mi"}
        made["spec"]["containers"][0]["resources"] = {"requests": small, "limits": small}
    return made


def watch(r, plural, path):
    """Of the whole collection, of a part, or in another form."""
    return {"path": path, "last": last_object(plural), "query": pick(r, "", "", "&labelSelector=app%3Dx", "&labelSelector=app"),
            "accept": pick(r, JSON, JSON, JSON, TABLE, METADATA)}


class Story:
    """The requests of a seed, the watches of what they touch, and whether webhooks are asked (hooked)."""

    def __init__(self, seed, s):
        r = random.Random(f"beside {seed}")
        self.requests, self.hooked = s.requests, r.random() < 0.25
        self.limits = "limitranges" in s.plurals
        if self.hooked:
            tell_hooks(r, self.requests)
        tell_forms(r, self.requests)
        # What limits pods comes behind them.
        plurals = sorted(set(s.plurals), key=lambda p: (p == "limitranges", p))
        self.watches = [watch(r, p, s.path(p)) for p in plurals]
        for w in self.watches:
            for place, value in list(leaves(w["last"])):
                if value == "@ns":
                    put(w["last"], place, s.ns)


def sequence(seed, namespace, length=14, damaged=0.2):
    """The story of a seed. damaged: the share of bodies with a fault."""
    s = Sequence(seed, namespace, damaged)
    for plural in sorted(set(s.plurals)):
        s.create(plural, "a")
    while len(s.requests) < length:
        s.step()
    return Story(seed, s)
