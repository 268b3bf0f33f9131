"""Evictions that cannot help: at most one, told with what was seen (condition, event, metric), and none where nothing is to be
learned from a replacement. Upstream evicts without end in most of these."""
import signal

from bed import Bed, NAMESPACE, resources_of, until
from formulas import parse_quantity
from sidecar import PodWebhook

OLD, NEW = {"cpu": "100m", "memory": "64Mi"}, {"cpu": "400m", "memory": "128Mi"}
PASSES = 8


def make_bed(make, rate=60.0, **options):
    """A webhook, an updater that looks at what its evictions did, one workload of three replicas. A pass takes a second."""
    bed = Bed(make, rate=rate, webhook=True, prove=True, updater=None, **options)
    bed.workload("app", OLD, replicas=3)
    bed.vpa("app", "Recreate")
    return bed


def rival(bed, **what):
    return PodWebhook(bed.client, bed.cluster.processes.folder / "rival-certs", NAMESPACE, **what)


def begin(bed, patience=None, **target):
    """The updater and the recommendation, both known to the webhook."""
    bed.recommend("app", **(target or NEW))
    bed.cluster.webhook_knows()
    bed.start_updater(f"--proof-patience={patience or int(5 * max(1, bed.rate / 5))}s")


def paused(bed):
    """The condition, or None."""
    found = bed.client.get("VerticalPodAutoscaler", "app", NAMESPACE).get("status", {}).get("conditions") or []
    return next((c for c in found if c["type"] == "EvictionsPaused" and c["status"] == "True"), None)


def one_useless(bed, make, name, reason):
    """One eviction, then the breaker; nothing more in the next passes."""
    condition = until(lambda: paused(bed), 90, "the condition EvictionsPaused")
    bed.passes(PASSES)
    made = bed.evictions()
    make.say(f"      {name}: {made} useless eviction, {condition['reason']}: {condition['message']}")
    assert made == 1, (made, condition)
    assert condition["reason"] == reason, condition
    assert bed.events("EvictionsPaused", "app") >= 1
    assert bed.metric("vpa_updater_failed_proofs_total", vpa_name="app", reason=reason) == 1
    assert bed.metric("vpa_updater_paused", scope="vpa") == 1


def none_at_all(bed, make, name):
    bed.passes(PASSES)
    done = [p for p in bed.pods("app") if resources_of(p)[0]["cpu"] != parse_quantity(OLD["cpu"])]
    make.say(f"      {name}: 0 useless evictions")
    assert not done and not paused(bed), (done, paused(bed))


def scenario_breaker_helps(make):
    """Nothing is wrong: one pod is waited for, then all get their values, and nothing is paused."""
    bed = make_bed(make)
    begin(bed)
    until(lambda: len(bed.pods("app")) == 3 and bed.applied("app", NEW), 90, "all replicas have their values")
    bed.passes(3)
    assert bed.evictions() == 3 and not paused(bed), (bed.evictions(), paused(bed))
    assert bed.metric("vpa_updater_paused", scope="vpa") == 0
    found = bed.cluster.addresses["updater"].request("GET", f"/decisions?namespace={NAMESPACE}&vpa=app")["decisions"]
    made = [d for d in found if d["decision"] == "evict"]
    assert len(made) == 3 and all(d["rule"] == "accepted" and "cpu request 100m -> 400m" in d["why"] for d in made), found
    assert all(d["inputs"]["admission"] == "accepted" and d["inputs"]["vpa"]["name"] == "app" for d in made), found
    assert [d for d in found if d["decision"] == "go on"], found


def scenario_breaker_rival(make):
    """Another webhook resets the requests that ours has written."""
    bed = make_bed(make)
    rival(bed, patch=[{"op": "replace", "path": "/spec/containers/0/resources/requests", "value": OLD}])
    begin(bed)
    one_useless(bed, make, "rival webhook", "PatchedBack")


def scenario_breaker_quota(make):
    """The replacement is refused."""
    bed = make_bed(make)
    if bed.is_sim:  # which counts no quota
        rival(bed, refusal="exceeded quota: app, requested: requests.cpu=400m")
    else:
        bed.client.create({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "app", "namespace": NAMESPACE},
                           "spec": {"hard": {"requests.cpu": "310m"}}})
        bed.client.merge("ResourceQuota", "app", {"status": {"hard": {"requests.cpu": "310m"}, "used": {"requests.cpu": "300m"}}},
                         NAMESPACE, "status")  # as its controller would, which does not run here
    begin(bed)
    one_useless(bed, make, "quota exhausted", "NoReplacement")


def scenario_breaker_no_node(make):
    """No node is large enough for what is recommended."""
    bed = make_bed(make, node_cpu="4")
    begin(bed, cpu="6", memory="128Mi")
    one_useless(bed, make, "no node large enough", "Unschedulable")


def scenario_breaker_crash(make):
    """Pods made by now end as soon as they begin."""
    bed = make_bed(make)
    rival(bed, patch=[{"op": "add", "path": "/metadata/annotations/fakelet.plumb~1fault", "value": "crash"}])
    begin(bed)
    one_useless(bed, make, "image that crashes", "Crashing")


def scenario_breaker_webhook_frozen(make):
    """The webhook is registered and does not answer in time; the API server lets pods pass then."""
    bed = make_bed(make, rate=1.0)  # such times are real
    begin(bed, patience=60)
    bed.cluster.daemons["admission-controller"].process.send_signal(signal.SIGSTOP)
    try:
        one_useless(bed, make, "webhook times out", "NotPatched")
    finally:
        bed.cluster.daemons["admission-controller"].process.send_signal(signal.SIGCONT)


def scenario_breaker_webhook_restarts(make):
    """The webhook is killed while pods are evicted, and back before its Lease is stale: the pods that came back as they were are
    tried again, one first, and evictions are paused for nobody."""
    names = [f"app-{i}" for i in range(4)]
    bed = Bed(make, webhook=True, prove=True, updater=None, admission=("--status-lease-update-interval=3s",))
    webhook = bed.cluster.daemons["admission-controller"]
    for name in names:
        bed.workload(name, OLD)
        bed.vpa(name, "Recreate")
        bed.recommend(name, **NEW)
    bed.cluster.webhook_knows()
    before = {name: bed.uids(name) for name in names}

    def lease():
        return (bed.client.find("Lease", "vpa-admission-controller", "kube-system") or {"spec": {}})["spec"]
    until(lambda: lease().get("renewTime"), 30, "the webhook renews its Lease")
    first = lease()["acquireTime"]
    webhook.kill()
    bed.start_updater("--use-admission-controller-status=true", "--proof-patience=60s")
    until(lambda: all(bed.uids(name) - before[name] and len(bed.pods(name)) == 2 for name in names), 45,
          "a pod of each came back while the webhook is away")
    assert not any(bed.applied(name, NEW) for name in names)
    bed.passes(2)
    webhook.start()
    until(lambda: all(len(bed.pods(name)) == 2 and bed.applied(name, NEW) for name in names), 120, "all replicas have their values")
    assert lease()["acquireTime"] != first
    useless = bed.evictions() - 2 * len(names)
    make.say(f"      webhook restarts: {useless} useless evictions for {len(names)} VPAs")
    assert useless <= len(names), useless
    assert "nothing is evicted in the whole cluster" not in bed.updater.text()
    assert not bed.metric("vpa_updater_paused", scope="vpa") and not bed.metric("vpa_updater_paused", scope="cluster")


def scenario_breaker_limit_range(make):
    """A LimitRange clamps what is recommended to what the pods have already."""
    bed = make_bed(make)
    bed.client.create({"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "app", "namespace": NAMESPACE},
                       "spec": {"limits": [{"type": "Container", "min": OLD, "default": OLD, "max": OLD}]}})
    begin(bed)
    none_at_all(bed, make, "LimitRange that clamps")
    assert bed.evictions() == 0, bed.calls()


def scenario_breaker_budget(make):
    """A PodDisruptionBudget refuses each eviction: nothing is evicted, and nothing can be learned."""
    bed = make_bed(make)
    bed.client.create({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
                       "metadata": {"name": "app", "namespace": NAMESPACE},
                       "spec": {"minAvailable": 3, "selector": {"matchLabels": {"app": "app"}}}})
    before = bed.uids("app")
    until(lambda: bed.client.get("PodDisruptionBudget", "app", NAMESPACE)["status"].get("expectedPods") == 3, 60,
          "the budget is counted")
    begin(bed)
    none_at_all(bed, make, "PDB that always refuses")
    assert bed.uids("app") == before


def selected_groups(make, count, rate, **options):
    """One VPA that selects the pods of so many Deployments."""
    names = [f"app-{i}" for i in range(count)]
    bed = Bed(make, rate=rate, prove=True, updater=None, **options)
    for name in names:
        bed.workload(name, OLD, ready=False, containers=[{"name": "app", "image": "fakelet", "resources": {"requests": OLD}}],
                     labels={"team": "web"})
    until(lambda: all(len(bed.pods(name)) == 2 for name in names), 60, "all pods are there")
    bed.vpa("app", "Recreate", selector={"matchLabels": {"team": "web"}})
    bed.recommend("app", **NEW)
    return bed, names


def scenario_breaker_groups(make):
    """No webhook, and a VPA whose pods form five groups: in three hours one pod at once and one after each pause, not one of each
    group, nor a pause that five failures made long."""
    bed, names = selected_groups(make, 5, rate=120.0)
    begun = bed.now()
    bed.start_updater("--proof-patience=600s")
    until(lambda: bed.now() - begun > 3 * 3600, 180, "three hours have passed", every=1)
    made = bed.evictions()
    make.say(f"      a VPA over {len(names)} Deployments without a webhook: {made} evictions in three hours")
    assert 4 <= made <= 5, made  # at 0, 10, 30, 70 and 150 minutes
    assert paused(bed)["reason"] == "NotPatched", paused(bed)


scenario_breaker_groups.tiers = ["sim"]
scenario_breaker_groups.why = "three hours"


def scenario_breaker_groups_help(make):
    """The same with a webhook: when one group has shown that evictions help, the others show it side by side."""
    bed, names = selected_groups(make, 5, rate=60.0, webhook=True)
    bed.cluster.webhook_knows()
    bed.start_updater("--proof-patience=60s")
    until(lambda: all(len(bed.pods(name)) == 2 and bed.applied(name, NEW) for name in names), 120, "all replicas have their values")
    bed.passes(2)
    assert bed.evictions() == 2 * len(names) and not paused(bed), (bed.evictions(), paused(bed))


def scenario_breaker_policy(make):
    """maxAllowed is lowered below the recommendation: each pod is evicted once for the lower value, which helps."""
    bed = make_bed(make)
    begin(bed)
    until(lambda: len(bed.pods("app")) == 3 and bed.applied("app", NEW), 90, "all replicas have their values")
    before = bed.evictions()
    least = {"cpu": "200m", "memory": "64Mi"}
    bed.vpa("app", "Recreate", policies=[{"containerName": "app", "maxAllowed": least}])
    until(lambda: len(bed.pods("app")) == 3 and bed.applied("app", least), 120, "all replicas have the lower values")
    bed.passes(PASSES)
    make.say(f"      recommendation outside maxAllowed: 0 useless evictions, {bed.evictions() - before} that helped")
    assert bed.evictions() - before == 3 and not paused(bed), (bed.evictions(), before, paused(bed))


def scenario_breaker_repaired(make):
    """What was in the way goes: the VPA is changed, and the updater goes on at once."""
    bed = make_bed(make)
    webhook = rival(bed, patch=[{"op": "replace", "path": "/spec/containers/0/resources/requests", "value": OLD}])
    begin(bed)
    until(lambda: paused(bed), 90, "the condition EvictionsPaused")
    bed.client.delete("MutatingWebhookConfiguration", "zz-sidecar")
    webhook.close()
    bed.vpa("app", "Recreate", minReplicas=2)
    until(lambda: len(bed.pods("app")) == 3 and bed.applied("app", NEW), 120, "all replicas have their values")
    until(lambda: not paused(bed), 60, "the condition is gone")


def scenario_breaker_dry_run(make):
    """Tried with dryRun=All before: a rival webhook is found without a single eviction."""
    bed = make_bed(make)
    rival(bed, patch=[{"op": "replace", "path": "/spec/containers/0/resources/requests", "value": OLD}])
    bed.client.apply({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "dry-run"},
                      "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "create"]}]})
    bed.client.apply({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
                      "metadata": {"name": "dry-run"},
                      "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "dry-run"},
                      "subjects": [{"kind": "ServiceAccount", "name": "vpa-updater", "namespace": "kube-system"}]})
    bed.recommend("app", **NEW)
    bed.cluster.webhook_knows()
    before = bed.uids("app")
    bed.start_updater("--prove-evictions=dry-run")
    condition = until(lambda: paused(bed), 90, "the condition EvictionsPaused")
    bed.passes(PASSES)
    make.say(f"      dry run: {bed.evictions()} useless evictions, {condition['reason']}: {condition['message']}")
    assert bed.evictions() == 0 and bed.uids("app") == before, bed.calls()
    assert condition["reason"] == "PatchedBack", condition


scenario_breaker_dry_run.other_rights = True  # no part of the report on the rights of deploy/


def scenario_decisions_token(make):
    """/decisions for callers from elsewhere: a token that the API server knows and whose owner may, and nobody else."""
    bed = Bed(make, updater=None, webhook=True, admission=("--decisions-local=false",))
    bed.start_updater("--decisions-local=false")
    bed.cluster.start_daemon("recommender", "--decisions-local=false")
    daemons = [bed.cluster.addresses[name] for name in ("recommender", "updater", "admission-controller")]

    def settled(daemon, token):
        """What it answers. 503 is none yet: the API server was slow, or another token was refused a moment ago."""
        headers = {"Authorization": f"Bearer {token}"} if token else None
        answer = daemon.raw("GET", "/decisions", headers=headers)[0]
        return answer if answer != 503 else None

    def status(token=None):
        answers = {until(lambda: settled(daemon, token), 60, "the token is checked") for daemon in daemons}
        return answers.pop() if len(answers) == 1 else answers
    path = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/default/token"
    token = bed.client.request("POST", path, {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
                                              "spec": {}})["status"]["token"]
    for unknown in (None, "nonsense"):
        answer = status(unknown)
        assert answer == 401, (unknown, answer)
    answer = status(token)
    assert answer == 403, answer
    bed.client.apply({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
                      "metadata": {"name": "decisions"},
                      "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
                                  "name": "system:vpa-decisions-reader"},
                      "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": NAMESPACE}]})
    until(lambda: status(token) == 200, 30, "the token's owner may")


scenario_decisions_token.tiers = ["real"]
scenario_decisions_token.why = "the simulator knows no tokens of service accounts"
scenario_breaker_limit_range.each_minor = True
