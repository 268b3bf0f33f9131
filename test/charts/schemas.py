"""Where helm and kubeconform are, and JSON schemas for the latter.

The schemas are made of the OpenAPI document in Kubernetes' Go module, and of our CRDs.
"""
import json
import os
import pathlib
import shutil
import subprocess

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
KINDS = ("ServiceAccount Secret ConfigMap Service Pod Deployment Job PodDisruptionBudget ClusterRole ClusterRoleBinding Role RoleBinding "
         "MutatingWebhookConfiguration NetworkPolicy").split()
QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"


def tool(name):
    """A program of VPA_KUBE_ASSETS, of test/realcluster/build, or of the machine; None without."""
    cache = subprocess.run([ROOT / "test/realcluster/build", "--where"], capture_output=True, text=True).stdout.strip()
    for folder in (os.environ.get("VPA_KUBE_ASSETS"), cache):
        for path in (pathlib.Path(folder or "/nowhere") / part / name for part in ("tools", "state-metrics", "")):
            if path.is_file():
                return path
    return shutil.which(name)


def find_openapi():
    """swagger.json of the newest Kubernetes whose module is in Go's cache; None without."""
    try:
        cache = subprocess.run(["go", "env", "GOMODCACHE"], capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None
    found = sorted(pathlib.Path(cache).glob("k8s.io/kubernetes@*/api/openapi-spec/swagger.json"))
    return found[-1] if found else None


def closed(schema, definitions):
    """The schema with its references written out; fields that it does not know are errors."""
    if "$ref" in schema:
        name = schema["$ref"].removeprefix("#/definitions/")
        if name == QUANTITY:
            return {"type": ["string", "number", "null"]}
        return closed(definitions[name], definitions)
    if schema.get("format") == "int-or-string":
        return {"type": ["string", "integer", "null"]}
    made = {key: schema[key] for key in ("type", "enum", "required", "additionalProperties") if key in schema}
    if "properties" in schema:
        made["properties"] = {name: closed(part, definitions) for name, part in schema["properties"].items()}
        made.setdefault("additionalProperties", False)
    if isinstance(schema.get("additionalProperties"), dict):
        made["additionalProperties"] = closed(schema["additionalProperties"], definitions)
    if "items" in schema:
        made["items"] = closed(schema["items"], definitions)
    return made


def write(folder, openapi, crds):
    """One file per kind, named as kubeconform's {{ .ResourceKind }}{{ .KindSuffix }}."""
    definitions = json.loads(openapi.read_text())["definitions"]
    for definition in definitions.values():
        for gvk in definition.get("x-kubernetes-group-version-kind", []):
            if gvk["kind"] in KINDS and gvk["version"] == "v1":
                group = gvk["group"].split(".")[0]
                name = "-".join(filter(None, (gvk["kind"].lower(), group, "v1")))
                (folder / f"{name}.json").write_text(json.dumps(closed(definition, definitions)))
    for crd in filter(None, yaml.safe_load_all(crds.read_text())):
        version = next(v for v in crd["spec"]["versions"] if v["served"])
        name = f"{crd['spec']['names']['kind'].lower()}-{crd['spec']['group'].split('.')[0]}-{version['name']}"
        (folder / f"{name}.json").write_text(json.dumps(version["schema"]["openAPIV3Schema"]))
