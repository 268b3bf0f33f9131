"""kube-state-metrics itself, configured as the docs say, on VPA objects of the cluster."""
import math
import re
import sys

import yaml

from cluster import ApiError, Client, ROOT, documents, until
from processes import free_port, wait_port
from realcluster import write_kubeconfig

sys.path[:0] = [str(ROOT / "test/monitoring"), str(ROOT / "test/charts")]
from schemas import tool  # noqa: E402
from series import CONFIGURATION, OBJECTS, golden_vpas, series_of  # noqa: E402

ACCOUNT, NAMESPACE = "kube-state-metrics", "kube-system"
SERIES = re.compile(r'(\w+)\{((?:\w+="(?:[^"\\]|\\.)*",?)*)\} (\S+)')
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
# What the head of the configuration says that its account needs.
RULES = [{"apiGroups": ["autoscaling.k8s.io"], "resources": ["verticalpodautoscalers"], "verbs": ["list", "watch"]},
         {"apiGroups": ["apiextensions.k8s.io"], "resources": ["customresourcedefinitions"], "verbs": ["list", "watch"]}]


def allow(cluster):
    """An account with these rights; its kubeconfig."""
    meta, role = {"name": ACCOUNT, "namespace": NAMESPACE}, {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": ACCOUNT}
    for obj in ({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta},
                {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": ACCOUNT}, "rules": RULES},
                {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": ACCOUNT}, "roleRef": role,
                 "subjects": [{"kind": "ServiceAccount", **meta}]}):
        cluster.client.apply(obj)
    return write_kubeconfig(cluster.processes.folder / f"{ACCOUNT}.kubeconfig", cluster.plane.url, cluster.plane.ca,
                            token=cluster.plane.token(ACCOUNT))


def start_state_metrics(cluster, make):
    """The process, and a client of its series."""
    program = tool(ACCOUNT)
    if not program:
        raise make.skip("no kube-state-metrics: test/realcluster/build state-metrics")
    port, own = free_port(), free_port()
    process = cluster.processes.start(ACCOUNT, [
        program, f"--kubeconfig={allow(cluster)}", f"--custom-resource-state-config-file={CONFIGURATION}", "--custom-resource-state-only",
        "--host=127.0.0.1", f"--port={port}", "--telemetry-host=127.0.0.1", f"--telemetry-port={own}"])
    wait_port(port, 60)
    return process, Client(f"http://127.0.0.1:{port}")


def scraped(client):
    """{(name, labels): value} of all series, and {(name, help)}."""
    status, _, body = client.raw("GET", "/metrics")
    assert status == 200, status
    lines = body.decode().splitlines()
    parsed = [SERIES.fullmatch(line) for line in lines if not line.startswith("#")]
    assert all(parsed), [line for line, found in zip(lines, parsed) if not found][:3]
    found = {(name, tuple(sorted(LABEL.findall(labels)))): float(value) for name, labels, value in (p.groups() for p in parsed)}
    assert len(found) == len(parsed), "a series is there twice"
    return found, {tuple(line.split(" ", 3)[2:]) for line in lines if line.startswith("# HELP ")}


def computed(cluster, resource):
    """What test/monitoring/series.py makes of the VPAs that the API server has."""
    lines = (line for vpa in cluster.client.list("VerticalPodAutoscaler") for line in series_of(resource, vpa)[0])
    return {(name, tuple(sorted(LABEL.findall(labels)))): float(value) for name, labels, value in
            (SERIES.fullmatch(line).groups() for line in lines)}


def publish(cluster, vpa, name, namespace):
    """Creates a VPA with its status; False where the API server refuses it, as golden vectors have what none would keep."""
    meta = {"name": name, "namespace": namespace}
    try:
        cluster.client.create({**{part: vpa[part] for part in ("apiVersion", "kind", "spec") if part in vpa}, "metadata": meta})
    except ApiError as refused:
        assert refused.code in (400, 422), refused
        return False
    if vpa.get("status"):
        try:
            cluster.client.merge("VerticalPodAutoscaler", name, {"status": vpa["status"]}, namespace, "status")
        except ApiError as refused:
            assert refused.code in (400, 422), refused
    return True


def difference(made, wanted):
    lines = [f"computed, not scraped: {key} {wanted[key]}" for key in wanted if key not in made]
    lines += [f"scraped, not computed: {key} {made[key]}" for key in made if key not in wanted]
    return lines + [f"{key}: scraped {made[key]}, computed {value}" for key, value in wanted.items()
                    if key in made and not math.isclose(made[key], value, rel_tol=1e-15)]


def settled(cluster, client, resource, what):
    """The series, once they are the computed ones."""
    wrong = []

    def agree():
        wrong[:] = difference(scraped(client)[0], computed(cluster, resource))
        return not wrong
    try:
        until(agree, 60, what)
    except AssertionError as late:
        raise AssertionError("\n".join([str(late), *wrong[:20]])) from None
    return computed(cluster, resource)


def scenario_state_metrics(make):
    """The real program has for each VPA the series that test/monitoring/series.py computes for it, follows changes, and complains of nothing."""
    cluster = make()
    cluster.install()
    process, client = start_state_metrics(cluster, make)
    resource = yaml.safe_load(CONFIGURATION.read_text())["spec"]["resources"][0]
    for vpa in documents(OBJECTS):
        name, namespace = vpa["metadata"]["name"], vpa["metadata"]["namespace"]
        if not cluster.client.find("Namespace", namespace):
            cluster.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        assert publish(cluster, vpa, name, namespace), vpa
    cluster.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "golden"}})
    kept = sum(publish(cluster, vpa, f"vpa-{number}", "golden") for number, (_, vpa) in enumerate(golden_vpas()))

    made = settled(cluster, client, resource, "the series are those that are computed")
    assert kept > 30 and len(made) > 500, (kept, len(made))
    assert scraped(client)[1] == {(f"{resource['metricNamePrefix']}_{m['name']}", m["help"]) for m in resource["metrics"]}

    target = {"status": {"recommendation": {"containerRecommendations": [{"containerName": "app", "target": {"cpu": "123m", "memory": "1Gi"}}]}}}
    cluster.client.merge("VerticalPodAutoscaler", "young", target, "shop", "status")
    cluster.client.delete("VerticalPodAutoscaler", "web", "shop")
    after = settled(cluster, client, resource, "changes are followed")
    assert {value for (name, labels), value in after.items() if ("verticalpodautoscaler", "young") in labels and name.endswith("_target")} == \
        {0.123, 2.0 ** 30}, after
    said = [line for line in process.text().splitlines() if re.match(r"[EFW]\d{4} ", line)]
    assert not said, said[:5]
    make.say(f"state_metrics: {len(made)} series of {kept + 3} VPAs")
