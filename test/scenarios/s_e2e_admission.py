"""Acceptance cases A1 to A29: what the webhook makes of pods and VPAs."""
from cluster import until
from fixtures import Hamster, amounts, container, numbers, recommendation, spec_of
from kube import ApiError

START = amounts("100m", "100Mi")
WANTED = amounts("250m", "200Mi")
EQUAL, RATIO = 1e-8, {"cpu": 1.5, "memory": 2.0}


def check_pod(pod, expected):
    """expected: one entry per container: requests, and perhaps limits, ratio, most, least (of limits)."""
    for index, want in enumerate(expected):
        requests, limits = spec_of(pod, index)
        assert requests == numbers(want["requests"]), (index, requests, want)
        if "limits" in want:
            assert limits == numbers(want["limits"]), (index, limits, want)
        for resource, ratio in want.get("ratio", {}).items():
            assert abs(limits[resource] / requests[resource] - ratio) <= EQUAL, (index, requests, limits)
        for resource, most in numbers(want.get("most", {})).items():
            assert limits[resource] <= most, (index, limits)
        for resource, least in numbers(want.get("least", {})).items():
            assert limits[resource] >= least, (index, limits)


def pod_case(identity, title, expected, rec=(), containers=None, limits=None, then=None, **vpa):
    """A case whose Deployment is scaled up once VPA and recommendation are there; all pods must be as expected.

    limits: (type, bounds) of a LimitRange.
    """
    def run(cluster, namespace):
        hamster = Hamster(cluster, namespace)
        if limits:
            hamster.limit_range(limits[0], **limits[1])
        hamster.create(containers or [container(requests=START)], replicas=0)
        hamster.vpa(*rec, **vpa)
        cluster.webhook_knows()
        hamster.change(replicas=3)
        until(lambda: len(hamster.pods()) == 3, 60, "three pods")
        for pod in hamster.pods():
            check_pod(pod, expected)
        if then:
            then(hamster)
    run.__doc__ = f"{identity}: {title}"
    return run


def only(requests, **more):
    return [{"requests": requests, **more}]


def same(cpu, memory):
    """A container whose limits equal its requests."""
    return {"requests": amounts(cpu, memory), "limits": amounts(cpu, memory)}


def annotate(hamster):
    hamster.seed(recommendation(**START))
    pod = hamster.pods()[0]["metadata"]["name"]
    hamster.client.merge("Pod", pod, {"metadata": {"annotations": {"someAnnotation": "someValue"}}}, hamster.namespace)


REC = [recommendation(**WANTED)]
TWICE = amounts("150m", "200Mi")


def three(*cpu):
    return [container(n, amounts(c, "100Mi"), amounts(c, "100Mi")) for n, c in zip(("hamster", "hamster2", "hamster3"), cpu)]


def rec_three(*cpu):
    return [recommendation(n, cpu=c, memory="100Mi") for n, c in zip(("hamster", "hamster2", "hamster3"), cpu)]


def boost(**kind):
    return {"cpu": {"durationSeconds": 15, **kind}}


CASES = [
    pod_case("A1", "applies the recommendation, InPlaceOrRecreate", only(WANTED), REC, mode="InPlaceOrRecreate"),
    pod_case("A2", "applies the recommendation, default mode", only(WANTED), REC),
    pod_case("A3", "surplus container in the recommendation", only(WANTED),
             [*REC, recommendation("removed", cpu="500m", memory="500Mi")]),
    pod_case("A4", "recommendation for an unknown container only", only(START), [recommendation("removed", **WANTED)]),
    pod_case("A5", "two containers, one with recommendation", [{"requests": WANTED}, {"requests": START}], REC,
             [container(requests=START), container("hamster2", START)]),
    pod_case("A6", "surplus container and container LimitRange", only(START),
             [recommendation(cpu="500m", memory="500Mi"), recommendation("hamster2", **WANTED)],
             limits=("Container", {"max": amounts("300m", "1Gi")})),
    pod_case("A7", "container LimitRange, limits defaulted", only(START), REC,
             limits=("Container", {"max": amounts("300m", "1Gi")})),
    pod_case("A8", "pod LimitRange, one container without recommendation",
             [{"requests": amounts("200m", "512Mi")}, {"requests": amounts("200m", "512Mi")}],
             [recommendation(cpu="400m", memory="600Mi")],
             [container(requests=START, limits=START),
              container("hamster2", amounts("400m", "600Mi"), amounts("400m", "600Mi"))],
             limits=("Pod", {"max": amounts("400m", "1Gi")})),
    pod_case("A9", "patching a live pod is not blocked", only(WANTED), REC, then=annotate),
    pod_case("A10", "guaranteed pods stay guaranteed", only(WANTED, limits=WANTED), REC,
             [container(requests=START, limits=START)]),
    pod_case("A11", "limit ratio kept", only(WANTED, ratio=RATIO), REC, [container(requests=START, limits=TWICE)]),
    pod_case("A12", "RequestsOnly", only(WANTED, limits=amounts("500m", "500Mi")), REC,
             [container(requests=START, limits=amounts("500m", "500Mi"))],
             policies=[{"containerName": "hamster", "controlledValues": "RequestsOnly"}]),
    pod_case("A13", "container max", only(amounts("200m", "200Mi"), ratio=RATIO, most=amounts("300m", "1Gi")), REC,
             [container(requests=START, limits=TWICE)], limits=("Container", {"max": amounts("300m", "1Gi")})),
    pod_case("A14", "container min", only(amounts("250m", "250Mi"), ratio=RATIO, least=amounts("75m", "250Mi")),
             [recommendation(cpu="250m", memory="100Mi")],
             [container(requests=amounts("100m", "200Mi"), limits=amounts("150m", "400Mi"))],
             limits=("Container", {"min": amounts("50m", "250Mi")})),
    pod_case("A15", "pod max", only(amounts("200m", "200Mi"), ratio=RATIO, most=amounts("300m", "1Gi")),
             [recommendation(**WANTED), recommendation("hamster2", **WANTED)],
             [container(requests=START, limits=TWICE), container("hamster2", START, TWICE)],
             limits=("Pod", {"max": amounts("600m", "1Gi")})),
    pod_case("A16", "pod min, CPU only", [same(c, "100Mi") for c in ("6m", "28m", "118m")], rec_three("4m", "21m", "90m"),
             three("1m", "1m", "1m"), limits=("Pod", {"min": {"cpu": "150m"}})),
    pod_case("A17", "pod max, CPU only", [same(c, "100Mi") for c in ("2m", "14m", "62m")], rec_three("4m", "21m", "90m"),
             three("1m", "1m", "1m"), limits=("Pod", {"max": {"cpu": "80m"}})),
    pod_case("A18", "pod min", only(amounts("120m", "250Mi"), ratio=RATIO, least=amounts("75m", "250Mi")),
             [recommendation(cpu="120m", memory="100Mi"), recommendation("hamster2", cpu="120m", memory="100Mi")],
             [container(n, amounts("100m", "200Mi"), amounts("150m", "400Mi")) for n in ("hamster", "hamster2")],
             limits=("Pod", {"min": amounts("100m", "500Mi")})),
    pod_case("A19", "maxAllowed", only(amounts("233m", "150Mi")), REC,
             policies=[{"containerName": "hamster", "maxAllowed": amounts("233m", "150Mi")}]),
    pod_case("A20", "minAllowed", only(amounts("90m", "80Mi")), [recommendation(cpu="50m", memory="60Mi")],
             policies=[{"containerName": "hamster", "minAllowed": amounts("90m", "80Mi")}]),
    pod_case("A21", "no recommendation", only(START)),
    pod_case("A22", "no recommendation, no requests", only({}), containers=[container()]),
    pod_case("A26", "boost by factor", only(amounts("200m", "100Mi")), [{"containerName": "hamster", "target": START}],
             startupBoost=boost(type="Factor", factor=2)),
    pod_case("A27", "boost by quantity", only(amounts("600m", "100Mi")), [{"containerName": "hamster", "target": START}],
             startupBoost=boost(type="Quantity", quantity="500m")),
    pod_case("A28", "boost in mode Off", only(amounts("200m", "100Mi")), mode="Off",
             startupBoost=boost(type="Factor", factor=2)),
    pod_case("A29", "no boost for an opted-out container", only(START),
             policies=[{"containerName": "hamster", "mode": "Off"}], startupBoost=boost(type="Factor", factor=2)),
]

MALFORMED = ('admission webhook "vpa.k8s.io" denied the request: VerticalPodAutoscaler.autoscaling.k8s.io "oom-test-vpa" is '
             "invalid: .: Internal error: quantities must match the regular expression "
             "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")


def raw_vpa(namespace, name, policy, **update):
    return {"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "hamster"},
                     **({"updatePolicy": update} if update else {}), "resourcePolicy": {"containerPolicies": [policy]}}}


def refused(cluster, obj):
    try:
        cluster.client.create(obj)
    except ApiError as error:
        return error.status["message"]
    raise AssertionError("accepted")


def case_a23(cluster, namespace):
    """A23: VPA validation"""
    cluster.client.create(raw_vpa(namespace, "good", {"containerName": "*", "minAllowed": {"cpu": "50m"}}))
    text = refused(cluster, raw_vpa(namespace, "bad", {"containerName": "*", "minAllowed": {"requests": {"cpu": "50m"}}}))
    assert text.startswith('admission webhook "vpa.k8s.io" denied the request:'), text


def case_a24(cluster, namespace):
    """A24: VPA validation of a quantity"""
    text = refused(cluster, raw_vpa(namespace, "oom-test-vpa", {
        "containerName": "hamster", "oomBumpUpRatio": "not-a-number", "oomMinBumpUp": 104857600}, updateMode="Auto"))
    assert text == MALFORMED, text


def case_a25(cluster, namespace):
    """A25: certificate rotation"""
    cluster.rotate_webhook_certificates()
    log = cluster.daemons["admission-controller"]
    for text in ("New certificate found, reloading", "New client CA found, reloading and patching webhook",
                 "Successfully patched webhook with new client CA"):
        until(lambda: text in log.text(), 60, f"the log says: {text}")
    bad = raw_vpa(namespace, "bad", {"containerName": "*", "minAllowed": {"requests": {"cpu": "50m"}}})

    def by_webhook():
        try:
            cluster.client.create(bad)
        except ApiError as error:
            return "admission webhook" in error.status["message"]
        cluster.client.delete("VerticalPodAutoscaler", "bad", namespace)
        return False
    until(by_webhook, 30, "an invalid VPA is refused by the webhook")


def scenario_e2e_admission(make):
    """Acceptance cases A1 to A29, side by side in namespaces of their own."""
    cluster = make()
    cluster.install()
    cluster.start_daemon("admission-controller")
    until(lambda: cluster.client.find("MutatingWebhookConfiguration", "vpa-webhook-config"), 60,
          "the webhook has registered itself")
    make.cases(cluster, [*CASES, case_a23, case_a24])
    make.cases(cluster, [case_a25])


scenario_e2e_admission.seconds = 50
scenario_e2e_admission.each_minor = True
