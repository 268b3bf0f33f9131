"""What kube-state-metrics makes of an object by a CustomResourceStateMetrics configuration: its rules (pkg/customresourcestate of
kube-state-metrics 2), computed a second time, so that the configuration can be tried on objects."""
import datetime
import decimal
import json
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONFIGURATION = ROOT / "deploy/components/monitoring/kube-state-metrics.yaml"
OBJECTS = ROOT / "test/monitoring/series_vpas.yaml"  # VPAs to try it on
RECORDED = ("capping", "inplace", "updater_pass")  # and the sets of golden vectors with whole VPAs

SUFFIXES = {"": 1, "n": decimal.Decimal("1e-9"), "u": decimal.Decimal("1e-6"), "m": decimal.Decimal("1e-3"),
            **{s: 1000 ** i for i, s in enumerate("kMGTPE", 1)}, **{s + "i": 1024 ** i for i, s in enumerate("KMGTPE", 1)}}
WORDS = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0, "unknown": 0.0}
QUANTITY = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(?:([eE][+-]?\d+)|(%s))" % "|".join(sorted(SUFFIXES, reverse=True)))


class Problem(Exception):
    """A value that kube-state-metrics complains of in its log, at the verbosity errorLogV."""


def follow(value, path):
    for part in path:
        if isinstance(value, dict):
            value = value.get(part)
        elif isinstance(value, list) and re.fullmatch(r"-?\d+", part):
            value = value[int(part)] if -len(value) <= int(part) < len(value) else None
        else:
            value = None
    return value


def number(value):
    """Numbers, truth, the words of conditions, times, quantities; in this order."""
    if isinstance(value, (bool, int, float)):
        return float(value)
    if not isinstance(value, str):
        raise Problem(f"expected a number, found {value!r}")
    if value.lower() in WORDS:
        return WORDS[value.lower()]
    if re.match(r"\d{4}-\d\d-\d\dT", value):
        return datetime.datetime.fromisoformat(value.replace("Z", "+00:00")).timestamp()
    quantity = QUANTITY.fullmatch(value)
    if not quantity:
        raise Problem(f"{value!r} is no number")
    digits, exponent, suffix = quantity.groups()
    return float(decimal.Decimal(digits + (exponent or "")) * SUFFIXES[suffix or ""])


def labels_of(value, paths):
    found = {name: follow(value, path) for name, path in (paths or {}).items()}
    return {name: str(text) for name, text in found.items() if text is not None}


def gauge(made, value):
    for item in value if isinstance(value, list) else [value]:
        found = follow(item, made.get("valueFrom", []))
        if found is not None:
            yield labels_of(item, made.get("labelsFromPath")), number(found)
        elif made.get("nilIsZero"):
            yield labels_of(item, made.get("labelsFromPath")), 0.0
        elif item is None:
            raise Problem("nothing is there")


def info(made, value):
    for item in value if isinstance(value, list) else [value]:
        labels = labels_of(item, made.get("labelsFromPath"))
        if labels:
            yield labels, 1.0


def state_set(made, value):
    for item in value if isinstance(value, list) else [value]:
        state = follow(item, made.get("valueFrom", []))
        if not isinstance(state, str):
            if made["path"][0] == "status":
                continue
            raise Problem(f"expected a text, found {state!r}")
        for each in made["list"]:
            yield {made["labelName"]: each, **labels_of(item, made.get("labelsFromPath"))}, float(each == state)


KINDS = {"gauge": ("gauge", gauge), "info": ("info", info), "stateset": ("stateSet", state_set)}


def series_of(resource, obj):
    """The lines of one object, sorted, and what would be complained of: [(metric, text)]."""
    gvk = resource["groupVersionKind"]
    common = {**resource.get("commonLabels", {}), **{f"customresource_{part}": gvk[part] for part in ("group", "version", "kind")}}
    lines, problems = [], []
    for metric in resource["metrics"]:
        member, values = KINDS[metric["each"]["type"].lower()]
        made = metric["each"][member]
        base = {**common, **metric.get("commonLabels", {}),
                **labels_of(obj, {**resource.get("labelsFromPath", {}), **metric.get("labelsFromPath", {})})}
        name = "_".join(part for part in (resource.get("metricNamePrefix", "kube_customresource"), metric["name"]) if part)
        try:
            for labels, value in values(made, follow(obj, made["path"])):
                text = ",".join(f'{label}="{text}"' for label, text in sorted({**base, **labels}.items()))
                lines.append(f"{name}{{{text}}} {value:.15g}")
        except Problem as problem:
            problems.append((metric["name"], str(problem)))
    return sorted(lines), problems


def vpas_in(value):
    """Every VPA object in a vector."""
    if isinstance(value, dict):
        if value.get("kind") == "VerticalPodAutoscaler" and value.get("apiVersion") == "autoscaling.k8s.io/v1":
            yield value
        value = list(value.values())
    for part in value if isinstance(value, list) else []:
        yield from vpas_in(part)


def golden_vpas():
    """(file, VPA object) of the recorded sets."""
    for path in (ROOT / "test/golden/data" / f"{name}.jsonl" for name in RECORDED):
        with path.open() as lines:
            yield from ((path.name, vpa) for line in lines for vpa in vpas_in(json.loads(line)))
