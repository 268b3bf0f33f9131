"""Webhooks for random sequences: registered once in a server, asked in the namespaces that say so.

An object says by annotation what each webhook does to it ("hook.plumb.example/first": "mark"); what was asked is kept,
so that the questions of two servers can be compared as their answers are.

    first   every creation and update, also of subresources; asked again when a later one changed the object
    second  some kinds, and evictions, with the label app=x; asked once
    third   in a configuration of its own: creations and deletions, subresources of pods, scales of deployments; asked again
    fourth  validates everything
    fifth   validates updates and deletions; a failure is ignored
"""
import base64
import collections
import itertools
import json
import threading

from kube import until
from review_server import ReviewServer

PREFIX, SEEN = "hook.plumb.example/", "seen.plumb.example/"
LABEL = {"hooks": "yes"}
EVERY = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["CREATE", "UPDATE"], "resources": ["*/*"], "scope": "Namespaced"}
KINDS = ["pods", "deployments", "verticalpodautoscalers", "configmaps", "pods/eviction"]
SUBRESOURCES = ["pods", "pods/*", "deployments/scale", "configmaps", "verticalpodautoscalers/status"]
MUTATING = {
    "a.plumb.example": {
        "first": {"rules": [EVERY], "reinvocationPolicy": "IfNeeded"},
        "second": {"rules": [{**EVERY, "operations": ["*"], "resources": KINDS}],
                   "objectSelector": {"matchLabels": {"app": "x"}}}},
    "b.plumb.example": {
        "third": {"rules": [{**EVERY, "operations": ["CREATE", "DELETE"], "resources": SUBRESOURCES},
                            {**EVERY, "resources": ["deployments/scale", "verticalpodautoscalers/status"]}],
                  "reinvocationPolicy": "IfNeeded"}}}
VALIDATING = {
    "c.plumb.example": {
        "fourth": {"rules": [{**EVERY, "operations": ["*"]}]},
        "fifth": {"rules": [{**EVERY, "operations": ["UPDATE", "DELETE"], "resources": ["*"]}], "failurePolicy": "Ignore"}}}
VALIDATORS = ("fourth", "fifth")  # asked side by side, in any order


def mark(name, obj):
    """A patch that leaves a trace, each time another one."""
    if obj.get("kind") == "Scale":
        return [{"op": "add", "path": "/spec", "value": {"replicas": 3}}]
    if obj.get("kind") == "Eviction":
        return [{"op": "add", "path": "/deleteOptions", "value": {"gracePeriodSeconds": 7}}]
    before = int(obj["metadata"]["annotations"].get(SEEN + name, "0"))
    key = (SEEN + name).replace("/", "~1")
    return [{"op": "add", "path": f"/metadata/annotations/{key}", "value": str(before + 1)}]


def sidecar(obj):
    """A container whose amounts a LimitRange presets."""
    names = [c.get("name") for c in (obj.get("spec") or {}).get("containers") or []]
    if obj.get("kind") != "Pod" or not names or "hooked" in names or obj["metadata"].get("uid"):
        return []
    return [{"op": "add", "path": "/spec/containers/-", "value": {"name": "hooked", "image": "busybox"}}]


def answer(name, request):
    """What the webhook says to a request of a review: a matter of the object alone."""
    obj = request["object"] or request["oldObject"] or {}
    deeds = obj.get("metadata", {}).get("annotations") or {}
    deed = deeds.get(PREFIX + name)
    if name == VALIDATORS[1] and deeds.get(PREFIX + VALIDATORS[0]) in ("deny", "warn"):
        deed = None  # of two that speak side by side the server tells in any order
    found = {"allowed": True}
    if deed == "deny":
        found.update(allowed=False, status={"message": f"{name} says no", "code": 403, "reason": "Forbidden"})
    if deed == "warn":
        found["warnings"] = [f"{name} warns"]
    if deed not in ("mark", "sidecar", "broken") or name in VALIDATORS or not request["object"]:
        return found
    patch = {"mark": lambda: mark(name, obj), "sidecar": lambda: sidecar(obj),
             "broken": lambda: [{"op": "remove", "path": "/nope"}]}[deed]()
    if patch:
        found.update(patchType="JSONPatch", patch=base64.b64encode(json.dumps(patch).encode()).decode())
    return found


class Hooks:
    """The webhooks of one server; .take(namespace) says what they were asked there since the last call."""

    def __init__(self, folder, client):
        self.lock, self.asked = threading.Lock(), collections.defaultdict(list)
        self.server = ReviewServer(folder, self._answer)
        for kind, configurations in (("Mutating", MUTATING), ("Validating", VALIDATING)):
            for name, hooks in configurations.items():
                self._register(client, f"{kind}WebhookConfiguration", name, hooks)
        self._wait(client)

    def _answer(self, path, review):
        name, _, query = path.strip("/").partition("?")
        request = review["request"]
        with self.lock:
            self.asked[request["namespace"]].append({"hook": name, "query": query, **request})
        return answer(name, request)

    def _register(self, client, kind, name, hooks):
        made = [{"name": f"{hook}.plumb.example", "sideEffects": "None", "admissionReviewVersions": ["v1"],
                 "namespaceSelector": {"matchLabels": LABEL},
                 "clientConfig": {"url": self.server.url(f"/{hook}"), "caBundle": self.server.ca}, **more}
                for hook, more in hooks.items()]
        client.request("POST", f"/apis/admissionregistration.k8s.io/v1/{kind.lower()}s", {
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": name}, "webhooks": made})

    def _wait(self, client):
        """Until the server knows all configurations: each of them would be asked for a ConfigMap."""
        meta = {"name": "hooks-probe", "labels": {"app": "x"}}
        client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {**meta, "labels": LABEL}})
        probe = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}

        def all_asked():
            client.request("POST", "/api/v1/namespaces/hooks-probe/configmaps?dryRun=All", probe)
            return [q["hook"] for q in self.take("hooks-probe")] == ["first", "second", "third", "fourth"]
        until(all_asked, 30, "all webhooks are asked")

    def take(self, namespace):
        """In order; of validators that were asked side by side, by name. Who asked is a matter of how one came in.

        Of a deletion each is told once: a server asks before it marks the object and before it removes it, and once more when
        its cache has not seen the mark yet.
        """
        with self.lock:
            asked, found = self.asked.pop(namespace, []), []
        for question in asked:
            same = [q for q in found if all(q.get(k) == question.get(k) for k in ("hook", "name"))]
            if question["operation"] != "DELETE" or not same:
                found.append(question)
        ordered = []
        for validating, group in itertools.groupby(found, lambda q: q["hook"] in VALIDATORS):
            ordered += sorted(group, key=lambda q: q["hook"]) if validating else group
        return [{k: v for k, v in q.items() if k != "userInfo"} for q in ordered]
