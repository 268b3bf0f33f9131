"""The recommender asked for what a pod is recommended now."""
import base64
import json

import certs
from cluster import Client, ROOT, documents, until
from formulas import parse_quantity
from processes import free_port, wait_port
from s_kubectl import kubectl_of

NAMESPACE = "ask"
KIND = {"apiVersion": "recommendation.autoscaling.k8s.io/v1alpha1", "kind": "RecommendationQuery"}


def workload(cpu):
    labels = {"app": "web"}
    container = {"name": "app", "image": "fakelet", "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}}}
    template = {"metadata": {"labels": labels, "annotations": {"fakelet.plumb/cpu": cpu, "fakelet.plumb/memory": "200Mi"}},
                "spec": {"containers": [container]}}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": NAMESPACE},
            "spec": {"replicas": 2, "selector": {"matchLabels": labels}, "template": template}}


def status_of(cluster, pod):
    """The code, and the status of the query or the whole metav1.Status."""
    body = json.dumps({**KIND, "metadata": {"namespace": NAMESPACE}, "spec": {"pod": pod}})
    code, _, answer = cluster.addresses["recommender"].raw("POST", "/recommendedPodResources", body)
    if (code == 404 and answer.startswith(b"404")) or (code == 503 and answer.startswith(b"not now")):
        return 503, {}  # the listener comes first, what it serves when the recommender is made
    answer = json.loads(answer)
    if code == 200:
        assert answer["spec"]["pod"] == pod, answer
        return code, answer["status"]
    return code, answer


def cpu_for(cluster, pod):
    """Millicores recommended for the container app, 0 without an answer."""
    code, status = status_of(cluster, pod)
    assert code in (200, 503), (code, status)
    for c in status.get("recommendation", {}).get("containerRecommendations", []) if code == 200 else []:
        return 1000 * parse_quantity(c["target"]["requests"]["cpu"])
    return 0


def replaced(cluster, cpu):
    """The Deployment made anew: pods of a new ReplicaSet, with that usage."""
    if cluster.client.find("Deployment", "web", NAMESPACE):
        cluster.client.delete("Deployment", "web", NAMESPACE)
        until(lambda: not cluster.pods(NAMESPACE, app="web"), 60, "the old pods are gone")
    cluster.client.create(workload(cpu))
    until(lambda: len(cluster.pods(NAMESPACE, app="web")) == 2, 60, "the pods")


def scenario_recommendation_query(make):
    """Existing pods and pods to come are answered, also after a usage change, though no status is ever written."""
    cluster = make(rate=240.0, fast_clock=True)
    cluster.install()
    cluster.start_fakelet()
    cluster.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    cluster.client.create({"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler",
                           "metadata": {"name": "web", "namespace": NAMESPACE},
                           "spec": {"targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
                                    "updatePolicy": {"updateMode": "Off"}}})
    replaced(cluster, "100m")
    cluster.start_daemon("recommender", "--recommendation-query", "--shadow")

    existing = cluster.pods(NAMESPACE, app="web")[0]
    until(lambda: cpu_for(cluster, existing) > 0, 60, "an answer for a pod")
    first = cpu_for(cluster, existing)
    owners = existing["metadata"]["ownerReferences"]
    coming = {"metadata": {"generateName": "web-", "labels": {"app": "web"}, "ownerReferences": owners},
              "spec": {"containers": [{"name": "sidecar"}, {"name": "app"}]}}
    assert cpu_for(cluster, coming) > 0
    bare = {"metadata": {"name": "debug", "labels": {"app": "web"}}, "spec": {"containers": [{"name": "app"}]}}
    assert cpu_for(cluster, bare) > 0

    replaced(cluster, "900m")
    existing = cluster.pods(NAMESPACE, app="web")[0]
    assert existing["metadata"]["ownerReferences"] != owners
    until(lambda: cpu_for(cluster, existing) >= 800 > first, 120, "the answer follows the usage")
    assert not cluster.recommendation(NAMESPACE, "web"), "a shadow writes no status"

    stranger = {"metadata": {"generateName": "db-", "labels": {"app": "db"}}, "spec": {"containers": [{"name": "app"}]}}
    assert status_of(cluster, stranger) == (200, {"error": f"no VerticalPodAutoscaler matches pod {NAMESPACE}/db-%"})
    other = {**bare, "spec": {"containers": [{"name": "other"}]}}
    wanted = f"no recommendation available for VerticalPodAutoscaler {NAMESPACE}/web"
    assert status_of(cluster, other) == (200, {"error": wanted})
    code, failure = status_of(cluster, None)
    assert (code, failure["kind"], failure["reason"]) == (400, "Status", "BadRequest"), failure
    counted = cluster.metrics("recommender")
    series = 'vpa_recommender_recommendation_queries_total{{result="{}"}}'
    for result in ("Recommendation", "NoVPA", "NoRecommendation", "BadRequest"):
        assert counted.get(series.format(result), 0) >= 1, (result, counted)


def scenario_recommendation_query_webhook(make):
    """The webhook gives pods what the recommender says now; without it what is stored; without that the pod's own."""
    cluster = make(rate=240.0, fast_clock=True)
    cluster.install()
    cluster.start_fakelet()
    recommender = cluster.start_daemon("recommender", "--recommendation-query", "--shadow")  # stores nothing
    url = f"http://{cluster.addresses['recommender'].host}:{cluster.addresses['recommender'].port}"
    cluster.start_daemon("admission-controller", f"--recommendation-query-url={url}", "--recommendation-query-timeout=5s")
    client = cluster.client
    until(lambda: client.find("MutatingWebhookConfiguration", "vpa-webhook-config"), 60, "the webhook")
    client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    client.create({"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler",
                   "metadata": {"name": "web", "namespace": NAMESPACE},
                   "spec": {"targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
                            "updatePolicy": {"updateMode": "Initial"}}})
    replaced(cluster, "900m")
    coming = {"metadata": {"generateName": "web-", "labels": {"app": "web"},
                           "ownerReferences": cluster.pods(NAMESPACE, app="web")[0]["metadata"]["ownerReferences"]},
              "spec": {"containers": [{"name": "app"}]}}
    until(lambda: cpu_for(cluster, coming) >= 800, 120, "an answer that follows the usage")

    def made():
        """Millicores requested by the new pod of a new ReplicaSet."""
        replaced(cluster, "900m")
        return [1000 * parse_quantity(pod["spec"]["containers"][0]["resources"]["requests"]["cpu"])
                for pod in cluster.pods(NAMESPACE, app="web")]
    until(lambda: min(made()) >= 800, 60, "pods with what the recommender says")
    assert not cluster.recommendation(NAMESPACE, "web"), "a shadow writes no status"

    recommender.stop()
    assert made() == [100, 100], "nothing answers and nothing is stored: the pod's own"
    wanted = {"containerName": "app", **{k: {"cpu": "300m", "memory": "200Mi"} for k in ("target", "lowerBound", "upperBound")}}
    client.merge("VerticalPodAutoscaler", "web", {"status": {"recommendation": {"containerRecommendations": [wanted]}}},
                 NAMESPACE, "status")
    until(lambda: made() == [300, 300], 60, "pods with what is stored")
    counted = cluster.metrics("admission-controller")
    series = 'vpa_admission_controller_recommendation_queries_total{{result="{}"}}'
    for result in ("Recommendation", "Failed", "NotAsked"):
        assert counted.get(series.format(result), 0) >= 1, (result, counted)


COLLECTION = f"/apis/{KIND['apiVersion']}/namespaces/{NAMESPACE}/recommendationqueries"


API_SERVICE = "v1alpha1.recommendation.autoscaling.k8s.io"


def register_api(cluster, port, authority=None):
    """Service and APIService of deploy/components/query-api, for a listener outside of the cluster."""
    for obj in documents(ROOT / "deploy/components/query-api/api-service.yaml"):
        if obj["kind"] == "Service":
            obj["spec"] = {"type": "ExternalName", "externalName": "127.0.0.1", "ports": [{"port": port}]}
        else:
            obj["spec"]["service"]["port"] = port
            if authority:
                obj["spec"]["caBundle"] = base64.b64encode(authority.pem).decode()
        cluster.client.apply(obj)


def await_api(cluster):
    def available():
        found = cluster.client.get("APIService", API_SERVICE)
        return {c["type"]: c["status"] for c in found.get("status", {}).get("conditions", [])}.get("Available") == "True"
    until(available, 60, "the API is available")


def start_api(cluster):
    """The recommender with its API behind an APIService and a certificate in files, as deploy/components/query-api-files says; its port."""
    port, folder = free_port(), cluster.processes.folder / "api-certs"
    authority = certs.make(folder, names=("vpa-recommendation.kube-system.svc", "127.0.0.1"))
    cluster.apply(ROOT / "deploy/components/query-api/rbac.yaml")
    cluster.start_daemon(
        "recommender", f"--recommendation-api-address=127.0.0.1:{port}", "--shadow",
        f"--recommendation-api-cert-file={folder / 'serverCert.pem'}", f"--recommendation-api-key-file={folder / 'serverKey.pem'}")
    wait_port(port)
    register_api(cluster, port, authority)
    await_api(cluster)
    return port


def trust_the_nameless(cluster):
    """The simulator speaks plain HTTP, over which neither our programs nor kubectl send their token."""
    group = "rbac.authorization.k8s.io"
    cluster.client.apply({"apiVersion": f"{group}/v1", "kind": "ClusterRole", "metadata": {"name": "everything"},
                          "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
                                    {"nonResourceURLs": ["*"], "verbs": ["*"]}]})
    cluster.client.apply({"apiVersion": f"{group}/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "everything"},
                          "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "everything"},
                          "subjects": [{"apiGroup": group, "kind": "User", "name": "system:anonymous"}]})


def scenario_recommendation_api(make):
    """kubectl creates a query: pods that are there, pods to come, after a usage change; strangers and the powerless are refused."""
    users = [("admin-secret", "admin", "1", "system:masters"), ("bob-secret", "bob", "2", "dev")]
    cluster = make(rate=240.0, users=users)
    kubectl = kubectl_of(cluster, make, cluster.tier != "sim")
    if cluster.tier == "sim":
        trust_the_nameless(cluster)
    cluster.install()
    cluster.start_fakelet()
    cluster.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    cluster.client.create({"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler",
                           "metadata": {"name": "web", "namespace": NAMESPACE},
                           "spec": {"targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
                                    "updatePolicy": {"updateMode": "Off"}}})
    replaced(cluster, "100m")
    port = start_api(cluster)

    # kubectl looks for a schema to check by in OpenAPI v2, which the simulator does not serve.
    unchecked = ["--validate=false"] if cluster.tier == "sim" else []

    def create(pod, *more, **options):
        return kubectl("-n", NAMESPACE, "create", "-o", "json", "-f", "-", *(more or unchecked),
                       text=json.dumps({**KIND, "spec": {"pod": pod}}), **options)

    def cpu(pod):
        code, answer = cluster.client.raw("POST", COLLECTION, json.dumps({**KIND, "spec": {"pod": pod}}))[::2]
        assert code in (201, 503), (code, answer)
        found = json.loads(answer).get("status")
        wanted = found.get("recommendation", {}).get("containerRecommendations", []) if code == 201 else []
        return 1000 * parse_quantity(wanted[0]["target"]["requests"]["cpu"]) if wanted else 0

    existing = cluster.pods(NAMESPACE, app="web")[0]
    until(lambda: cpu(existing) > 0, 60, "an answer for a pod")
    first = cpu(existing)
    answer = json.loads(create(existing))
    assert answer["kind"] == KIND["kind"] and answer["spec"]["pod"]["metadata"]["uid"] == existing["metadata"]["uid"], answer
    coming = {"metadata": {"generateName": "web-", "labels": {"app": "web"},
                           "ownerReferences": existing["metadata"]["ownerReferences"]},
              "spec": {"containers": [{"name": "sidecar"}, {"name": "app"}]}}
    names = [c["name"] for c in json.loads(create(coming))["status"]["recommendation"]["containerRecommendations"]]
    assert names == ["app"], names

    replaced(cluster, "900m")
    existing = cluster.pods(NAMESPACE, app="web")[0]
    until(lambda: cpu(existing) >= 800 > first, 120, "the answer follows the usage")
    yaml = kubectl("-n", NAMESPACE, "create", "-o", "yaml", "-f", "-", *unchecked, text=json.dumps({**KIND, "spec": {"pod": coming}}))
    assert "status" in yaml and not cluster.recommendation(NAMESPACE, "web"), "a shadow writes no status"

    assert "recommendationqueries" in kubectl("api-resources", "--api-group=recommendation.autoscaling.k8s.io")
    explained = kubectl("explain", "recommendationquery.status.recommendation")
    assert "containerRecommendations" in explained, explained
    assert "MethodNotAllowed" in kubectl("-n", NAMESPACE, "get", "recommendationqueries", fails=True)
    assert "BadRequest" in create(None, "--validate=false", fails=True)
    elsewhere = {**coming, "metadata": {**coming["metadata"], "namespace": "default"}}
    assert "does not match the namespace" in create(elsewhere, fails=True)
    refuses_strangers(cluster, port, coming)


def refuses_strangers(cluster, port, pod):
    """At the listener itself: headers without the proxy's certificate, another certificate, a user without the right."""
    question = json.dumps({**KIND, "spec": {"pod": pod}})
    forged = {"X-Remote-User": "admin", "X-Remote-Group": "system:masters"}
    proxy = cluster.plane.front_proxy
    ca, url = cluster.processes.folder / "api-certs/caCert.pem", f"https://127.0.0.1:{port}"

    def ask(client, headers):
        code, _, answer = client.raw("POST", COLLECTION, question, headers=headers)
        return code, json.loads(answer).get("reason")
    assert ask(Client(url, ca=ca), forged) == (401, "Unauthorized")
    assert ask(Client(url, ca=ca, token="admin-secret"), {}) == (401, "Unauthorized")
    assert ask(Client(url, ca=ca, certificate=cluster.plane.user_certificate), forged) == (401, "Unauthorized")
    assert ask(Client(url, ca=ca, certificate=proxy), {}) == (401, "Unauthorized")
    assert ask(Client(url, ca=ca, certificate=proxy), {"X-Remote-User": "bob", "X-Remote-Group": "dev"}) == (403, "Forbidden")
    assert ask(Client(url, ca=ca, certificate=proxy), forged) == (201, None)
    bob = Client(cluster.plane.url, token="bob-secret", ca=cluster.plane.ca)
    assert ask(bob, forged) == (403, "Forbidden"), "the API server passes on who asks, not what he says he is"
    cluster.client.apply({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
                          "metadata": {"name": "bob", "namespace": NAMESPACE},
                          "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
                                      "name": "system:vpa-recommendation-query"},
                          "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "bob"}]})
    until(lambda: ask(bob, {})[0] == 201, 60, "whoever may, gets an answer")
    counted = cluster.metrics("recommender")
    for result in ("Unauthorized", "Forbidden", "BadRequest", "Recommendation"):
        assert counted.get(f'vpa_recommender_recommendation_queries_total{{result="{result}"}}', 0) >= 1, (result, counted)


def scenario_recommendation_api_certificates(make):
    """No certificate is made by hand: the component alone makes the API available; caBundle is put back; rotation and restart refuse no query."""
    simulated = make.tier == "sim"
    cluster = make(rate=30.0)
    cluster.install()
    cluster.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    for part in ("rbac", "certificates"):
        cluster.apply(ROOT / f"deploy/components/query-api/{part}.yaml")
    port = free_port()
    register_api(cluster, port)
    flags = [f"--recommendation-api-address=127.0.0.1:{port}", "--recommendation-api-manage-certificates"]
    if simulated:
        flags.append("--recommendation-api-certificate-lifetime=10m")
    recommender = cluster.start_daemon("recommender", *flags)
    await_api(cluster)

    def secret():
        return cluster.client.get("Secret", "vpa-recommendation-certificates", "kube-system").get("data") or {}

    def bundle():
        return cluster.client.get("APIService", API_SERVICE)["spec"].get("caBundle")
    question = json.dumps({**KIND, "spec": {"pod": {"metadata": {"name": "none"}, "spec": {"containers": [{"name": "app"}]}}}})

    def answered():
        return cluster.client.raw("POST", COLLECTION, question)[0] == 201
    until(answered, 60, "a query is answered")
    made = secret()
    assert set(made) >= {"ca.crt", "ca.key", "tls.crt", "tls.key"}, list(made)

    if simulated:
        authorities = set()

        def rotated():
            assert answered(), "a query is refused"
            found = secret()
            authorities.add(found["ca.crt"])
            return len(authorities) > 2 and "previous-ca.crt" not in found and bundle() == found["ca.crt"]
        until(rotated, 120, "two rotations")
    else:
        assert bundle() == made["ca.crt"], "caBundle is the CA"
    cluster.client.merge("APIService", API_SERVICE, {"spec": {"caBundle": None}})
    until(lambda: bundle() and answered(), 90, "the caBundle is put back")
    recommender.stop()
    before = secret()
    recommender = cluster.start_daemon("recommender", *flags)
    until(answered, 60, "a query is answered after a restart")
    assert simulated or secret() == before, "a restart makes no new certificates"
    assert "forbidden" not in recommender.text(), recommender.text()[-2000:]


scenario_recommendation_query.each_minor = scenario_recommendation_api_certificates.each_minor = True
