"""The daemons out of their images (deploy/images), as a node runs them: root file system read-only, any user."""
import json
import os
import shlex
import shutil
import subprocess
import tarfile

from cluster import DAEMONS, ROOT, until
from s_recommend import NAMESPACE, start_workloads

IMAGES, NOBODY = ROOT / "build/images", 12345  # neither root nor the user that the image names


def unpack(folder, daemon):
    """The root file system of the image, and its entry point."""
    layout = IMAGES / f"vpa-{daemon}-amd64"

    def blob(digest):
        return layout / "blobs/sha256" / digest.removeprefix("sha256:")
    index = json.loads((layout / "index.json").read_text())
    manifest = json.loads(blob(index["manifests"][0]["digest"]).read_text())
    for layer in manifest["layers"]:
        with tarfile.open(blob(layer["digest"])) as tar:
            tar.extractall(folder)
    return json.loads(blob(manifest["config"]["digest"]).read_text())["config"]


def wrapper(cluster, daemon):
    """A program that runs the daemon in its image; the folder with kubeconfig and certificates is all that is added."""
    root, given = cluster.processes.folder / f"image-{daemon}", cluster.processes.folder
    config = unpack(root, daemon)
    assert config["Entrypoint"] == ["/" + daemon] and config["User"] == "65534:65534", config
    inside = root / str(given).lstrip("/")
    inside.mkdir(parents=True)
    q = shlex.quote
    script = given / "wrapped" / DAEMONS[daemon]
    script.parent.mkdir(exist_ok=True)
    # Nothing of the image may be written, and none of the machine's files are there. The scratch files are readable by all for this.
    script.write_text(f"""#!/bin/sh
chmod -R a+rX {q(str(given))}
exec unshare --mount -- sh -c 'mount --bind {root} {root} && mount --bind {given} {inside} && mount -o remount,ro,bind {root} &&
    exec chroot --userspec={NOBODY}:{NOBODY} {root} "$@"' sh {config["Entrypoint"][0]} "$@"
""")
    script.chmod(0o755)
    return script


def scenario_images(make):
    """Each daemon starts from its unpacked image, does a pass or answers, and leaves the root file system as it is."""
    if not (IMAGES / "vpa-recommender-amd64").exists():
        raise make.skip("no images: deploy/images --arch amd64")
    if os.geteuid() != 0 or subprocess.run(["unshare", "--mount", "true"]).returncode:
        raise make.skip("a read-only root needs root's mounts")
    cluster = make(rate=60.0, fresh=True)
    start_workloads(cluster)
    for daemon in DAEMONS:
        cluster.programs = wrapper(cluster, daemon).parent
    cluster.start_daemon("admission-controller")
    cluster.start_daemon("recommender", "--recommender-interval=1m")
    cluster.start_daemon("updater")
    until(lambda: cluster.client.find("MutatingWebhookConfiguration", "vpa-webhook-config"), 60, "the webhook is registered")
    until(lambda: cluster.recommendation(NAMESPACE, "mongodb"), 90, "a recommendation")
    cluster.wait_passes("updater", 1)
    for daemon, process in cluster.daemons.items():
        assert process.running() and "Read-only" not in process.text(), daemon
        process.stop()
        shutil.rmtree(cluster.processes.folder / f"image-{daemon}")


scenario_images.tiers = ["sim"]
scenario_images.why = "what an image needs is the same on both"
