"""The daemons under the rights that upstream's manifests grant: who only changes the images has these."""
import pathlib

import yaml

from cluster import DAEMONS, ROOT, documents, until
from fixtures import Hamster, amounts, container, spec_of

RIGHTS = pathlib.Path(__file__).with_name("upstream-rbac.yaml")
# What upstream's roles do not grant and each daemon says once.
LACKING = {"recommender": "vpa-recommender-lease-standby", "updater": "vpa-panic"}
USAGE = {"fakelet.plumb/cpu": "400m", "fakelet.plumb/memory": "300Mi"}


def roles():
    """Service accounts, roles and bindings as a server wants them."""
    for daemon in DAEMONS:
        yield {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": f"vpa-{daemon}", "namespace": "kube-system"}}
    for role in yaml.safe_load(RIGHTS.read_text()):
        kind = "Role" if "namespace" in role else "ClusterRole"
        metadata = {k: role[k] for k in ("name", "namespace") if k in role}
        api = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": metadata}
        rules = [dict(zip(("apiGroups", "resources", "verbs", "resourceNames"), rule)) for rule in role["rules"]]
        yield {**api, "kind": kind, "rules": rules}
        yield {**api, "kind": kind + "Binding",
               "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role["name"]},
               "subjects": [{"kind": "ServiceAccount", "name": f"vpa-{d}", "namespace": "kube-system"} for d in role["to"]]}


def scenario_upstream_rights(make):
    """All that the daemons do works under upstream's roles; what these lack (ConfigMaps for the updater) is said once."""
    cluster = make(rate=30.0, fresh=True)
    for obj in [*documents(ROOT / "deploy/vpa-v1-crd-gen.yaml"), *roles()]:
        cluster.client.apply(obj)
    for name in ("evicted", "resized"):
        cluster.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    until(lambda: cluster.client.list("VerticalPodAutoscaler") == [], 30, "VPAs are served")
    cluster.start_fakelet()
    cluster.start_daemon("admission-controller")
    cluster.start_daemon("recommender", "--leader-elect=true", "--checkpoints-gc-interval=2s")
    cluster.start_daemon("updater", "--leader-elect=true")
    until(lambda: cluster.client.find("MutatingWebhookConfiguration", "vpa-webhook-config"), 60, "the webhook is registered")
    workloads = []
    for name, mode in (("evicted", "Recreate"), ("resized", "InPlaceOrRecreate")):
        hamster = Hamster(cluster, name)
        hamster.create([container(requests=amounts("50m", "50Mi"))], 2, USAGE)
        hamster.wait_pods(2)
        workloads.append((hamster, hamster.uids()))
        hamster.vpa(mode=mode)
    (evicted, first), (resized, kept) = workloads
    evicted.wait_evicted(first, 2, 120)
    until(lambda: len(evicted.pods()) == 2 and all(spec_of(p)[0]["cpu"] > 0.3 for p in evicted.pods()), 60,
          "the webhook patches the successors")
    resized.wait_resized(kept, 90, lambda pod: spec_of(pod)[0]["cpu"] > 0.3)
    for namespace in ("evicted", "resized"):
        until(lambda: cluster.client.list("VerticalPodAutoscalerCheckpoint", namespace), 60, "a checkpoint")
    cluster.client.create({"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscalerCheckpoint",
                           "metadata": {"name": "orphan", "namespace": "evicted"},
                           "spec": {"vpaObjectName": "nobody", "containerName": "c"}})
    until(lambda: not cluster.client.find("VerticalPodAutoscalerCheckpoint", "orphan", "evicted"), 60, "the orphan goes")
    assert cluster.client.list("Event", "evicted", "?fieldSelector=reason%3DEvictedByVPA")
    for daemon, process in cluster.daemons.items():
        assert process.running(), daemon
        said = [line for line in process.text().splitlines() if "forbidden" in line]
        calls = [line for line in said if "Failed to list" in line]
        assert len(calls) == (daemon == "updater") and all("configmaps" in line for line in calls), (daemon, said)
        # What it means for the user is said in a line of its own, once as well.
        meaning = [line for line in said if line not in calls]
        assert len(meaning) <= 1 and all(LACKING.get(daemon, "nothing") in line for line in meaning), (daemon, said)


scenario_upstream_rights.other_rights = True  # no part of the report on the rights of deploy/
scenario_upstream_rights.tiers = ["real"]
scenario_upstream_rights.why = "the daemons send their tokens by TLS only; the simulator serves plain HTTP"
scenario_upstream_rights.each_minor = True
