"""Answers of API servers made comparable, and what differs between two of them.

What two servers may answer differently is replaced by words: UIDs and versions by their number in order of appearance
(equal ones stay equal), times of the run by <time>. What the server's random order decides (several causes) is sorted.
"""
import json
import re

UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
GIVEN = ("11111111-2222-3333-4444-555555555555", "99999999-2222-3333-4444-555555555555")
TIME = re.compile(r"20[2-9][0-9]-[01]\d-[0-3]\dT[\d:.]+Z")
GIVEN_TIME = re.compile(r"2020-01-0[12]T")
# Texts from the inside of the Go libraries: what stands before them must be the same.
GO_TYPE_ERROR = re.compile(r"(cannot be handled as an? \w+: |failed to (?:create typed patch|convert new) object [^)]*\)).*", re.S)
GO_DIFF = re.compile(r"(if it was previously negative\)).*", re.S)
# Go prints a map that is absent as null and an empty one as {}: the same object in JSON.
GO_VALUE = re.compile(r"Invalid value: (?:\{.*?\}|null): ")
VERSION = re.compile(r"(ResourceVersion in \w+(?: \w+)?: )\d+")
ADDRESS = re.compile(r"127\.0\.0\.1:\d+")
AGE = re.compile(r"\d+[smhdy](\d+[smhdy])?")  # a cell of a Table


class Normal:
    """The answers to one sequence from one server, in order."""

    def __init__(self):
        self.uids, self.versions = {}, {}

    def uid(self, found):
        if found in GIVEN:
            return found
        return f"<uid {self.uids.setdefault(found, len(self.uids))}>"

    def text(self, text):
        text = UID.sub(lambda m: self.uid(m[0]), text)
        text = TIME.sub(lambda m: m[0] if GIVEN_TIME.match(m[0]) else "<time>", text)
        text = ADDRESS.sub("<address>", text)
        text = GO_DIFF.sub(r"\1", GO_TYPE_ERROR.sub(r"\1<why>", GO_VALUE.sub("Invalid value: <value>: ", text)))
        return VERSION.sub(r"\1<version>", text)

    def version(self, text):
        return f"<version {self.versions.setdefault(text, len(self.versions))}>"

    def value(self, value, in_list=False):
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.value(v) for v in value]
        if not isinstance(value, dict):
            return value
        found = {}
        for key, member in value.items():
            if key == "resourceVersion" and isinstance(member, str):
                found[key] = "<list>" if in_list else self.version(member)
            elif key in ("continue", "remainingItemCount"):
                found[key] = bool(member)
            elif key == "causes" and isinstance(member, list) and len(member) > 1:
                found[key] = sorted((self.value(c) for c in member), key=lambda c: json.dumps(c, sort_keys=True))
            elif key == "managedFields":
                continue
            elif key == "cells":
                found[key] = ["<age>" if isinstance(c, str) and AGE.fullmatch(c) else self.value(c) for c in member]
            elif key == "metadata":
                found[key] = self.value(member, in_list="items" in value or "rows" in value)
            elif key == "columnDefinitions" and member:  # but for what they tell people
                found[key] = [{k: v for k, v in column.items() if k != "description"} for column in member]
            else:
                found[key] = self.value(member)
        causes = (value.get("details") or {}).get("causes") if isinstance(value.get("details"), dict) else None
        if value.get("kind") == "Status" and (causes and len(causes) > 1 or "is forbidden: [" in value.get("message", "")):
            found["message"] = sorted(re.split(r"[][]|, |\n", found["message"]))
        return found

    def questions(self, asked):
        """What webhooks were asked. Go prints a list that is absent as null or [], a text as "", a structure as {}: the same."""
        def full(value):
            if isinstance(value, list):
                return [full(v) for v in value]
            if isinstance(value, dict):
                return {k: full(v) for k, v in value.items() if v not in (None, "", {}, [])}
            return value
        return [self.value(full(question)) for question in asked]

    def answer(self, status, headers, body):
        found = {"status": status, "type": headers.get("Content-Type", "").split(";")[0]}
        warnings = headers.get_all("Warning")
        if warnings:
            found["warnings"] = [self.text(w) for w in warnings]
        if headers.get("Retry-After"):
            found["retryAfter"] = headers["Retry-After"]
        try:
            found["body"] = self.value(json.loads(body))
        except ValueError:
            found["body"] = self.text(body.decode(errors="replace"))
        return found

    def events(self, lines):
        """Of a watch; a bookmark may or may not come."""
        lines = [json.loads(line) for line in lines]
        return [self.value(e) for e in lines if e["type"] != "BOOKMARK"]


def differences(ours, theirs, place=""):
    """[(pointer, ours, theirs)]; None for what is absent."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        found = []
        for key in sorted(set(ours) | set(theirs)):
            found += differences(ours.get(key, ABSENT), theirs.get(key, ABSENT), f"{place}/{key}")
        return found
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        return [d for i, (a, b) in enumerate(zip(ours, theirs)) for d in differences(a, b, f"{place}/{i}")]
    if place == "/events" and isinstance(ours, list) and isinstance(theirs, list):
        found = differences(ours[:len(theirs)], theirs[:len(ours)], place)
        return found[:3] or [(f"{place}/{min(len(ours), len(theirs))}", ours[len(theirs):], theirs[len(ours):])]
    return [] if type(ours) is type(theirs) and ours == theirs else [(place, ours, theirs)]


class Absent:
    def __repr__(self):
        return "(absent)"


ABSENT = Absent()
