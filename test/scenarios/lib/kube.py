"""A small Kubernetes client for the scenarios and the demo: JSON over HTTP(S), nothing cached, every wait bounded."""
import http.client
import json
import ssl
import threading
import time
import urllib.parse

PLURALS = {
    "Namespace": ("v1", "namespaces", False), "Node": ("v1", "nodes", False), "Pod": ("v1", "pods", True),
    "Service": ("v1", "services", True), "ServiceAccount": ("v1", "serviceaccounts", True),
    "ConfigMap": ("v1", "configmaps", True), "Secret": ("v1", "secrets", True),
    "Event": ("v1", "events", True), "LimitRange": ("v1", "limitranges", True),
    "ResourceQuota": ("v1", "resourcequotas", True),
    "ReplicationController": ("v1", "replicationcontrollers", True),
    "Deployment": ("apps/v1", "deployments", True), "ReplicaSet": ("apps/v1", "replicasets", True),
    "StatefulSet": ("apps/v1", "statefulsets", True), "DaemonSet": ("apps/v1", "daemonsets", True),
    "Job": ("batch/v1", "jobs", True), "CronJob": ("batch/v1", "cronjobs", True),
    "PodDisruptionBudget": ("policy/v1", "poddisruptionbudgets", True),
    "HorizontalPodAutoscaler": ("autoscaling/v2", "horizontalpodautoscalers", True),
    "Lease": ("coordination.k8s.io/v1", "leases", True),
    "ClusterRole": ("rbac.authorization.k8s.io/v1", "clusterroles", False),
    "ClusterRoleBinding": ("rbac.authorization.k8s.io/v1", "clusterrolebindings", False),
    "Role": ("rbac.authorization.k8s.io/v1", "roles", True),
    "RoleBinding": ("rbac.authorization.k8s.io/v1", "rolebindings", True),
    "CustomResourceDefinition": ("apiextensions.k8s.io/v1", "customresourcedefinitions", False),
    "MutatingWebhookConfiguration": ("admissionregistration.k8s.io/v1", "mutatingwebhookconfigurations", False),
    "VerticalPodAutoscaler": ("autoscaling.k8s.io/v1", "verticalpodautoscalers", True),
    "VerticalPodAutoscalerCheckpoint": ("autoscaling.k8s.io/v1", "verticalpodautoscalercheckpoints", True),
    "PodMetrics": ("metrics.k8s.io/v1beta1", "pods", True),
    "APIService": ("apiregistration.k8s.io/v1", "apiservices", False),
}


class ApiError(Exception):
    def __init__(self, code, body):
        self.code = code
        self.status = body if isinstance(body, dict) else {}
        super().__init__(f"{code}: {self.status.get('message', body)}")


def path_of(kind, name=None, namespace=None, subresource=None):
    version, plural, namespaced = PLURALS[kind]
    path = ("/api/" if "/" not in version else "/apis/") + version
    if namespaced and namespace:
        path += "/namespaces/" + namespace
    path += "/" + plural
    for part in (name, subresource):
        if part:
            path += "/" + urllib.parse.quote(part)
    return path


class Client:
    def __init__(self, url, token=None, ca=None, certificate=None, timeout=30):
        parts = urllib.parse.urlsplit(url)
        self.host, self.port, self.timeout, self.token = parts.hostname, parts.port, timeout, token
        self.context = None
        if parts.scheme == "https":
            self.context = ssl.create_default_context(cafile=ca)
            if certificate:
                self.context.load_cert_chain(*certificate)
        self.local = threading.local()  # each thread keeps a connection of its own

    def _connect(self):
        if self.context:
            return http.client.HTTPSConnection(self.host, self.port, timeout=self.timeout, context=self.context)
        return http.client.HTTPConnection(self.host, self.port, timeout=self.timeout)

    def raw(self, method, path, body=None, content_type="application/json", headers=None):
        """(status, headers, bytes); a kept connection that the server closed meanwhile is opened anew once."""
        head = {"Accept": "application/json", **(headers or {})}
        if body is not None:
            head["Content-Type"] = content_type
        if self.token:
            head["Authorization"] = "Bearer " + self.token
        for attempt in (0, 1):
            connection = getattr(self.local, "connection", None)
            fresh = connection is None
            connection = self.local.connection = connection or self._connect()
            try:
                connection.request(method, path, body=body, headers=head)
                answer = connection.getresponse()
                return answer.status, answer.headers, answer.read()
            except (http.client.HTTPException, ConnectionError, ssl.SSLError, OSError):
                connection.close()
                self.local.connection = None
                if fresh or attempt:
                    raise
        raise AssertionError("unreachable")

    def lines(self, path, headers=None):
        """The lines of an answer that is a stream, as they come, on a connection of its own; a silent one fails in time."""
        connection = self._connect()
        head = {"Accept": "application/json", **(headers or {})}
        if self.token:
            head["Authorization"] = "Bearer " + self.token
        try:
            connection.request("GET", path, headers=head)
            yield from connection.getresponse()
        finally:
            connection.close()

    def request(self, method, path, body=None, content_type="application/json"):
        data = body if body is None or isinstance(body, (bytes, str)) else json.dumps(body)
        status, _, text = self.raw(method, path, data.encode() if isinstance(data, str) else data, content_type)
        try:
            decoded = json.loads(text) if text else {}
        except ValueError:
            decoded = text.decode(errors="replace")
        if status >= 300:
            raise ApiError(status, decoded)
        return decoded

    def get(self, kind, name, namespace=None, subresource=None):
        return self.request("GET", path_of(kind, name, namespace, subresource))

    def find(self, kind, name, namespace=None):
        try:
            return self.get(kind, name, namespace)
        except ApiError as error:
            if error.code == 404:
                return None
            raise

    def list(self, kind, namespace=None, query=""):
        return self.request("GET", path_of(kind, namespace=namespace) + query).get("items") or []

    def create(self, obj):
        meta = obj["metadata"]
        return self.request("POST", path_of(obj["kind"], namespace=meta.get("namespace")), obj)

    def delete(self, kind, name, namespace=None):
        return self.request("DELETE", path_of(kind, name, namespace))

    def merge(self, kind, name, patch, namespace=None, subresource=None):
        return self.request("PATCH", path_of(kind, name, namespace, subresource), patch,
                            "application/merge-patch+json")

    def apply(self, obj, manager="plumb-test"):
        """Server-side apply."""
        meta = obj["metadata"]
        return self.request("PATCH", path_of(obj["kind"], meta["name"], meta.get("namespace")) +
                            f"?fieldManager={manager}&force=true", obj, "application/apply-patch+yaml")


def until(condition, seconds, what, every=0.1):
    """Polls until condition() is true and returns its value; fails with `what` and the last value otherwise.

    What condition() reads may not be there yet: that None has no members, a list no first item, is no end of the wait.
    """
    deadline, last, problem = time.monotonic() + seconds, None, None
    while time.monotonic() < deadline:
        try:
            last = condition()
        except (ApiError, OSError, http.client.HTTPException, TypeError, KeyError, IndexError) as error:
            last = None
            problem = error
        else:
            problem = None
            if last:
                return last
        time.sleep(every)
    raise AssertionError(f"not within {seconds} s: {what}" +
                         (f" ({problem!r})" if problem else f" (last: {last!r})")) from problem
