"""Replays the cases of the set crd_schema: what a server does with VPA and checkpoint objects under our CRD text.

The cases were observed with upstream's CRD. Ours has two members more (decisions S6 and S8); a case that they touch is
judged by deviation() instead. The set was observed on 1.36; what 1.34 answers otherwise is recorded in
test/realcluster/crd_schema-1.34.jsonl.
"""
import copy
import json
import pathlib

from kube import Client, until

GROUP = "/apis/autoscaling.k8s.io/v1"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{}.autoscaling.k8s.io"
KINDS = {"verticalpodautoscalers": "VerticalPodAutoscaler",
         "verticalpodautoscalercheckpoints": "VerticalPodAutoscalerCheckpoint"}


OTHER_MINORS = pathlib.Path(__file__).resolve().parents[2] / "realcluster"


def answers_of(minor):
    """{id: out} where that minor answers otherwise than the set says."""
    path = OTHER_MINORS / f"crd_schema-1.{minor}.jsonl"
    return {c["id"]: c["out"] for c in map(json.loads, open(path))} if path.exists() else {}


def deviation(case):
    """None, or (decision, check(answer code, answer body))."""
    obj = case["in"]["object"]
    if case["in"]["resource"] != "verticalpodautoscalers":
        return None
    text = json.dumps(obj)
    if '"memoryAggregationInterval"' in text:
        return "S6", lambda code, body: code in (201, 422) and (
            code == 422 or "memoryAggregationInterval" in json.dumps(body["spec"]))
    spec = obj.get("spec")
    if isinstance(spec, dict) and spec.get("targetRef") is None and case["out"]["code"] == 422:
        return "S8", lambda code, body: code == 422 and any(
            c["field"] == "spec.targetRef" for c in body["details"]["causes"])
    return None


class Replay:
    def __init__(self, client: Client, namespace, minor=36):
        self.client, self.namespace, self.other = client, namespace, answers_of(minor)
        self.strict = {}

    def send(self, method, path, body=None):
        status, headers, text = self.client.raw(method, path, None if body is None else json.dumps(body).encode())
        try:
            return status, headers, json.loads(text)
        except ValueError:
            return status, headers, text.decode(errors="replace")

    def path(self, resource, group_version=None, name=None, subresource=None, query=""):
        path = f"/apis/{group_version or 'autoscaling.k8s.io/v1'}/namespaces/{self.namespace}/{resource}"
        for part in (name, subresource):
            path += "/" + part if part else ""
        return path + query

    def set_schema(self, resource, lax):
        """A schema that accepts anything, or the real one again; waits until the server follows it."""
        path = CRDS.format(resource)
        crd = self.send("GET", path)[2]
        if resource not in self.strict:
            self.strict[resource] = copy.deepcopy(crd["spec"]["versions"])
        versions = copy.deepcopy(self.strict[resource])
        for version in versions if lax else []:
            version["schema"] = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
        crd["spec"]["versions"] = versions
        status, _, body = self.send("PUT", path, crd)
        assert status == 200, body
        probe = {"apiVersion": "autoscaling.k8s.io/v1", "kind": KINDS[resource],
                 "metadata": {"name": "probe"}, "spec": 5}

        def follows():
            code = self.send("POST", self.path(resource, query="?dryRun=All"), probe)[0]
            return code == 201 if lax else code == 422
        until(follows, 30, "the server follows the changed schema", 0.05)

    def store_old(self, case):
        given, old = case["in"], case["in"]["old"]
        lax = bool(given.get("storedUnderOtherSchema"))
        if lax:
            self.set_schema(given["resource"], True)
        try:
            body = {k: v for k, v in old.items() if k != "status"}
            code, _, stored = self.send("POST", self.path(given["resource"]), body)
            assert code == 201, (case["id"], stored)
            if "status" in old and given["resource"] == "verticalpodautoscalers":
                stored["status"] = old["status"]
                code, _, stored = self.send("PUT", self.path(
                    given["resource"], name=old["metadata"]["name"], subresource="status"), stored)
                assert code == 200, (case["id"], stored)
        finally:
            if lax:
                self.set_schema(given["resource"], False)
        return stored

    def run(self, case):
        """A list of differences, empty when the server answered as recorded."""
        given, want = case["in"], self.other.get(case["id"], case["out"])
        obj = copy.deepcopy(given["object"])
        query = f"?fieldValidation={given['fieldValidation']}" if "fieldValidation" in given else ""
        if given["operation"] == "create":
            answer = self.send("POST", self.path(given["resource"], given.get("groupVersion"), query=query), obj)
            if given.get("subresource") and answer[0] == 201:
                obj["metadata"]["resourceVersion"] = answer[2]["metadata"]["resourceVersion"]
        else:
            stored = self.store_old(case)
            obj["metadata"]["resourceVersion"] = stored["metadata"]["resourceVersion"]
            answer = self.send("PUT", self.path(given["resource"], given.get("groupVersion"), obj["metadata"]["name"],
                                                given.get("subresource"), query), obj)
        code, headers, body = answer
        name = (obj.get("metadata") or {}).get("name")
        if isinstance(name, str) and name:
            self.send("DELETE", self.path(given["resource"], name=name))
        special = deviation(case)
        if special:
            return [] if special[1](code, body) else [f"decision {special[0]} does not hold: {code} {body}"]
        return compare(want, code, headers, body)


def compare(want, code, headers, body):
    differences = []

    def check(what, expected, got):
        if expected != got:
            differences.append(f"{what}: wanted {expected!r}, got {got!r}")
    check("code", want["code"], code)
    if "body" in want:
        check("body", want["body"], body)
        return differences
    if not isinstance(body, dict):
        return differences + [f"body: {body!r}"]
    if "stored" in want:
        check("stored", want["stored"], {k: body[k] for k in ("spec", "status") if k in body})
    if "reason" in want:
        check("reason", want["reason"], body.get("reason"))
    if "message" in want:
        # The server walks Go maps: the same errors come in another order now and then.
        def parts(message):
            head, _, errors = str(message).partition(" is invalid: ")
            return head, sorted(errors.strip("[]").split(", "))
        check("message", parts(want["message"]), parts(body.get("message")))
    if "causes" in want:
        causes = sorted((body.get("details") or {}).get("causes") or [],
                        key=lambda c: (c.get("field", ""), c.get("message", "")))
        check("causes", want["causes"], causes)
    if "warnings" in want:
        check("warnings", want["warnings"], headers.get_all("Warning") or [])
    return differences


def replay(client, namespace, path, minor=36, limit=10):
    """(passed, failed, lines): the first differences are told."""
    replayer, passed, failed, lines = Replay(client, namespace, minor), 0, 0, []
    with open(path) as cases:
        for line in cases:
            case = json.loads(line)
            differences = replayer.run(case)
            if differences:
                failed += 1
                if failed <= limit:
                    lines.append(f"{case['id']} ({case.get('note', '')}): " + "; ".join(differences))
            else:
                passed += 1
    return passed, failed, lines
