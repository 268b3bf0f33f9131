"""The webhook proves itself: what stops the updater when new pods would not be patched, and what is repaired."""
import base64
import datetime
import json
import os
import re
import ssl
import threading
import time
import traceback

import certs
from clockfile import ClockFile
from cluster import ROOT, ApiError, documents, until
from fixtures import Hamster, amounts, container, recommendation, spec_of
from processes import free_port
from realcluster import write_kubeconfig
from relay import Relay

NAMESPACE, CONFIG = "proof", "vpa-webhook-config"
SMALL, LARGE = amounts("100m", "100Mi"), amounts("400m", "300Mi")
STALE = 60  # seconds after which the updater takes the status Lease for stale; less where time cannot go faster
REAL_STALE = 12


def seconds(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def age_of_lease(cluster, now=None):
    """Seconds of the cluster's time since the last renewal; none yet: without end."""
    lease = cluster.client.find("Lease", "vpa-admission-controller", "kube-system")
    at = lease and (lease["spec"].get("renewTime") or lease["metadata"]["creationTimestamp"])
    return (now or seconds(cluster.plane.now())) - seconds(at) if at else float("inf")


def stale(cluster):
    return STALE if cluster.tier == "sim" else REAL_STALE


def is_fresh(cluster):
    return age_of_lease(cluster) < stale(cluster) / 3


def is_stale(cluster):
    return age_of_lease(cluster) > stale(cluster)


def bundle(ca):
    return base64.b64encode(ca.pem).decode()


def patch(cluster, path, value):
    cluster.client.request("PATCH", f"/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/{CONFIG}",
                           [{"op": "replace", "path": path, "value": value}], "application/json-patch+json")


def registration(cluster):
    """The registration, None while there is none."""
    return cluster.client.find("MutatingWebhookConfiguration", CONFIG)


def registered(cluster):
    """The same where it must be there: a start deletes it before it makes it anew, and until() waits for that."""
    return cluster.client.get("MutatingWebhookConfiguration", CONFIG)


class Scene:
    """Three pods that a VPA would replace, an updater, and a webhook that others have registered."""

    def __init__(self, make, ours=False):
        self.cluster = cluster = make(rate=20.0)
        cluster.install()
        cluster.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        cluster.start_fakelet()
        self.webhook = cluster.start_daemon("admission-controller", f"--register-webhook={str(ours).lower()}", f"--webhook-config-name={CONFIG}")
        if not ours:
            self.register()
        until(lambda: is_fresh(cluster), 60, "the Lease is renewed")
        self.hamster = Hamster(cluster, NAMESPACE)
        self.hamster.create([container(requests=SMALL)], 3)
        self.before = {p["metadata"]["uid"] for p in self.hamster.wait_pods(3)}
        cluster.start_daemon("updater", f"--admission-controller-status-lease-timeout={stale(cluster)}s")

    def register(self, **changes):
        """As an administrator would, or Helm."""
        cluster = self.cluster
        cluster.client.create({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
            "metadata": {"name": CONFIG, **changes},
            "webhooks": [{
                "name": "vpa.k8s.io", "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Ignore",
                "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}],
                "clientConfig": {"url": f"https://127.0.0.1:{cluster.webhook_port}", "caBundle": bundle(cluster.authority)}}]})

    def break_and_ask(self, breakage):
        """Breaks it, and then the VPA wants other pods."""
        self.said = len(self.webhook.text())  # so far
        breakage()
        until(lambda: is_stale(self.cluster), 60, "the Lease is not renewed any more")
        self.hamster.vpa(recommendation(**LARGE), mode="Recreate")

    def useless(self, passes=6):
        """Evictions so far, none of which can have helped."""
        self.cluster.wait_passes("updater", passes)
        return len(self.before - self.hamster.uids())

    def works_again(self):
        self.hamster.wait_evicted(self.before, 3)
        until(lambda: all(abs(spec_of(p)[0]["cpu"] - 0.4) < 1e-9 for p in self.hamster.wait_pods(3)), 60, "all are patched")


def check(make, name, breakage, repair, step):
    scene = Scene(make)
    scene.break_and_ask(lambda: breakage(scene))
    count = scene.useless()
    make.say(f"{name}: {count} useless evictions")
    assert count == 0, scene.webhook.text()[-3000:]
    if step:
        series = f'vpa_admission_controller_self_test_failures_total{{step="{step}"}}'
        assert scene.cluster.metrics("admission-controller").get(series, 0) > 0, series
        said = [line for line in scene.webhook.text()[scene.said:].splitlines() if "The API server cannot use the webhook" in line]
        # Once for each step: a certificate may end while the handshake of a test is under way.
        steps = [re.search(r'step="(\w+)"', line).group(1) for line in said]
        assert step in steps and len(steps) == len(set(steps)), said
    repair(scene)
    scene.works_again()


def gone(scene):
    scene.cluster.client.delete("MutatingWebhookConfiguration", CONFIG)


def other_ca(scene):
    patch(scene.cluster, "/webhooks/0/clientConfig/caBundle", bundle(certs.Authority("another")))


def own_ca(scene):
    patch(scene.cluster, "/webhooks/0/clientConfig/caBundle", bundle(scene.cluster.authority))


def no_pods(scene):
    patch(scene.cluster, "/webhooks/0/rules/0/resources", ["configmaps"])


def pods_again(scene):
    patch(scene.cluster, "/webhooks/0/rules/0/resources", ["pods"])


def expired(scene):
    pair = scene.cluster.authority.pair(end=datetime.datetime(2026, 1, 1))
    certs.write(scene.cluster.processes.folder / "webhook-certs", scene.cluster.authority, *pair)


def renewed(scene):
    certs.write(scene.cluster.processes.folder / "webhook-certs", scene.cluster.authority, *scene.cluster.authority.pair())


def scaled_to_zero(scene):
    assert scene.webhook.stop() == 0


def scaled_up(scene):
    scene.webhook.start()


def repairs(cluster, what):
    return cluster.metrics("admission-controller").get(f'vpa_admission_controller_registration_repairs_total{{what="{what}"}}', 0)


def vouches(scene):
    """The registration is there, sends us pods, and names our CA."""
    found = registration(scene.cluster)
    hook = found and found["webhooks"][0]
    return bool(hook) and hook["rules"][0]["resources"] == ["pods"] and \
        hook["clientConfig"]["caBundle"] == bundle(scene.cluster.authority)


def narrowed(scene):
    patch(scene.cluster, "/webhooks/0/namespaceSelector", {"matchLabels": {"nobody": "has-this"}})


def scenario_webhook_repair(make):
    """A registration of ours that is gone or changed is put back at once; new pods are patched, and an event tells."""
    scene = Scene(make, ours=True)
    scene.hamster.vpa(recommendation(**LARGE), mode="Recreate")
    scene.works_again()
    client = scene.cluster.client
    for what, breakage in (("gone", gone), ("caBundle", other_ca), ("rules", no_pods), ("namespaceSelector", narrowed)):
        breakage(scene)
        until(lambda: repairs(scene.cluster, what) == 1 and vouches(scene), 30, f"{what} is repaired")
        before = scene.hamster.uids()
        for pod in scene.hamster.pods():
            client.delete("Pod", pod["metadata"]["name"], NAMESPACE)
        until(lambda: not before & scene.hamster.uids(), 60, "the pods are replaced")
        scene.works_again()
        until(lambda: any(e["reason"] == "RegistrationRepaired" and what in e["message"]
                          for e in client.list("Event", "kube-system")), 30, "an event tells")


AKS = [{"key": "control-plane", "operator": "NotIn", "values": ["true"]},
       {"key": "kubernetes.azure.com/managedby", "operator": "NotIn", "values": ["aks"]}]


class Enforcer(threading.Thread):
    """Adds its expressions to the registration whenever they are not there, as AKS does, unless a label keeps it away."""

    def __init__(self, cluster):
        super().__init__(daemon=True)
        self.cluster, self.stopping, self.writes, self.problems = cluster, threading.Event(), 0, []

    def run(self):
        try:
            self.insist()
        except Exception:  # whatever it is, who waits for this thread is to know
            self.problems.append(traceback.format_exc())

    def insist(self):
        while not self.stopping.wait(0.1):
            found = registration(self.cluster)
            selector = found and found["webhooks"][0]["namespaceSelector"]
            if selector and not stands(selector) and not keeps_away(found):
                selector.setdefault("matchExpressions", []).extend(e for e in AKS if e not in selector.get("matchExpressions", []))
                try:
                    patch(self.cluster, "/webhooks/0/namespaceSelector", selector)
                except ApiError as error:
                    if error.code != 404:  # deleted since it was read
                        raise
                else:
                    self.writes += 1


def stands(selector):
    return all(e in selector.get("matchExpressions", []) for e in AKS)


def keeps_away(found):
    return found["metadata"].get("labels", {}).get("admissions.enforcer/disabled") == "true"


def scenario_webhook_enforcer(make):
    """Who runs the cluster leaves out namespaces of its own and insists: nobody fights it, a start and a repair keep what it has
    written, and the updater goes on. Of a namespace that it leaves out one pod is evicted. A label keeps it away, and once the
    registration was deleted nothing of it is left."""
    scene = Scene(make, ours=True)
    cluster, hamster = scene.cluster, scene.hamster
    selector = lambda: registered(cluster)["webhooks"][0]["namespaceSelector"]  # noqa: E731
    enforcer = Enforcer(cluster)
    enforcer.start()
    until(lambda: enforcer.writes == 1, 30, "it has added its expressions")
    assert scene.webhook.stop() == 0
    scene.webhook = cluster.start_daemon("admission-controller", f"--webhook-config-name={CONFIG}", "--webhook-failure-policy-fail")
    until(lambda: registered(cluster)["webhooks"][0]["failurePolicy"] == "Fail", 60, "the start has written its flags")
    assert stands(selector()) and enforcer.writes == 1, selector()
    until(lambda: is_fresh(cluster), 60, "the Lease is renewed")
    no_pods(scene)
    patch(cluster, "/webhooks/0/namespaceSelector/matchExpressions/0/operator", "In")
    until(lambda: vouches(scene) and len(selector()["matchExpressions"]) == 3, 60, "it is repaired")
    assert stands(selector()) and enforcer.writes == 1, selector()
    hamster.vpa(recommendation(**LARGE), mode="Recreate")
    scene.works_again()
    assert sum(repairs(cluster, what) for what in ("rules", "namespaceSelector")) <= 2, "a fight"
    before = hamster.uids()
    cluster.client.merge("Namespace", NAMESPACE, {"metadata": {"labels": {"control-plane": "true"}}})
    hamster.seed(recommendation(**amounts("800m", "600Mi")))
    until(lambda: any(c["type"] == "EvictionsPaused" and c["reason"] == "NotPatched" for c in
                      cluster.client.get("VerticalPodAutoscaler", hamster.name + "-vpa", NAMESPACE)["status"].get("conditions", [])),
          120, "the evictions are paused")
    cluster.wait_passes("updater", 3)
    assert len(before - hamster.uids()) == 1, before - hamster.uids()
    writes = enforcer.writes
    assert scene.webhook.stop() == 0
    scene.webhook = cluster.start_daemon("admission-controller", f"--webhook-config-name={CONFIG}",
                                         "--webhook-labels=admissions.enforcer/disabled:true")
    until(lambda: keeps_away(registered(cluster)), 60, "the start has written the label")
    assert stands(selector()), selector()
    until(lambda: is_fresh(cluster), 60, "the Lease is renewed")
    gone(scene)
    until(lambda: registration(cluster) and vouches(scene), 60, "it is put back")
    cluster.wait_passes("updater", 3)
    assert not any(e in selector()["matchExpressions"] for e in AKS), selector()
    assert enforcer.writes == writes, "the label keeps it away"
    enforcer.stopping.set()
    enforcer.join()
    assert not enforcer.problems, enforcer.problems[0]


def scenario_webhook_owners(make):
    """What Helm or cert-manager's injector owns is left to them: reported once, never written."""
    scene = Scene(make)
    cluster = scene.cluster
    gone(scene)
    scene.register(annotations={"meta.helm.sh/release-name": "vpa"})
    for flag in ("false", "true"):  # with the wrong flag too
        scene.webhook.stop()
        scene.webhook = cluster.start_daemon("admission-controller", f"--register-webhook={flag}")
        patch(cluster, "/webhooks/0/clientConfig/url", f"https://127.0.0.1:{cluster.webhook_port}")
        until(lambda: is_fresh(cluster), 60, "Helm's registration does")
        version = registered(cluster)["metadata"]["resourceVersion"]
        other_ca(scene)
        until(lambda: "not ours to repair" in scene.webhook.text() or flag == "false", 30, "it is reported")
        until(lambda: is_stale(cluster), 60, "the Lease is not renewed any more")
        assert registered(cluster)["webhooks"][0]["clientConfig"]["caBundle"] != bundle(cluster.authority)
        own_ca(scene)
        until(lambda: is_fresh(cluster), 60, "Helm has repaired it")
        assert int(registered(cluster)["metadata"]["resourceVersion"]) > int(version)
    cluster.client.merge("MutatingWebhookConfiguration", CONFIG, {"metadata": {"annotations": {
        "meta.helm.sh/release-name": None, "cert-manager.io/inject-ca-from": "kube-system/webhook"}}})
    other_ca(scene)
    until(lambda: is_stale(cluster), 60, "the Lease is not renewed any more")
    assert registered(cluster)["webhooks"][0]["clientConfig"]["caBundle"] != bundle(cluster.authority), "a fight"
    before = repairs(cluster, "rules")  # of what Helm's registration had otherwise
    no_pods(scene)  # the rest of the object is ours
    until(lambda: repairs(cluster, "rules") > before, 30, "the rules are put back")
    assert registered(cluster)["webhooks"][0]["rules"][0]["resources"] == ["pods"]
    assert registered(cluster)["webhooks"][0]["clientConfig"]["caBundle"] != bundle(cluster.authority), "a fight"
    own_ca(scene)
    until(lambda: is_fresh(cluster), 60, "the injector has done its work")


CASES = (("registration gone", gone, Scene.register, "registration"),
         ("caBundle of another CA", other_ca, own_ca, "chain"),
         ("rules without pods", no_pods, pods_again, "registration"),
         ("certificate expired", expired, renewed, "chain"),
         ("webhook scaled to 0", scaled_to_zero, scaled_up, None))


def scenario_webhook_proof(make):
    """Whatever keeps new pods from being patched stops the updater; what others registered is theirs to repair."""
    for case in CASES:
        make.record(case[0], check, make, *case)


SERVICE_PORT = "kube-system/vpa-webhook:443"


class Replicas:
    """A cluster whose service leads to the first of two replicas that manage their certificates.

    On a real server the clock of the replicas alone goes faster (`rate`), and the server must take their certificates for valid:
    it begins so many seconds behind that they are neither over nor in the future in the meantime.
    """

    def __init__(self, make, lifetime, rate, behind=0):
        self.ports, self.real = [free_port(), free_port()], make.tier != "sim"
        self.cluster = cluster = make(rate=rate, flags=[f"--service-map={SERVICE_PORT}=127.0.0.1:{self.ports[0]}"])
        cluster.install()
        cluster.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        self.flags, self.processes = [f"--certificate-lifetime={lifetime}s", "--webhook-failure-policy-fail=true",
                                      "--status-lease-update-interval=20s"], []
        self.env, self.now = cluster.env, lambda: seconds(cluster.plane.now())
        if self.real:
            cluster.apply(ROOT / "deploy/admission-controller-certificates.yaml")
            until(lambda: cluster.client.find("ServiceAccount", "default", NAMESPACE), 60, "the default service account")
            self.serve(make)
            clock = ClockFile(cluster.processes.folder / "replicas.clock", rate, behind)
            self.env, self.now = {"VPA_SIMULATED_CLOCK": str(clock.path)}, clock.now

    def serve(self, make):
        """The service, at port 443 of an address of its own; nothing but a relay is behind it."""
        address = f"127.1.{self.ports[0] >> 8}.{self.ports[0] & 255}"
        try:
            self.relay = Relay("127.0.0.1", self.ports[0], listen=(address, 443))
        except PermissionError:
            raise make.skip("port 443 is for root") from None
        self.cluster.client.apply({"apiVersion": "v1", "kind": "Service",
                                   "metadata": {"name": "vpa-webhook", "namespace": "kube-system"},
                                   "spec": {"type": "ExternalName", "externalName": address}})

    def start(self, number):
        cluster = self.cluster
        config = cluster.processes.folder / f"replica-{number}.kubeconfig"
        write_kubeconfig(config, cluster.plane.url, cluster.plane.ca, token=cluster.plane.token("vpa-admission-controller"))
        if self.real:  # by their clock its certificate is not valid yet
            known = json.loads(config.read_text())
            known["clusters"][0]["cluster"] = {"server": cluster.plane.url, "insecure-skip-tls-verify": True}
            config.write_text(json.dumps(known))
        process = cluster.processes.start(f"replica-{number}", [
            cluster.programs / "vpa-admission-controller", f"--kubeconfig={config}", f"--address=127.0.0.1:{free_port()}",
            f"--port={self.ports[number]}", "--v=3", "--manage-certificates", *self.flags],
            {**self.env, "NAMESPACE": "kube-system"})
        self.processes.append(process)

    def age_of_lease(self):
        return age_of_lease(self.cluster, self.now())

    def secret(self):
        found = self.cluster.client.find("Secret", "vpa-webhook-certificates", "kube-system") or {}
        return {k: base64.b64decode(v).decode() for k, v in (found.get("data") or {}).items()}

    def bundle(self):
        found = registration(self.cluster)
        return base64.b64decode(found["webhooks"][0]["clientConfig"].get("caBundle", "")).decode() if found else ""

    def steps(self, step):
        return sum(p.text().count(f'"Certificates of the webhook" secret="vpa-webhook-certificates" step="{step}"')
                   for p in self.processes)

    def served(self, number):
        """The certificate that a replica serves."""
        return ssl.get_server_certificate(("127.0.0.1", self.ports[number]))


class Load:
    """Pods that are created for nothing (dryRun) through the webhook, whose failure policy is Fail: 600 a second, or as many
    as the machine can."""

    def __init__(self, cluster, threads=4, rate=600):
        self.client = cluster.client
        self.stopping, self.counts, self.problems = False, [0] * threads, []
        self.pause = threads / rate
        self.threads = [threading.Thread(target=self.run, args=(i,), daemon=True) for i in range(threads)]
        self.began = time.monotonic()
        for thread in self.threads:
            thread.start()

    def run(self, number):
        try:
            self.ask(number)
        except Exception:  # whatever it is, who stops this is to know
            self.problems.append(traceback.format_exc())

    def ask(self, number):
        pod = json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p{number}", "namespace": NAMESPACE},
                          "spec": {"containers": [{"name": "c", "image": "none"}]}}).encode()
        due = time.monotonic()
        while not self.stopping:
            due = max(due + self.pause, time.monotonic() - 1)  # a second behind is not caught up with
            time.sleep(max(0, due - time.monotonic()))
            status, _, text = self.client.raw("POST", f"/api/v1/namespaces/{NAMESPACE}/pods?dryRun=All", pod)
            if status != 201:
                self.problems.append(text[:500])
            self.counts[number] += 1

    def stop(self):
        """Admissions a second."""
        self.stopping = True
        for thread in self.threads:
            thread.join()
        return sum(self.counts) / (time.monotonic() - self.began)


def scenario_webhook_certificates(make):
    """Two replicas start at once and agree on one CA; three rotations of it under load: no admission fails.

    A certificate is valid for ten minutes at least, and the clock of a real server cannot be moved. So two rotations take five
    minutes there, and three (PLUMB_ROTATIONS=3) ten. Faster, and a busy machine has no time to rotate: from two thirds of its
    life on a certificate is replaced, in two steps a minute apart; two minutes before its end it proves nothing any more. On the
    simulator it lives longer, so that ten real seconds are left for what is done in between, instead of one.
    """
    rotations = 3 if make.tier == "sim" else int(os.environ.get("PLUMB_ROTATIONS", 2))
    # Valid from 300 of their seconds before to `lifetime` after the moment they are made.
    lifetime, rate, behind = (900, 12.0, 0) if make.tier == "sim" else (600, 3.0, 400) if rotations < 3 else (600, 2.0, 350)
    replicas = Replicas(make, lifetime=lifetime, rate=rate, behind=behind)
    cluster = replicas.cluster
    for number in (0, 1):
        replicas.start(number)
    until(lambda: replicas.age_of_lease() < STALE, 60, "the Lease is renewed")
    first = replicas.secret()
    assert replicas.bundle() == first["ca.crt"] and replicas.steps("created") <= 2
    for number in (0, 1):
        # The Lease was renewed by one of them: the other may not listen yet.
        served = until(lambda: replicas.served(number), 60, f"replica {number} serves")
        assert served.split() == first["tls.crt"].split(), number
    # Before one of them had made the registration the other may have missed it, and said so.
    said = [len(process.text()) for process in replicas.processes]
    load, cas = Load(cluster), {first["ca.crt"]}

    def rotated(times):
        cas.add(replicas.secret()["ca.crt"])
        return len(cas) > times and "previous-ca.crt" not in replicas.secret()
    until(lambda: rotated(rotations), 180 * 15 / rate, f"{rotations} rotations")
    rate = load.stop()
    make.say(f"{rotations} rotations under {rate:.0f} admissions a second ({sum(load.counts)}), {len(load.problems)} failed")
    assert not load.problems, load.problems[:3]
    last = replicas.secret()
    until(lambda: replicas.bundle() == last["ca.crt"] or last != replicas.secret(), 60, "the old CAs are forgotten")
    for process, before in zip(replicas.processes, said):
        text = process.text()[before:]
        assert "is repaired" not in text and "cannot use the webhook" not in text, text[-3000:]
    until(lambda: replicas.age_of_lease() < STALE, 60, "the Lease is still renewed")


def give_the_nameless(cluster, account):
    """The rights of an account: the simulator speaks plain HTTP, over which our programs do not send their token."""
    nobody = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "system:anonymous"}
    for obj in documents(ROOT / "deploy/vpa-rbac.yaml"):
        if any(subject["name"] == account for subject in obj.get("subjects", ())):
            cluster.client.apply({**obj, "subjects": [*obj["subjects"], nobody]})


def scenario_webhook_rights(make):
    """Managed certificates and repairs under the rights of deploy/, which allow no new Secret: both work. Emptied, or applied again
    after it was deleted, the Secret gets new certificates, and the API server trusts them; deleted alone it changes nothing (simulator)."""
    cluster = make(rate=20.0, users=[("admin-secret", "admin", "1", "system:masters")])
    cluster.install()
    if cluster.tier == "sim":
        give_the_nameless(cluster, "vpa-admission-controller")
    manifest = ROOT / "deploy/admission-controller-certificates.yaml"
    cluster.apply(manifest)
    webhook = cluster.start_daemon("admission-controller", "--manage-certificates")

    def refuses():
        try:
            cluster.client.create({
                "apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler",
                "metadata": {"name": "bad", "namespace": "kube-system"},
                "spec": {"targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"},
                         "resourcePolicy": {"containerPolicies": [{"containerName": "*", "minAllowed": {"cpu": "1.0001"}}]}}})
        except ApiError as error:
            return "admission webhook" in error.status["message"]
        cluster.client.delete("VerticalPodAutoscaler", "bad", "kube-system")
        return False
    until(refuses, 60, "the API server calls the webhook")
    for count in (1, 2):  # the second event counts the first one up
        cluster.client.delete("MutatingWebhookConfiguration", CONFIG)
        until(lambda: repairs(cluster, "gone") == count, 60, "it is registered again")
        until(lambda: sum(e.get("count", 1) for e in cluster.client.list("Event", "kube-system")
                          if e["reason"] == "RegistrationRepaired") == count, 30, "an event tells")
    until(refuses, 60, "the API server calls the webhook")
    kind, name, namespace = "Secret", "vpa-webhook-certificates", "kube-system"
    authority = lambda: (cluster.client.get(kind, name, namespace).get("data") or {}).get("ca.crt")  # noqa: E731
    secret = cluster.client.find(kind, name, namespace)
    assert set(secret["data"]) == {"ca.crt", "ca.key", "tls.crt", "tls.key"}, list(secret["data"])
    trusted = lambda: registered(cluster)["webhooks"][0]["clientConfig"]["caBundle"]  # noqa: E731
    before = trusted()

    def another():
        until(lambda: authority() not in (None, before), 120, "there is another CA")
        until(lambda: trusted() == authority(), 60, "it is trusted")
        until(refuses, 60, "the API server calls the webhook")
        return trusted()
    # As the manifest says: kubectl patch secret ... --type=merge -p '{"data":null}'
    cluster.client.merge(kind, name, {"data": None}, namespace)
    before = another()
    assert "forbidden" not in webhook.text(), webhook.text()[-2000:]
    if cluster.tier != "sim":
        return  # a refusal in their audit logs fails the rights
    cluster.client.delete(kind, name, namespace)
    until(lambda: "forbidden" in webhook.text(), 120, "it may not make the Secret")
    assert trusted() == before and not cluster.client.find(kind, name, namespace)
    cluster.apply(manifest)
    another()


scenario_webhook_certificates.seconds = 330
scenario_webhook_proof.seconds = 250
scenario_webhook_owners.seconds = 120
scenario_webhook_repair.each_minor = True
