"""What the checks of alerts and dashboard share: families that exist, Prometheus's programs, the dashboard's source."""
import importlib.machinery
import importlib.util
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FAMILY = re.compile(r"\b(?:vpa|rest_client|kube_verticalpodautoscaler)_[a-z0-9_]+")


def known_families():
    """Names of the series that docs/metrics.md lists."""
    rows = re.findall(r"^\| `([a-z0-9_]+)` \| (\w+)", (ROOT / "docs/metrics.md").read_text(), re.M)
    assert len(rows) > 40, "docs/metrics.md lists no metrics"
    found = {name for name, kind in rows}
    return found | {name + end for name, kind in rows if kind == "histogram" for end in ("_sum", "_count", "_bucket")}


def known_labels():
    """Names of labels in docs/metrics.md."""
    cells = re.findall(r"^\| `[a-z0-9_]+` \| \w+ \| ([^|]*) \|", (ROOT / "docs/metrics.md").read_text(), re.M)
    return {label for cell in cells for label in re.findall(r"`(\w+)`", cell)}


def program(name):
    """Where prometheus or promtool is; "" where it cannot be had."""
    done = subprocess.run(["bash", "-c", '. test/lib/prepare.sh; prepare_prometheus "$0"', name], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


def dashboard():
    """deploy/components/monitoring/make-dashboard as a module."""
    loader = importlib.machinery.SourceFileLoader("make_dashboard", str(ROOT / "deploy/components/monitoring/make-dashboard"))
    made = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    sys.modules[loader.name] = made  # dataclasses look for it there
    loader.exec_module(made)
    return made
