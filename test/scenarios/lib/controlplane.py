"""What the simulated and the real control plane are asked for in the same words."""
import base64

from kube import path_of


class ControlPlane:
    """`client` talks to it as administrator; `ca` is the file of its CA, None while it speaks plain HTTP."""

    client = None
    ca = None

    def token(self, account, namespace="kube-system"):
        """A token of a service account, as the daemon would find it in its pod."""
        answer = self.client.request(
            "POST", path_of("ServiceAccount", account, namespace, "token"),
            {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 14400}})
        return answer["status"]["token"]

    def serve_metrics(self, port):
        """metrics.k8s.io answered by a local process on `port` (over TLS when there is a CA)."""
        trust = {"insecureSkipTLSVerify": True}
        if self.ca:
            trust = {"caBundle": base64.b64encode(self.ca.read_bytes()).decode()}
        self.client.apply({"apiVersion": "v1", "kind": "Service",
                           "metadata": {"name": "metrics-server", "namespace": "kube-system"},
                           "spec": {"type": "ExternalName", "externalName": "127.0.0.1", "ports": [{"port": port}]}})
        self.client.apply({"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
                           "metadata": {"name": "v1beta1.metrics.k8s.io"},
                           "spec": {"group": "metrics.k8s.io", "version": "v1beta1", "groupPriorityMinimum": 100,
                                    "versionPriority": 100, **trust,
                                    "service": {"name": "metrics-server", "namespace": "kube-system",
                                                "port": port}}})
