"""What the demo knows of each workload: its pods, their requests and usage, and what its autoscaler says."""
import datetime

from formulas import parse_quantity

RESOURCES = ("cpu", "memory")
DEMO = ("mongodb", "etcd", "backup", "orders", "web")  # the order of the table; workloads of one's own follow
YOUNG = 10  # an upper bound that many times the target says only that there is little history
HISTORY = 120  # points of a chart that are kept


def amount(resource, value):
    """A number of cores or bytes as people read it: 671m, 12.4, 430Mi, 2.6Gi."""
    if value is None:
        return "-"
    if resource == "cpu":
        return f"{1000 * value:.0f}m" if value < 9.9995 else f"{value:.1f}"
    return f"{value / 2 ** 20:.0f}Mi" if value < 10 * 2 ** 30 else f"{value / 2 ** 30:.1f}Gi"


def pair(values):
    return " / ".join(amount(r, values.get(r)) for r in RESOURCES)


def numbers(quantities):
    return {r: float(parse_quantity(q)) for r, q in (quantities or {}).items() if r in RESOURCES}


def seconds(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def annotations_of(obj):
    return obj["metadata"].get("annotations") or {}


def labels_of(obj):
    return obj["metadata"].get("labels") or {}


def requests_of(pod):
    """Of all its containers together; a resource that none of them requests is left out."""
    total = {}
    for container in pod["spec"]["containers"]:
        for resource, value in numbers((container.get("resources") or {}).get("requests")).items():
            total[resource] = total.get(resource, 0.0) + value
    return total


def template_of(target):
    """The pod template of a workload."""
    spec = target["spec"]
    return spec["jobTemplate"]["spec"]["template"] if target["kind"] == "CronJob" else spec["template"]


def is_live(pod):
    return pod["status"].get("phase") in ("Running", "Pending") and not pod["metadata"].get("deletionTimestamp")


class Workload:
    """One line of the table."""

    def __init__(self, name, target, vpa, pods, usage, other=None):
        """target: the workload, None once it is gone; vpa: None without an autoscaler; pods and usage (PodMetrics) of
        the whole namespace; other: the VPA that shows another algorithm's recommendation, or None."""
        self.name, self.vpa, self.target, self.other = name, vpa, target, other
        labels = (template_of(target)["metadata"].get("labels") or {}).items() if target else ()
        self.pods = [p for p in pods if labels and labels <= labels_of(p).items()]
        names = {p["metadata"]["name"] for p in self.pods}
        self.usages = [self._usage(m) for m in usage if m["metadata"]["name"] in names]

    @staticmethod
    def _usage(metrics):
        total = dict.fromkeys(RESOURCES, 0.0)
        for container in metrics["containers"]:
            for resource, value in numbers(container["usage"]).items():
                total[resource] += value
        return total

    @property
    def mode(self):
        if self.vpa is None:
            return "no VPA"
        return (self.vpa["spec"].get("updatePolicy") or {}).get("updateMode") or "Recreate"

    @property
    def watched(self):
        return self.mode == "Off"

    def live(self):
        return [p for p in self.pods if is_live(p)]

    def newest(self):
        return max(self.pods, key=lambda p: (p["metadata"]["creationTimestamp"], p["metadata"]["name"]))

    def requests(self):
        """Of the newest pod."""
        return requests_of(self.newest()) if self.pods else {}

    def usage(self):
        """Mean of its pods, empty without metrics."""
        return {r: sum(u[r] for u in self.usages) / len(self.usages) for r in RESOURCES} if self.usages else {}

    def bound(self, which):
        """lowerBound, target or upperBound, summed over the containers; empty without a recommendation."""
        return self.bound_of(self.vpa, which)

    def other_target(self):
        return self.bound_of(self.other, "target")

    @staticmethod
    def bound_of(vpa, which):
        recommended = ((vpa or {}).get("status") or {}).get("recommendation") or {}
        total = {}
        for container in recommended.get("containerRecommendations") or []:
            for resource, value in numbers(container.get(which)).items():
                total[resource] = total.get(resource, 0.0) + value
        return total

    def upper(self):
        """The upper bound in words: one that only little history explains is called young."""
        upper, target = self.bound("upperBound"), self.bound("target")
        return " / ".join("young" if upper.get(r, 0) > YOUNG * target.get(r, upper.get(r, 0)) else amount(r, upper.get(r))
                          for r in RESOURCES)

    def settled(self):
        """Nothing is left to wait for: every live pod has requests inside the recommended range (between two runs of a
        CronJob the pod of the last one); a workload that is only watched has a recommendation and untouched pods; one
        without an autoscaler waits for nothing."""
        if self.vpa is None:
            return True
        if not self.bound("target") or not self.pods:
            return False
        if self.watched:
            return not any("vpaUpdates" in annotations_of(p) for p in self.pods)
        return all(self.inside(p) for p in self.live() or [self.newest()])

    def inside(self, pod):
        requests, lower, upper = requests_of(pod), self.bound("lowerBound"), self.bound("upperBound")
        return bool({"vpaUpdates", "vpaInPlaceUpdated"} & set(annotations_of(pod))) and all(
            r in requests and lower.get(r, 0) <= requests[r] <= upper.get(r, 0) for r in RESOURCES)

    def verdict(self):
        if self.vpa is None:
            return "-"
        if self.watched:
            return "watched"
        return "yes" if self.settled() else "not yet"

    def hint(self):
        """Why a workload of one's own shows nothing; None when there is nothing to say."""
        if self.target is None:
            return f"{self.name}: the workload that its VPA names does not exist"
        if self.live() and "fakelet.plumb/trace" not in annotations_of({"metadata": template_of(self.target)["metadata"]}):
            return (f"{self.name}: no usage. Give its pod template the annotation fakelet.plumb/trace: nginx "
                    "(or another name of test/traces/data)")
        return None

    def reserved(self):
        """{resource: (as written, now, used)}, sums over its live pods."""
        live = self.live()
        written = requests_of({"spec": template_of(self.target)["spec"]}) if self.target else {}
        now = [requests_of(p) for p in live]
        return {r: (written.get(r, 0.0) * len(live), sum(n.get(r, 0.0) for n in now), sum(u[r] for u in self.usages))
                for r in RESOURCES}


def totals(works):
    """{resource: (as written, now, used)} of all workloads."""
    parts = [w.reserved() for w in works]
    return {r: tuple(sum(p[r][i] for p in parts) for i in range(3)) for r in RESOURCES}


class Shares:
    """The past of each workload's usage as a share of its request, for the charts."""

    def __init__(self):
        self.points = {}

    def add(self, works):
        for work in works:
            usage, requests = work.usage(), work.requests()
            for resource in RESOURCES:
                if usage and requests.get(resource):
                    points = self.points.setdefault((work.name, resource), [])
                    points.append(usage[resource] / requests[resource])
                    del points[:-HISTORY]

    def of(self, name, resource):
        return self.points.get((name, resource), [])
