"""Clients that are not kubectl."""
import pathlib
import subprocess
import sys

from s_recommend import NAMESPACE

PROGRAM = pathlib.Path(__file__).resolve().parent / "lib/python_client.py"


def scenario_python_client(make):
    """python3-kubernetes lists, watches, patches and deletes VPAs and reads checkpoints."""
    # The Debian package serves Debian's interpreter, which need not be the one that runs this.
    for interpreter in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([interpreter, "-c", "import kubernetes"], capture_output=True).returncode == 0:
            break
    else:
        raise make.skip("python3-kubernetes is not installed")
    cluster = make()
    cluster.install()
    cluster.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    done = subprocess.run([interpreter, "-B", PROGRAM, cluster.plane.kubeconfig, NAMESPACE], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-3000:]
