"""Installations of upstream's switch to Plumb and go back: releases of its chart, and its plain manifests."""
import base64
import json
import ssl
import subprocess
import sys

import yaml

from cluster import DAEMONS, ROOT, Client, documents, path_of, until
from fixtures import Hamster, amounts, container
from formulas import parse_quantity
from processes import free_port, wait_port
from s_cli import command_of
from s_kubectl import kubectl_of
from s_query import API_SERVICE, COLLECTION, KIND, NAMESPACE as ASKED, await_api, replaced, trust_the_nameless
from s_upstream_rights import roles

sys.path.insert(0, str(ROOT / "test/charts"))
from schemas import tool  # noqa: E402

CHART, UPSTREAM, NAMESPACE = ROOT / "deploy/helm/plumb", ROOT / "test/charts/upstream", "kube-system"
USAGE = {"fakelet.plumb/cpu": "400m", "fakelet.plumb/memory": "300Mi"}
MANAGED = "vpa-managed-webhook-config"  # the webhook object of a release whose daemon makes its certificate
MANAGING = ("--manage-certificates", f"--webhook-config-name={MANAGED}")
DOCTOR = ["daemon", "rights", "version-skew"]  # what doctor says of the names in a release
WORDS = ("forbidden", "Failed to list")  # what a daemon says that lacks a right


def helm_of(cluster, make):
    program = tool("helm")
    if not program:
        raise make.skip("no helm: test/realcluster/build tools")

    def run(*arguments, fails=False):
        done = subprocess.run([program, f"--kubeconfig={cluster.plane.kubeconfig}", f"--namespace={NAMESPACE}", *map(str, arguments)],
                              capture_output=True, text=True, timeout=240)
        assert (done.returncode != 0) == fails, (arguments, done.stdout, done.stderr)
        return done.stdout + done.stderr
    return run


def images(cluster):
    """{daemon: (image, replicas)} of the Deployments."""
    return {d: (spec["template"]["spec"]["containers"][0]["image"], spec["replicas"]) for d in DAEMONS
            for spec in [cluster.client.get("Deployment", f"vpa-{d}", NAMESPACE)["spec"]]}


def all_from(cluster, registry):
    found = images(cluster)
    assert all(image.startswith(registry) for image, _ in found.values()), found
    return found


def start(make):
    """A cluster with our CRDs, a workload, and a VPA that has learned something under upstream."""
    cluster = make(rate=60.0, fresh=True)
    for obj in documents(ROOT / "deploy/vpa-v1-crd-gen.yaml"):
        cluster.client.apply(obj)
    until(lambda: cluster.client.list("VerticalPodAutoscaler") == [], 30, "VPAs are served")
    cluster.start_fakelet()
    cluster.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "work"}})
    hamster = Hamster(cluster, "work")
    hamster.create([container(requests=amounts("50m", "50Mi"))], 2, USAGE)
    hamster.wait_pods(2)
    hamster.vpa(mode="Off")
    return cluster


def vpas(cluster):
    return {v["metadata"]["uid"] for v in cluster.client.list("VerticalPodAutoscaler")}


def certificates_by_job(cluster):
    """What upstream's two Jobs leave behind: the Secret and the CA in the webhook object. Returns the CA."""
    folder = cluster.processes.folder / "certgen"
    subprocess.run([ROOT / "deploy/gencerts", "--dir", folder], check=True, capture_output=True)
    data = {key: base64.b64encode((folder / name).read_bytes()).decode()
            for key, name in (("ca", "caCert.pem"), ("cert", "serverCert.pem"), ("key", "serverKey.pem"))}
    cluster.client.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "vpa-tls-certs", "namespace": NAMESPACE}, "data": data})
    patch = [{"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": data["ca"]}]
    status, _, body = cluster.client.raw(
        "PATCH", "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/vpa-webhook-config",
        json.dumps(patch).encode(), "application/json-patch+json")
    assert status == 200, body
    return data


def webhook(cluster, name="vpa-webhook-config"):
    """The webhook that is registered under a name; None where there is no such object."""
    return (cluster.client.find("MutatingWebhookConfiguration", name) or {"webhooks": [None]})["webhooks"][0]


def webhook_ca(cluster, name="vpa-webhook-config"):
    return (webhook(cluster, name) or {"clientConfig": {}})["clientConfig"].get("caBundle")


def secret(cluster, name="vpa-tls-certs"):
    return (cluster.client.find("Secret", name, NAMESPACE) or {}).get("data")


def asks_for(cluster):
    """What the API server sends to the webhooks that are registered: {name: resources}."""
    return {c["metadata"]["name"]: [r for rule in c["webhooks"][0].get("rules") or [] for r in rule["resources"]]
            for c in cluster.client.list("MutatingWebhookConfiguration")}


def work_under_rights(cluster, *flags):
    """The daemons, each with the token of its ServiceAccount, do their work and are refused nothing. The webhook gets the flags."""
    cluster.start_daemon("admission-controller", "--register-webhook=false", *flags)
    cluster.start_daemon("recommender", "--leader-elect=true")
    cluster.start_daemon("updater", "--leader-elect=true", "--leader-elect-resource-name=vpa-updater-lease")
    until(lambda: any((v.get("status") or {}).get("recommendation") for v in cluster.client.list("VerticalPodAutoscaler", "work")), 90,
          "a recommendation")
    cluster.wait_passes("updater", 1)
    until(lambda: all(webhook_ca(cluster, name) for name, asked in asks_for(cluster).items() if asked), 60, "the webhook's CA is registered")
    for daemon, process in cluster.daemons.items():
        said = [line for line in process.text().splitlines() if any(word in line for word in WORDS)]
        assert process.running() and not said, (daemon, said)
    for process in cluster.daemons.values():  # what comes next takes their rights away
        process.stop()


def scenario_chart_switch(make):
    """A release of upstream's chart: --reuse-values is refused with a text, upgrade, helm test, rollback, upgrade, uninstall."""
    cluster = start(make)
    helm = helm_of(cluster, make)
    helm("install", "vpa", UPSTREAM, "--set", "fullnameOverride=vpa,recommender.replicas=3", "--wait", "--timeout=2m")
    theirs, objects = all_from(cluster, "registry.k8s.io/"), vpas(cluster)
    data = certificates_by_job(cluster)
    run_short = "tests.podAnnotations.fakelet\\.plumb/run=1s"
    upgrade = ("upgrade", "vpa", CHART, "--set", "imageRegistry=registry.example", "--set", run_short, "--timeout=2m")
    assert "--reset-then-reuse-values" in helm(*upgrade, "--reuse-values", fails=True)
    assert images(cluster) == theirs

    notes = helm(*upgrade, "--reset-then-reuse-values", "--wait")
    assert "YOUR VALUES NAME THE IMAGE" not in notes, notes
    ours = all_from(cluster, "registry.example/plumb/")
    assert ours["recommender"][1] == 3 and vpas(cluster) == objects, ours
    assert secret(cluster) == data and webhook_ca(cluster) == data["ca"]
    everything = ["pods", "verticalpodautoscalers"]
    assert asks_for(cluster) == {"vpa-webhook-config": [], MANAGED: everything}
    work_under_rights(cluster, *MANAGING)
    assert webhook_ca(cluster, MANAGED) not in (None, data["ca"]) and webhook_ca(cluster) == data["ca"]
    assert "Succeeded" in helm("test", "vpa", "--timeout=1m")
    made = secret(cluster, "vpa-webhook-certificates"), webhook_ca(cluster, MANAGED)
    helm(*upgrade, "--reset-then-reuse-values", "--wait")
    assert (secret(cluster, "vpa-webhook-certificates"), webhook_ca(cluster, MANAGED)) == made and webhook_ca(cluster) == data["ca"]

    helm("rollback", "vpa", "1", "--wait", "--timeout=2m")
    assert images(cluster) == theirs and vpas(cluster) == objects
    assert secret(cluster) == data and webhook_ca(cluster) == data["ca"] and asks_for(cluster) == {"vpa-webhook-config": everything}
    helm(*upgrade, "--reset-then-reuse-values", "--wait")
    all_from(cluster, "registry.example/plumb/")
    helm("uninstall", "vpa", "--wait", "--timeout=2m")
    assert asks_for(cluster) == {}
    assert not cluster.client.find("Deployment", "vpa-recommender", NAMESPACE)
    left = [r["metadata"]["name"] for r in cluster.client.list("ClusterRole") if r["metadata"]["name"].startswith("vpa-")]
    assert not left and vpas(cluster) == objects and secret(cluster) == data, left


def scenario_chart_install(make):
    """Our chart alone, the certificate made by Helm: it is made once and kept, the image of another chart is named, uninstall; doctor."""
    cluster = make(rate=60.0, fresh=True)
    helm = helm_of(cluster, make)
    cluster.start_fakelet()
    values = "fullnameOverride=vpa,admissionController.managedCertificates=false"
    notes = helm("install", "vpa", CHART, "--set", f"{values},updater.image.repository=mirror.example/vpa-updater", "--wait", "--timeout=2m")
    assert 'YOUR VALUES NAME THE IMAGE of: updater' in notes and 'The registry is "localhost"' in notes, notes
    made = secret(cluster)
    assert webhook_ca(cluster) == made["ca"]
    helm("upgrade", "vpa", CHART, "--reuse-values", "--set", "recommender.replicas=1", "--wait", "--timeout=2m")
    assert secret(cluster) == made and webhook_ca(cluster) == made["ca"]
    pem = cluster.processes.folder / "served.pem"
    pem.write_bytes(base64.b64decode(made["cert"]))
    (cluster.processes.folder / "ca.pem").write_bytes(base64.b64decode(made["ca"]))
    subprocess.run(["openssl", "verify", "-CAfile", cluster.processes.folder / "ca.pem", "-verify_hostname", "vpa-webhook.kube-system.svc", pem],
                   check=True, capture_output=True)
    helm("uninstall", "vpa", "--wait", "--timeout=2m")
    assert secret(cluster) == made and not cluster.client.find("MutatingWebhookConfiguration", "vpa-webhook-config")
    helm("install", "vpa", CHART, "--set", values, "--wait", "--timeout=2m")
    assert secret(cluster) == made and webhook_ca(cluster) == made["ca"], "the Secret of the release before is taken up"
    helm("uninstall", "vpa", "--wait", "--timeout=2m")
    helm("install", "x", CHART, "--set", "recommender.image.digest=sha256:00", "--wait", "--timeout=2m")
    found = [f for f in json.loads(command_of(cluster)("doctor", "-o", "json")[1])["findings"] if f["check"] in DOCTOR]
    assert [(f["check"], f["level"]) for f in found] == [("daemon", "ok")] * 3 + [("rights", "ok")], found


def plain_helm(cluster, make):
    """helm without what the simulator does not do: no hooks, no OpenAPI v2."""
    helm = helm_of(cluster, make)
    return lambda *arguments, **options: helm(*arguments, "--no-hooks", "--disable-openapi-validation", **options)


def authorities(text):
    """The certificates in a caBundle, one by one."""
    return [part.strip() for part in base64.b64decode(text).decode().split("-----END CERTIFICATE-----")[:-1]]


def scenario_chart_replace(make):
    """A certificate of Helm's, over that of upstream's Job: replaced as the notes say, the webhook object trusts both and then the new one."""
    cluster = make(rate=60.0, fresh=True)
    helm = plain_helm(cluster, make)
    helm("install", "vpa", UPSTREAM, "--set", "fullnameOverride=vpa")
    theirs = certificates_by_job(cluster)
    upgrade = ("upgrade", "vpa", CHART, "--reset-then-reuse-values", "--set", "admissionController.mutatingWebhookConfiguration.failurePolicy=Fail")
    helm(*upgrade)
    assert secret(cluster) == theirs and webhook_ca(cluster) == theirs["ca"]

    cluster.client.delete("Secret", "vpa-tls-certs", NAMESPACE)
    notes = helm(*upgrade)
    made = secret(cluster)
    assert made["ca"] != theirs["ca"] and "`helm upgrade` once more" in notes and "no `helm rollback` over" in notes, notes
    assert authorities(webhook_ca(cluster)) == authorities(made["ca"]) + authorities(theirs["ca"]), webhook_ca(cluster)
    helm_of(cluster, make)("rollback", "vpa", "--no-hooks")
    assert secret(cluster) == made and not webhook_ca(cluster), "Helm has learned to keep the CA: the notes need not warn"
    helm(*upgrade)
    assert secret(cluster) == made and webhook_ca(cluster) == made["ca"]
    cluster.client.delete("Secret", "vpa-tls-certs", NAMESPACE)
    cluster.client.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "vpa-tls-certs", "namespace": NAMESPACE}, "data": theirs})
    helm(*upgrade)
    assert webhook_ca(cluster) == theirs["ca"], "what is in the Secret counts"


def scenario_chart_unregister(make):
    """registerWebhook true, then false: what the daemon registered is refused while it may keep pods from being created, then told of; one of yours stays."""
    cluster = make(rate=60.0, fresh=True)
    helm = plain_helm(cluster, make)
    values = ("vpa", CHART, "--set")
    helm("install", *values, "admissionController.registerWebhook=true")
    name, path = "vpa-webhook-config", "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
    cluster.client.create({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration", "metadata": {"name": name},
                           "webhooks": [{"name": "vpa.k8s.io", "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Fail",
                                         "clientConfig": {"service": {"name": "vpa-webhook", "namespace": NAMESPACE}},
                                         "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]}]})
    told, off = f"kubectl delete mutatingwebhookconfiguration {name}", "admissionController.registerWebhook=false"
    assert told not in helm("upgrade", *values, "admissionController.registerWebhook=true")
    said = helm("upgrade", *values, off, fails=True)
    assert "If the object is yours" in said, said
    assert told not in helm("upgrade", *values, f"{off},admissionController.certGen.enabled=false")
    patch = said.split("-p '")[1].split("'")[0]
    status, _, body = cluster.client.raw("PATCH", f"{path}/{name}", patch.encode(), "application/json-patch+json")
    assert status == 200, body
    assert told in helm("upgrade", *values, off)
    cluster.client.delete("MutatingWebhookConfiguration", name)
    assert told not in helm("upgrade", *values, off)


def scenario_chart_managed(make):
    """By default the daemon, under the chart's rights, fills Secret and webhook object; an upgrade leaves both alone."""
    cluster = make(rate=60.0, fresh=True)
    helm = helm_of(cluster, make)
    cluster.start_fakelet()
    values = ("--set", "fullnameOverride=vpa", "--wait", "--timeout=2m")
    helm("install", "vpa", CHART, *values)
    assert not webhook(cluster) and not secret(cluster)
    daemon = cluster.start_daemon("admission-controller", "--register-webhook=false", *MANAGING)
    until(lambda: webhook_ca(cluster, MANAGED), 60, "the CA is in the webhook object of the release")
    made, ca = secret(cluster, "vpa-webhook-certificates"), webhook_ca(cluster, MANAGED)
    assert made
    helm("upgrade", "vpa", CHART, *values, "--set", "recommender.replicas=1")
    assert secret(cluster, "vpa-webhook-certificates") == made and webhook_ca(cluster, MANAGED) == ca and not webhook(cluster)
    assert daemon.running() and "forbidden" not in daemon.text(), daemon.text()[-2000:]


def upstream_manifests():
    """Accounts, roles and Deployments as upstream's manifests have them."""
    yield from roles()
    for daemon in DAEMONS:
        labels = {"app": f"vpa-{daemon}"}
        pod = {"serviceAccountName": f"vpa-{daemon}", "containers": [{"name": daemon, "image": f"registry.k8s.io/autoscaling/vpa-{daemon}:1.7.1"}]}
        yield {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": f"vpa-{daemon}", "namespace": NAMESPACE},
               "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}}}


def scenario_manifests_switch(make):
    """Upstream's manifests: apply -k over them leaves none of their rights, the objects stay; applying theirs goes back."""
    cluster = start(make)
    kubectl = kubectl_of(cluster, make, True)
    manifests = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(upstream_manifests())})
    kubectl("apply", "-f", "-", text=manifests)
    objects = vpas(cluster)

    def may(verb, resource, daemon, *more):
        said = subprocess.run([cluster.plane.assets["kubectl"], f"--kubeconfig={cluster.plane.kubeconfig}", "auth", "can-i", verb, resource,
                               f"--as=system:serviceaccount:{NAMESPACE}:vpa-{daemon}", *more], capture_output=True, text=True, timeout=60)
        return said.stdout.strip() == "yes"
    assert may("list", "leases", "updater", "-A") and may("list", "nodes", "recommender")
    kubectl("apply", "-k", str(ROOT / "deploy"))
    all_from(cluster, "localhost/plumb/")
    assert vpas(cluster) == objects
    until(lambda: not may("list", "leases", "updater", "-A"), 20, "the right to all Leases is gone")
    assert not may("list", "nodes", "recommender") and may("list", "pods", "recommender") and not may("watch", "leases", "updater")
    for daemon in DAEMONS:
        kubectl("-n", NAMESPACE, "scale", "deployment", f"vpa-{daemon}", "--replicas=0")
    work_under_rights(cluster)
    kubectl("apply", "-f", "-", text=manifests)
    all_from(cluster, "registry.k8s.io/")
    until(lambda: may("list", "leases", "updater", "-A"), 20, "upstream's rights are back")
    assert vpas(cluster) == objects


def rendered(helm, *values):
    """What the chart would install, without what only runs for `helm test`."""
    text = helm("template", "vpa", CHART, "--include-crds", "--kube-version=1.34.0", "--set", ",".join(["fullnameOverride=vpa", *values]))
    return [obj for obj in yaml.safe_load_all(text) if obj and "helm.sh/hook" not in obj["metadata"].get("annotations", {})]


def apply_with_listener(cluster, objects, port):
    """The objects, for a recommender outside of the cluster at that port; its flags about the API, as the chart has them."""
    flags = []
    for obj in objects:
        if obj["kind"] == "Deployment":
            obj["spec"]["replicas"] = 0
            if obj["metadata"]["name"] == "vpa-recommender":
                flags = [a for a in obj["spec"]["template"]["spec"]["containers"][0]["args"] if a.startswith("--recommendation-api")]
        elif obj["metadata"]["name"] == "vpa-recommendation" and obj["kind"] == "Service":
            obj["spec"] = {"type": "ExternalName", "externalName": "127.0.0.1", "ports": [{"port": port}]}
        elif obj["kind"] == "APIService":
            obj["spec"]["service"]["port"] = port
        cluster.client.apply(obj)
        if obj["kind"] == "CustomResourceDefinition":
            until(lambda kind=obj["spec"]["names"]["kind"]: cluster.client.raw("GET", path_of(kind))[0] == 200, 30, "the CRD is served")
    assert "--recommendation-api-manage-certificates" in flags, flags
    return [f for f in flags if not f.startswith("--recommendation-api-address=")] + [f"--recommendation-api-address=127.0.0.1:{port}"]


def scenario_chart_query_api(make):
    """The chart with recommendationQuery.api.enabled: the daemon, under its rights, makes the APIService available; kubectl asks; edit is enough."""
    simulated = make.tier == "sim"
    cluster = make(rate=240.0, fresh=True, users=[("admin-secret", "admin", "1", "system:masters"), ("bob-secret", "bob", "2", "dev")])
    helm, kubectl = helm_of(cluster, make), kubectl_of(cluster, make, not simulated)
    if simulated:
        trust_the_nameless(cluster)
    port = free_port()
    flags = apply_with_listener(cluster, rendered(helm, "recommendationQuery.api.enabled=true"), port)
    cluster.start_fakelet()
    cluster.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": ASKED}})
    cluster.client.create({"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler", "metadata": {"name": "web", "namespace": ASKED},
                           "spec": {"targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
                                    "updatePolicy": {"updateMode": "Off"}}})
    replaced(cluster, "300m")
    recommender = cluster.start_daemon("recommender", *flags)
    wait_port(port)
    await_api(cluster)
    made = secret(cluster, "vpa-recommendation-certificates")
    assert cluster.client.get("APIService", API_SERVICE)["spec"]["caBundle"] == made["ca.crt"]

    pod = cluster.pods(ASKED, app="web")[0]
    question = json.dumps({**KIND, "spec": {"pod": pod}})

    def recommended():
        status, _, body = cluster.client.raw("POST", COLLECTION, question)
        return status == 201 and "recommendation" in json.loads(body)["status"]
    until(recommended, 60, "an answer for a pod")
    unchecked = ["--validate=false"] if simulated else []  # it serves no OpenAPI v2
    answer = json.loads(kubectl("-n", ASKED, "create", "-o", "json", "-f", "-", *unchecked, text=question))
    containers = answer["status"]["recommendation"]["containerRecommendations"]
    assert [c["name"] for c in containers] == ["app"] and parse_quantity(containers[0]["target"]["requests"]["cpu"]) > 0, answer

    bob = Client(cluster.plane.url, token="bob-secret", ca=cluster.plane.ca)
    assert bob.raw("POST", COLLECTION, question)[0] == 403
    role = "vpa-recommendation-query" if simulated else "edit"  # nobody adds roles up in the simulator
    group = "rbac.authorization.k8s.io"
    cluster.client.apply({"apiVersion": f"{group}/v1", "kind": "RoleBinding", "metadata": {"name": "bob", "namespace": ASKED},
                          "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
                          "subjects": [{"apiGroup": group, "kind": "User", "name": "bob"}]})
    until(lambda: bob.raw("POST", COLLECTION, question)[0] == 201, 60, "whoever may edit may ask")
    ends = subprocess.run(["openssl", "x509", "-noout", "-enddate"], input=base64.b64decode(made["tls.crt"]), check=True, capture_output=True).stdout
    counted = cluster.metrics("recommender")
    shown = {name: counted.get(f"vpa_recommender_{name}") for name in (
        "certificate_expiry_seconds", 'certificate_steps_total{step="created"}', 'self_test_failures_total{step="chain"}')}
    assert list(shown.values()) == [ssl.cert_time_to_seconds(ends.decode().split("=")[1].strip()), 1, 0], (shown, ends)
    said = [line for line in recommender.text().splitlines() if any(word in line for word in WORDS)]
    assert recommender.running() and not said, said


for scenario in (scenario_chart_switch, scenario_chart_install, scenario_chart_managed, scenario_manifests_switch):
    scenario.tiers, scenario.why = ["real"], "the simulator knows neither Helm's hooks nor who may do what"
    scenario.other_rights = True  # no part of the report on the rights of deploy/


scenario_chart_query_api.other_rights = scenario_chart_replace.other_rights = scenario_chart_unregister.other_rights = True
scenario_chart_switch.each_minor = scenario_chart_query_api.each_minor = True
