"""A program for the client library python3-kubernetes: lists, watches, patches and deletes VPAs, reads checkpoints.

    python_client.py KUBECONFIG NAMESPACE
"""
import sys
import threading
import time

from kubernetes import client, config, watch


def wait(condition, what):
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.1)


def main(kubeconfig, namespace):
    api = client.CustomObjectsApi(config.new_client_from_config(kubeconfig))
    place = ("autoscaling.k8s.io", "v1", namespace, "verticalpodautoscalers")
    seen = []

    def follow():
        for event in watch.Watch().stream(api.list_namespaced_custom_object, *place, timeout_seconds=60):
            seen.append((event["type"], event["object"]["metadata"]["name"]))
            if event["type"] == "DELETED":
                return
    watcher = threading.Thread(target=follow, daemon=True)
    watcher.start()
    api.create_namespaced_custom_object(*place, {
        "apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler", "metadata": {"name": "web"},
        "spec": {"targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}})
    items = api.list_namespaced_custom_object(*place)["items"]
    assert [i["metadata"]["name"] for i in items] == ["web"], items
    wait(lambda: ("ADDED", "web") in seen, "the watch sees the new object")
    changed = api.patch_namespaced_custom_object(*place, "web", {"spec": {"updatePolicy": {"updateMode": "Off"}}})
    assert changed["spec"]["updatePolicy"] == {"updateMode": "Off"}, changed
    wait(lambda: ("MODIFIED", "web") in seen, "the watch sees the change")
    assert api.get_namespaced_custom_object(*place, "web")["metadata"]["generation"] == 2
    assert api.list_cluster_custom_object("autoscaling.k8s.io", "v1", "verticalpodautoscalercheckpoints")["items"] == []
    api.delete_namespaced_custom_object(*place, "web")
    watcher.join(30)
    assert not watcher.is_alive() and seen[-1] == ("DELETED", "web"), seen


if __name__ == "__main__":
    main(*sys.argv[1:])
