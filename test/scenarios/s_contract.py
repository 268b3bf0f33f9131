"""Answers recorded from real API servers, replayed: on the simulator to hold it against them, on real servers to prove the
reader. The whole set is taken from ../shared/golden when it is there, else the project's own selection of it."""
import json
import time

import contract
import crd_schema
from cluster import until
from kube import path_of


def minors(make):
    """(minor, flags for the simulator)"""
    return ((36, ()), (34, ("--minor=34",))) if make.tier == "sim" else ((int(make.tier.partition(".")[2]), ()),)


KINDS = ("VerticalPodAutoscaler", "VerticalPodAutoscalerCheckpoint")


def described(cluster):
    """Names of schemas in OpenAPI, which a real server writes some time after it serves a custom resource."""
    status, _, text = cluster.client.raw("GET", "/openapi/v3/apis/autoscaling.k8s.io/v1")
    return set(json.loads(text)["components"]["schemas"]) if status == 200 else set()


def scenario_contract(make):
    """Every pair of apiserver_contract and of test/contract/data, of each minor: no difference."""
    topics = contract.recordings("apiserver_contract", make.folder)
    folder = next(iter(topics.values())).parent
    differences = []
    for minor, flags in minors(make):
        for controllers in (False, True):
            if controllers and "controllers" not in topics:
                continue
            # The replayer's webhooks have certificates of today.
            today = (time.strftime("--start-time=%Y-%m-%dT%H:%M:%SZ", time.gmtime()),) if make.tier == "sim" else ()
            cluster = make(flags=(*flags, *today), users=contract.USERS, controllers=controllers)
            for definition in contract.upstream_definitions():
                cluster.client.apply(definition)
            for kind in KINDS:
                until(lambda: cluster.client.raw("GET", path_of(kind))[0] == 200, 30, f"{kind} is served")
            until(lambda: {f"io.k8s.autoscaling.v1.{kind}" for kind in KINDS} <= described(cluster), 60, "both kinds are described")
            for recorded, what in ((folder, ""), *(() if controllers else ((contract.OWN, " of the daemons' own requests"),))):
                lines, pairs, failed = contract.replay(cluster, recorded, minor, controllers)
                for line in lines:
                    make.say(f"1.{minor}: {line}")
                make.say(f"contract 1.{minor}{' with controllers' if controllers else ''}{what}: {pairs} pairs, "
                         f"{failed} differ")
                if failed:
                    differences += [line for line in lines if "pairs, 0 differ" not in line]
    assert not differences, "\n".join(["pairs differ", *differences])


def scenario_crd_schema(make):
    """Every case of crd_schema under our CRD text: no difference but what the decisions S6 and S8 ask for."""
    path = contract.recordings("crd_schema", make.folder)["cases"]
    differences = 0
    for minor, flags in minors(make):
        cluster = make(flags=flags, controllers=False)
        cluster.install()
        cluster.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "schema"}})
        passed, failed, lines = crd_schema.replay(cluster.client, "schema", path, minor)
        for line in lines:
            make.say(line)
        make.say(f"crd_schema 1.{minor}: {passed + failed} cases, {failed} differ")
        differences += failed
    assert differences == 0, f"{differences} cases differ"


scenario_contract.seconds, scenario_crd_schema.seconds = 90, 60
scenario_contract.each_minor = scenario_crd_schema.each_minor = True
