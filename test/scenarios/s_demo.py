"""The demo on terminals of 80 and of 200 columns, as somebody new to it would use it."""
import fcntl
import os
import pathlib
import pty
import re
import shlex
import signal
import struct
import subprocess
import sys
import termios

from cluster import ROOT, until
from processes import readable
from realcluster import MissingAssets, find_assets

DAEMONS = ("kubesim", "fakelet", "vpa-recommender", "vpa-updater", "vpa-admission-controller")
ESCAPE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


class Terminal:
    """A terminal in which the demo runs; `said` is all that it ever wrote."""

    def __init__(self, columns, rows, path):
        self.columns, self.said = columns, ""
        self.child, self.master = pty.fork()
        if self.child == 0:
            os.environ.update(TERM="xterm", PATH=path, PYTHONIOENCODING="utf-8")
            os.execv(sys.executable, [sys.executable, "-B", str(ROOT / "deploy/demo/run.py"), "--rate=600"])
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, seconds=0.2):
        while readable(self.master, seconds):
            try:
                self.said += os.read(self.master, 65536).decode(errors="replace")
            except OSError:  # nobody is at the other end any more
                return self.said
        return self.said

    def wait(self, text, seconds, what):
        until(lambda: text in self.read(), seconds, what)

    def picture(self):
        """The last whole picture: from its clock to the totals."""
        whole = re.findall(r"cluster time .*?\nused [^\n]*", ESCAPE.sub("", self.read()).replace("\r", ""), re.S)
        return whole[-1].splitlines() if whole else []

    def close(self):
        """Closed by its window's button: the kernel tells the demo with SIGHUP."""
        os.close(self.master)
        status = []
        until(lambda: status.append(os.waitpid(self.child, os.WNOHANG)) or status[-1][0], 30, "the demo ended")


def children(pid):
    """Processes that the demo started: each leads a session of its own, and belongs to the demo."""
    found = []
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            found.append(int(stat.parent.name))
    return found


def is_there(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def row(terminal, workload):
    return next((line for line in terminal.picture() if line.startswith(workload + " ")), "")


def commands(terminal):
    """What the demo says to try, as it would be pasted."""
    lines = ESCAPE.sub("", terminal.said).replace("\r", "").splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("While the demo runs, try"))
    return [line.strip() for line in lines[first + 1:first + 4]]


def paste(command, path):
    done = subprocess.run(["bash", "-c", command], env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and '"Failure"' not in done.stdout, (command, done.stdout, done.stderr)
    return done.stdout


def path_with_kubectl():
    """A PATH on which kubectl is, where the tests have one."""
    try:
        mine = find_assets("1.36").get("kubectl")
    except MissingAssets:
        mine = None
    return f"{mine.parent}:{os.environ['PATH']}" if mine else os.environ["PATH"]


def path_without_kubectl(folder):
    """Only what the commands without kubectl need."""
    os.makedirs(folder)
    for program in ("bash", "curl", "openssl"):
        os.symlink(subprocess.check_output(["bash", "-c", f"command -v {program}"], text=True).strip(), f"{folder}/{program}")
    return str(folder)


def look(terminal, shown):
    """The table, the charts and the totals fit, and the result is among the columns shown."""
    terminal.wait("cluster time", 60, "a picture")
    until(lambda: "yes" in row(terminal, "etcd") and "watched" in row(terminal, "web"), 90, "a right-sized workload")
    lines = terminal.picture()
    assert all(len(line) < terminal.columns for line in lines), lines
    header = lines[1].split()
    assert set(shown) <= set(header) and {"WORKLOAD", "REQUESTS", "TARGET", "RIGHT-SIZED"} <= set(header), header
    assert re.search(r"^reserved now .*(less|more)", "\n".join(lines), re.M) and "%" in "".join(lines), lines


def scenario_demo_terminal(make):
    """At 80 columns, without kubectl, closed like a window: nothing runs on. At 200: the commands pasted, a VPA deleted, Ctrl-C."""
    folder = make(controllers=False).processes.folder
    narrow = Terminal(80, 40, path_without_kubectl(folder / "bin"))
    look(narrow, [])
    for command in commands(narrow):
        assert command.startswith("curl "), command
        paste(command, os.environ["PATH"])
    until(lambda: "no VPA" in row(narrow, "backup") or row(narrow, "backup").rstrip().endswith("-"), 30, "the deleted VPA is seen")
    started, logs = children(narrow.child), pathlib.Path(re.search(r"Logs of all programs: (\S+)", ESCAPE.sub("", narrow.said))[1])
    assert len(started) >= len(DAEMONS) and logs.is_dir(), (started, logs)
    narrow.close()
    until(lambda: not any(is_there(pid) for pid in started), 20, "nothing runs on")
    until(lambda: not logs.exists(), 20, "nothing is left behind")

    path = path_with_kubectl()
    wide = Terminal(200, 60, path)
    look(wide, ["MODE", "PODS", "USAGE", "LOWER", "UPPER"])
    for command in commands(wide):
        paste(command, path)
    if "kubectl" in commands(wide)[0]:
        kubectl = " ".join(shlex.quote(word) for word in shlex.split(commands(wide)[0])[:4])
        unquoted = "spec: {updatePolicy: {updateMode: Off}}"
        said = subprocess.run(["bash", "-c", f"{kubectl} patch vpa etcd --type=merge -p '{unquoted}'"], env={**os.environ, "PATH": path},
                              capture_output=True, text=True, timeout=60)
        assert said.returncode != 0 and "quote it" in said.stderr, said
        until(lambda: row(wide, "own"), 30, "the workload of one's own")
        paste(f"{kubectl} delete vpa web", path)
        until(lambda: "no VPA" in row(wide, "web"), 30, "the deleted VPA is seen")
    until(lambda: "watched" not in row(wide, "web"), 30, "the VPA that was changed or deleted is seen")
    assert "Traceback" not in wide.said, wide.said[-3000:]
    started = children(wide.child)
    os.kill(wide.child, signal.SIGINT)
    wide.wait("Three things to try next", 30, "the farewell")
    until(lambda: not any(is_there(pid) for pid in started), 20, "nothing runs on")


scenario_demo_terminal.tiers = ["sim"]
scenario_demo_terminal.why = "starts its own cluster"
