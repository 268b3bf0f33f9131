"""Settings of single VPA objects: accepted or refused, obeyed by recommender and updater, and gone when they are taken out."""
import pathlib
import re

from bed import ApiError, Bed, NAMESPACE, until
from cluster import ROOT, documents
from formulas import parse_quantity

EXAMPLES = pathlib.Path(__file__).with_name("examples") / "vpas.yaml"
MIB = 2 ** 20


def guide_examples():
    """(page, object) of each VerticalPodAutoscaler in the guide's YAML blocks."""
    import yaml
    for page in sorted((ROOT / "docs/guide").glob("*.md")):
        for block in re.findall(r"^```yaml\n(.*?)^```", page.read_text(), re.S | re.M):
            for obj in yaml.safe_load_all(block):
                if obj and obj.get("kind") == "VerticalPodAutoscaler" and obj["apiVersion"] == "autoscaling.k8s.io/v1":
                    yield page.name, obj


# What is refused: (policy of the container, updatePolicy, boost of the VPA, part of the message; for values of a wrong type
# it depends on who sees them first).
BOTH = {"memoryAggregationInterval": "12h", "memoryAggregationIntervalSeconds": 60}
REFUSED = [
    ({"oomBumpUpRatio": "0.9"}, {}, None, "must be greater than or equal to 1.0"),
    ({"oomBumpUpRatio": "often"}, {}, None, ""),
    ({"oomMinBumpUp": "-1"}, {}, None, "must be greater than or equal to 0"),
    ({"memoryAggregationIntervalSeconds": 0}, {}, None, "memoryAggregationIntervalSeconds"),
    ({"memoryAggregationIntervalSeconds": "12h"}, {}, None, ""),
    ({"memoryAggregationInterval": "0s"}, {}, None, "must be a whole number of seconds, at least 1s"),
    ({"memoryAggregationInterval": "-12h"}, {}, None, "must be a whole number of seconds, at least 1s"),
    ({"memoryAggregationInterval": "soon"}, {}, None, "memoryAggregationInterval"),
    (BOTH, {}, None, "must be the same as memoryAggregationIntervalSeconds"),
    ({"memoryAggregationIntervalCount": 0}, {}, None, "memoryAggregationIntervalCount"),
    ({}, {"evictAfterOOMSeconds": 0}, None, "evictAfterOOMSeconds"),
    ({}, {"minReplicas": 0}, None, "minReplicas has to be positive"),
    ({}, {"updateMode": "Sometimes"}, None, "Sometimes"),
    ({}, {}, {"cpu": {"type": "Factor"}}, "required when type is Factor"),
    ({}, {}, {"cpu": {"type": "Factor", "factor": "500m"}}, ""),
    ({}, {}, {"cpu": {"type": "Factor", "factor": 0}}, "must be >= 1 for type Factor"),
    ({}, {}, {"cpu": {"type": "Factor", "factor": 2, "quantity": "1"}}, "forbidden otherwise"),
    ({}, {}, {"cpu": {"type": "Quantity"}}, "required when type is Quantity"),
    ({}, {}, {"cpu": {"type": "Quantity", "quantity": "1", "factor": 2}}, "forbidden otherwise"),
    ({}, {}, {"cpu": {"type": "Quantity", "quantity": "500u"}}, "must be a whole number of milli CPUs"),
    ({}, {}, {"cpu": {"type": "Percentage", "factor": 2}}, "Percentage"),
    ({}, {}, {"cpu": {"factor": 2}}, "type"),
    ({"startupBoost": {"cpu": {"type": "Factor"}}}, {}, None, "required when type is Factor"),
    ({"mode": "Off", "controlledValues": "RequestsAndLimits"}, {}, None, "if container scaling mode is off"),
]
GATED = [
    ({"oomBumpUpRatio": "1.5"}, {}, None, "PerVPAConfig"), ({"oomMinBumpUp": 1}, {}, None, "PerVPAConfig"),
    ({"memoryAggregationIntervalSeconds": 1}, {}, None, "PerVPAConfig"),
    ({"memoryAggregationInterval": "1h"}, {}, None, "PerVPAConfig"),
    ({"memoryAggregationIntervalCount": 1}, {}, None, "PerVPAConfig"),
    ({}, {"evictAfterOOMSeconds": 1}, None, "PerVPAConfig"), ({}, {"updateMode": "InPlace"}, None, "InPlace"),
    ({}, {}, {"cpu": {"type": "Factor", "factor": 2}}, "CPUStartupBoost"),
    ({"startupBoost": {"cpu": {"type": "Factor", "factor": 2}}}, {}, None, "CPUStartupBoost"),
]


def scenario_settings_examples(make):
    """Every example of the enhancement texts and of the guide is accepted; what the texts forbid is refused; gates off."""
    bed = Bed(make, webhook=True, updater=None)
    found = [("the texts", obj) for obj in documents(EXAMPLES)] + list(guide_examples())
    assert len(found) >= 12, len(found)
    for number, (page, obj) in enumerate(found):
        obj["metadata"] = {"name": f"example-{number}", "namespace": NAMESPACE}
        stored = bed.client.create(obj)
        for part, value in obj["spec"].items():
            if part != "updatePolicy":
                assert stored["spec"][part] == value, (page, stored["spec"], obj["spec"])
        assert stored["spec"]["updatePolicy"]["updateMode"] == obj["spec"].get("updatePolicy", {}).get(
            "updateMode", "Recreate"), (page, stored["spec"])

    def refused(rows):
        for policy, update, boost, text in rows:
            try:
                bed.vpa("bad", "Recreate", create=True, policies=[{"containerName": "*", **policy}] if policy else None,
                        **({"startupBoost": boost} if boost else {}), **update)
            except ApiError as error:
                assert error.code in (400, 403, 422) and text in str(error), (policy, update, boost, str(error))
            else:
                raise AssertionError(f"accepted: {policy} {update} {boost}")
    refused(REFUSED)
    print(f"      {len(found)} examples accepted, {len(REFUSED)} objects refused")
    bed.cluster.daemons["admission-controller"].stop()
    bed.start_webhook("--feature-gates=InPlace=false,CPUStartupBoost=false,PerVPAConfig=false")
    refused(GATED)


def policies(**settings):
    return [{"containerName": "*", **settings}] if settings else None


def target_memory(bed, name):
    found = bed.cluster.recommendation(NAMESPACE, name)
    return parse_quantity(found[name]["target"]["memory"]) if name in found else 0


def shows(bed, name, needed):
    """The target is what an OOM that needs so many MiB makes of it: the end of a bucket (5 %) plus the margin."""
    return needed * MIB * 1.15 <= target_memory(bed, name) <= needed * MIB * 1.15 * 1.075


def start_recommender(bed, *flags):
    bed.cluster.start_daemon("recommender", f"--recommender-interval={max(2, int(bed.rate))}s", *flags)


def scenario_settings_oom(make):
    """oomBumpUpRatio and oomMinBumpUp: each VPA has its own, the flags hold for the rest and as soon as they are removed."""
    bed = Bed(make, updater=None)
    rows = {"flags": ({}, 500), "minimum": ({"oomMinBumpUp": "1Gi"}, 1424), "ratio": ({"oomBumpUpRatio": "3"}, 1200),
            "both": ({"oomBumpUpRatio": "1.5", "oomMinBumpUp": 52428800}, 600),
            "neutral": ({"oomBumpUpRatio": "1", "oomMinBumpUp": 0}, 400)}
    for name, (settings, _) in rows.items():
        bed.vpa(name, "Off", policies=policies(**settings))
    start_recommender(bed)
    bed.cluster.wait_passes("recommender", 1)

    def kill(name):
        bed.workload(name, {"cpu": "100m", "memory": "400Mi"}, {"memory": "400Mi"}, replicas=1,
                     annotations={"memory": "600Mi"}, ready=False)
    for name in rows:
        kill(name)
    for name, (_, needed) in rows.items():
        until(lambda: shows(bed, name, needed), 90, f"{name}: an OOM makes {needed} MiB of it")

    def set_policies(name, **settings):
        bed.client.merge("VerticalPodAutoscaler", name, {"spec": {"resourcePolicy": {
            "containerPolicies": policies(**settings)} if settings else None}}, NAMESPACE)
        bed.cluster.wait_passes("recommender", 2)
        for pod in bed.pods(name):
            bed.client.delete("Pod", pod["metadata"]["name"], NAMESPACE)
    set_policies("neutral")
    set_policies("flags", oomMinBumpUp="2Gi")
    until(lambda: shows(bed, "neutral", 500), 90, "without its settings the flags hold")
    until(lambda: shows(bed, "flags", 2448), 90, "a setting of a running VPA holds")
    bed.cluster.daemons["recommender"].stop()
    start_recommender(bed, "--feature-gates=PerVPAConfig=false", "--oom-min-bump-up-bytes=3221225472")
    bed.cluster.wait_passes("recommender", 1)
    for pod in bed.pods("both"):
        bed.client.delete("Pod", pod["metadata"]["name"], NAMESPACE)
    until(lambda: shows(bed, "both", 3472), 90, "with the gate off the flags hold")


def weight(bed, name):
    found = bed.client.find("VerticalPodAutoscalerCheckpoint", f"{name}-{name}", NAMESPACE) or {}
    return ((found.get("status") or {}).get("memoryHistogram") or {}).get("totalWeight") or 0


def scenario_settings_interval(make):
    """memoryAggregationInterval(Seconds): one memory peak per interval; removed, the flag's day holds again."""
    bed = Bed(make, rate=60.0, updater=None)
    rows = {"flags": {}, "seconds": {"memoryAggregationIntervalSeconds": 60}, "text": {"memoryAggregationInterval": "1m"},
            "agreed": {"memoryAggregationIntervalSeconds": 60, "memoryAggregationInterval": "1m"}}
    for name, settings in rows.items():
        bed.vpa(name, "Off", policies=policies(**settings))
    start_recommender(bed)
    for name in rows:
        bed.workload(name, {"cpu": "100m"}, replicas=1, annotations={"memory": "300Mi", "cpu": "50m"})
    for name in rows:
        if name != "flags":
            until(lambda: weight(bed, name) >= 8, 60, f"{name}: a peak in each minute")
    assert weight(bed, "flags") <= 2.1, weight(bed, "flags")  # the interval that goes on is not in checkpoints
    for name in ("seconds", "text"):
        bed.client.merge("VerticalPodAutoscaler", name, {"spec": {"resourcePolicy": None}}, NAMESPACE)
    bed.cluster.wait_passes("recommender", 4)
    before = {n: weight(bed, n) for n in rows}
    until(lambda: weight(bed, "agreed") >= before["agreed"] + 6, 60, "time goes on")
    for name in ("seconds", "text"):  # the last short interval ends, then one long one begins
        assert weight(bed, name) - before[name] <= 3.1, (name, before, weight(bed, name))


scenario_settings_interval.tiers = ["sim"]
scenario_settings_interval.why = "a quarter of an hour of cluster time"


def scenario_settings_count(make):
    """memoryAggregationIntervalCount: what was idle for count intervals is forgotten, the rest is kept."""
    bed = Bed(make, rate=600.0, updater=None)
    bed.vpa("short", "Off", policies=policies(memoryAggregationIntervalSeconds=60, memoryAggregationIntervalCount=5))
    bed.vpa("flags", "Off")
    start_recommender(bed)
    for name in ("short", "flags"):
        bed.workload(name, {"cpu": "100m"}, replicas=1, annotations={"memory": "300Mi", "cpu": "50m"})
    series = "vpa_recommender_aggregate_container_states_count"

    def states():
        return bed.metric(series, daemon="recommender")
    until(lambda: states() == 2, 60, "both are known")
    for name in ("short", "flags"):
        bed.client.merge("Deployment", name, {"spec": {"replicas": 0}}, NAMESPACE)
    until(lambda: states() == 1, 60, "the short one is forgotten")
    bed.cluster.wait_passes("recommender", 8)  # more than an hour of cluster time
    assert states() == 1


scenario_settings_count.tiers = ["sim"]
scenario_settings_count.why = "hours of cluster time"


def scenario_settings_evict_after_oom(make):
    """evictAfterOOMSeconds: which OOMs count as quick; without it the flag decides, at once; with the gate off too."""
    bed = Bed(make, updater=None)
    for name, settings in (("flag", {}), ("short", {"evictAfterOOMSeconds": 3})):
        bed.workload(name, {"cpu": "200m", "memory": "256Mi"}, annotations={"oom-after": "30s"})
        bed.vpa(name, "Recreate", **settings)
        bed.recommend(name, bounds=0.5, cpu="230m", memory="256Mi")
    before = bed.uids("short")
    bed.start_updater()
    bed.passes(2)
    assert bed.evictions() == 0, bed.calls()  # inside the bounds and young: nothing to do
    until(lambda: bed.events("EvictedByVPA", "flag-"), 90, "an OOM within ten minutes is quick")
    until(lambda: all(p["status"]["containerStatuses"][0]["restartCount"] >= 1 for p in bed.pods("short")), 90, "OOMs")
    bed.passes(2)
    assert bed.uids("short") == before and bed.events("EvictedByVPA", "short-") == 0
    bed.updater.stop()
    bed.start_updater("--feature-gates=PerVPAConfig=false")
    until(lambda: bed.events("EvictedByVPA", "short-") >= 1, 90, "with the gate off the flag decides")
    bed.updater.stop()
    bed.start_updater()
    bed.passes(1)
    calm = bed.events("EvictedByVPA", "short-")
    until(lambda: all((p["status"].get("containerStatuses") or [{}])[0].get("restartCount", 0) >= 1
                      for p in bed.pods("short")), 90, "OOMs")
    bed.passes(2)
    assert bed.events("EvictedByVPA", "short-") == calm
    bed.client.merge("VerticalPodAutoscaler", "short", {"spec": {"updatePolicy": {"evictAfterOOMSeconds": None}}}, NAMESPACE)
    until(lambda: bed.events("EvictedByVPA", "short-") > calm, 30, "removed: the flag decides at once")
