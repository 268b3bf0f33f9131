"""Small changes of meaning in C sources: where they can be made, and the source with one of them made."""
import re

CALL_ARGUMENT = r"[A-Za-z_&*!][\w.>&*!-]*(?:\([^(),]*\))?|\d+"

# Lines that only tell people something, that give memory back (the sanitizers of the unit tests see to that), that
# size a buffer, that hold a mistake of ours, or that take a lock (ThreadSanitizer sees to that).
SILENT = re.compile(r"\bVPA_(INFO|WARN|WARNING|ERROR|DEBUG|V\d?|LOG|KV\w*|\w+_UNLESS_TOLD)\b|\bvpa_(fail|wrap|log)\w*\(|\bassert\(|"
                    r"\b\w*(free|release|unref)\(|\bvpa_buf_init\(|\bmemory_limit\b|^\s*#|\bVPA_GROW\b|_MAX\b.*;$|"
                    r"\bpthread_(mutex|rwlock)_\w*lock\(")


# Functions that only give memory back: what they forget is a leak, which the sanitizers report.
RELEASING = re.compile(r"(^|_)(free|release|unref)(_|$)")
# Whose arguments mean the same in either order.
SYMMETRIC = re.compile(r"\b(strcmp|strcasecmp|vpa_str_eq|vpa_json_equal|fmin|fmax|memcmp|vpa_xcalloc|same_\w+|is_same|\w+_equal|distance|stronger_of|align|add_counts)\(")
# The larger or the smaller of two, in either order: equal ones are the same. Written as one expression, or as
# "if (a > b) b = a;", where the assignment of what is equal changes nothing.
RELATION = r"(?: < | <= | > | >= )"
OPERAND = r"[\w.>\[\]-]+(?:\([^()]*\))?(?: [-+] [\w.>\[\]-]+)?"
BEGINS = r"(?:(?<=\()|(?<== )|(?<=return )|(?<=\? )|(?<=: )|(?<=&& )|(?<=\|\| )|(?<=, ))"
EITHER = re.compile(rf"{BEGINS}(?P<a>{OPERAND}){RELATION}(?P<b>{OPERAND})\s\?\s(?:(?P=a)\s:\s(?P=b)|(?P=b)\s:\s(?P=a))(?=[;,)])")
RAISED = re.compile(rf"\bif \((?:[^()|?]*\s&&\s)?(?P<a>{OPERAND}){RELATION}(?P<b>{OPERAND})\)\s+"
                    r"(?:(?P=a) = (?P=b)|(?P=b) = (?P=a));(?!\s*else)")
# Or where only "the same or not" is asked of them.
SAME_OR_NOT = re.compile(r"\w*_cmp\([^()]*(?:\([^()]*\))?[^()]*\) [!=]= 0\b")
# One more than needed is no fault there.
ROOM = re.compile(r"\bvpa_\w*(alloc|array)\(|_FEW\b")
# Where a binary search cuts its range in two: elsewhere it finds the same in more steps.
MIDDLE = re.compile(r"\blow \+ \(high - low\) / 2;")
# Sorting a single element changes nothing.
SORTED = re.compile(r"\bif \(\w+ > 1\)\s+qsort\(")
# A reference too many is a leak, which the sanitizers report.
REFERENCE = re.compile(r"\brefs, 1\)")
# How much an array grows by when it is full.
GROWTH = re.compile(r"capacity \? (?:\d+ \* [\w>.-]*capacity|[\w>.-]*capacity \* \d+) : \d+\b")
# In glibc zeros are what these make of a lock or a condition without attributes, and so is what vpa_xcalloc gives.
ZEROS = re.compile(r"\bpthread_(?:mutex|cond|rwlock)_init\(&[\w>.-]+, NULL\);")
# Where 0 is success and what is below 0 is failure: another number above would be the same success.
STATUS = re.compile(r"\breturn (?:-1;|vpa_(?:fail|wrap)\()")
# The order of two elements, of which only the sign counts.
COMPARISON = re.compile(r"^compare_|_cmp$|_compare$")


def mask(source):
    """The source with comments, strings and characters blanked, of the same length."""
    pattern = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)

    def blank(m):
        text = m.group(0)
        filler = re.sub(r"[^\n]", " ", text)
        return text[0] + filler[1:-1] + text[-1] if text[0] in "\"'" else filler
    return pattern.sub(blank, source)


def functions(masked):
    """(name, offset behind the opening brace, offset of the closing one) of every function."""
    for m in re.finditer(r"^\{\n(.*?)^\}", masked, re.S | re.M):
        head = masked[:m.start()].rstrip()
        start = max(head.rfind("\n\n"), head.rfind(";\n"), head.rfind("}\n")) + 1
        names = re.findall(r"(\w+)\(", head[start:])
        if names:
            yield names[0], m.start() + 2, m.end() - 1


def matching(text, at):
    """Offset behind the parenthesis that closes the one at `at`."""
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] == "(") - (text[i] == ")")
        if depth == 0:
            return i + 1
    return len(text)


def is_kept_status(body, before):
    """Whether `before` ends with "int result =", and the function returns result."""
    kept = re.search(r"\bint (\w+) =$", before)
    return kept is not None and f"return {kept.group(1)};" in body


def sites(masked, begin, end, ordered):
    """(operator, offset, end, replacement) within a function; of one that is `ordered` only the sign counts."""
    body = masked[begin:end]
    swaps = {" < ": " <= ", " <= ": " < ", " > ": " >= ", " >= ": " > ", " == ": " != ", " != ": " == ",
             " + ": " - ", " - ": " + ", " && ": " || ", " || ": " && "}
    names = {" < ": "relation", " <= ": "relation", " > ": "relation", " >= ": "relation", " == ": "equality",
             " != ": "equality", " + ": "arithmetic", " - ": "arithmetic", " && ": "logic", " || ": "logic"}
    for m in re.finditer(r" (?:<|<=|>|>=|==|!=|\+|-|&&|\|\|)(?= |\n)", body):
        key = m.group(0) + " "
        yield names[key], begin + m.start(), begin + m.end(), swaps[key][:-1]
    for m in re.finditer(r"\bif \(", body):
        close = matching(masked, begin + m.end() - 1)
        yield "condition", begin + m.end(), close - 1, "!({})"
        after = re.match(r"\s*(?:return|continue|break)\b[^;]*;", masked[close:end])
        if after and not masked[close + after.end():end].lstrip().startswith("else"):
            yield "guard", begin + m.start(), close + after.end(), ";"
    status = STATUS.search(body) is not None
    for m in re.finditer(r"(?<![\w.\[])(\d+)(?![\w.\]])", body):
        before = body[:m.start()].rstrip(" -")
        alone = m.group(1) in "01" and body[m.end()] == ";"
        first = m.start() - (body[m.start() - 1] == "-")
        if status and alone and (before.endswith("return") or is_kept_status(body, before)):
            yield "constant", begin + first, begin + m.end(), "-1" if m.group(1) == "0" else "0"
            continue
        if ordered and m.group(1) == "1" and re.search(r"(?:\breturn|[?:])$", before):
            yield "constant", begin + first, begin + m.end(), "1" if first < m.start() else "-1"
            continue
        if re.search(r"[=(,?:] -$", body[:m.start()]):  # below zero: "none"; by how much says nothing
            yield "constant", begin + m.start() - 1, begin + m.end(), "0"
            continue
        yield "constant", begin + m.start(), begin + m.end(), str(int(m.group(1)) + 1)
    for m in re.finditer(r"\b(true|false)\b", body):
        yield "truth", begin + m.start(), begin + m.end(), "false" if m.group(1) == "true" else "true"
    for m in re.finditer(r"^ +((?:\w+\(|[\w>.\[\]-]+ [-+|&]?= )[^;{}]*;)$", body, re.M):
        if not re.match(r"(return|if|while|for|switch)\b", m.group(1)):
            yield "statement", begin + m.start(1), begin + m.end(1), ";"
    for m in re.finditer(rf"\b\w+\(({CALL_ARGUMENT}), ({CALL_ARGUMENT})\)", body):
        symmetric = SYMMETRIC.match(m.group(0)) or SAME_OR_NOT.match(body, m.start())
        if m.group(1) != m.group(2) and not symmetric:
            yield "arguments", begin + m.start(1), begin + m.end(2), f"{m.group(2)}, {m.group(1)}"


TOLD = re.compile(r"\s*(VPA_(?:INFO|WARN|WARNING|ERROR|DEBUG|V)\w*)(?=\()")


def told_only(masked, begin, end):
    """[(offset, end)] of conditions that decide only whether a line is logged, or which of two."""
    found = []
    for m in re.finditer(r"\bif \(", masked[begin:end]):
        close = matching(masked, begin + m.end() - 1)
        log = TOLD.match(masked, close)
        other = log and re.compile(r"\s*else\b").match(masked, matching(masked, log.end()) + 1, end)
        if log and (not other or TOLD.match(masked, other.end())):
            found.append((begin + m.start(), close))
    return found


def no_matter_when_equal(masked, begin, end):
    """[(offset, end)] of relations that mean the same with and without equality."""
    return ([(m.end("a"), m.start("b")) for pattern in (EITHER, RAISED) for m in pattern.finditer(masked, begin, end)] +
            [m.span() for m in SORTED.finditer(masked, begin, end)])


class Mutant:
    def __init__(self, path, source, function, operator, begin, end, replacement):
        self.path, self.function, self.operator = path, function, operator
        self.text = source[:begin] + replacement.format(source[begin:end]) + source[end:]
        self.number = source.count("\n", 0, begin) + 1
        first, last = source.rfind("\n", 0, begin) + 1, source.find("\n", end)
        self.line = " ".join(source[first:last].split())
        self.changed = " ".join(self.text[first:last - (end - begin) + len(replacement.format(source[begin:end]))].split())

    def key(self):
        """What an explanation speaks of: no line number, so that it outlives other changes of the file."""
        return f"{self.path} {self.function} {self.operator} | {self.line}"


def mutants_of(path, source):
    masked = mask(source)
    for name, begin, end in functions(masked):
        if RELEASING.search(name):
            continue
        told = told_only(masked, begin, end)
        equal = no_matter_when_equal(masked, begin, end)
        for operator, first, last, replacement in sites(masked, begin, end, COMPARISON.search(name)):
            if any(a <= first < b for a, b in told):
                continue
            if operator == "relation" and any(a <= first < b for a, b in equal):
                continue
            line_begin, line_end = source.rfind("\n", 0, first) + 1, source.find("\n", last)
            statement = source[line_begin:line_end]
            previous = source[max(source.rfind(";", 0, line_begin), source.rfind("{", 0, line_begin)):line_begin]
            if SILENT.search(statement) or SILENT.search(previous):
                continue
            more = operator in ("constant", "relation") or (operator == "arithmetic" and "+" in replacement)
            if (more and ROOM.search(statement)) or (operator == "constant" and GROWTH.search(statement)):
                continue
            if operator == "constant" and (REFERENCE.search(statement) or MIDDLE.search(statement)):
                continue
            if operator == "statement" and ZEROS.search(statement) and "vpa_xcalloc(" in masked[begin:first]:
                continue
            if "{}" not in replacement:
                replacement = replacement.replace("{", "{{").replace("}", "}}")
            yield Mutant(path, source, name, operator, first, last, replacement)
