"""Processes of a scenario: each with its own log file, all ended in reverse order, whatever happens."""
import itertools
import os
import pathlib
import select
import signal
import socket
import subprocess
import threading
import time


_ports = itertools.count(10000 + os.getpid() * 61 % 20000)
_ports_lock = threading.Lock()


def free_port():
    """Below the range that the kernel takes for outgoing connections, and each only once in this program."""
    with _ports_lock:
        while True:
            port = 10000 + (next(_ports) - 10000) % 22000
            with socket.socket() as s:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                try:
                    s.bind(("127.0.0.1", port))
                    return port
                except OSError:
                    continue


class Process:
    def __init__(self, name, command, log, env=None, niceness=0):
        self.name, self.command, self.log = name, [str(c) for c in command], pathlib.Path(log)
        self.env = {**os.environ, **(env or {})}
        self.niceness, self.process, self.exits = niceness, None, []

    def start(self):
        with open(self.log, "ab") as out:
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                            env=self.env, start_new_session=True)
        return self

    def running(self):
        return self.process is not None and self.process.poll() is None

    def stop(self, how=signal.SIGTERM, seconds=15):
        """Ends it and returns its exit status; a process that does not go in time is killed and said so."""
        if self.process is None:
            return None
        if self.running():
            self.process.send_signal(how)
            try:
                self.process.wait(seconds)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
                raise AssertionError(f"{self.name} did not end within {seconds} s of signal {how}") from None
        status = self.process.returncode
        self.exits.append(status)
        self.process = None
        return status

    def kill(self):
        return self.stop(signal.SIGKILL)

    def text(self):
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def resident(self):
        """(now, peak) in MiB."""
        values = {}
        for line in open(f"/proc/{self.process.pid}/status"):
            if line.startswith(("VmRSS", "VmHWM")):
                values[line.split(":")[0]] = int(line.split()[1]) / 1024
        return values["VmRSS"], values["VmHWM"]

    def cpu_seconds(self):
        stat = open(f"/proc/{self.process.pid}/stat").read()
        fields = stat[stat.rindex(")") + 2:].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


_stacks = []


def kill_everything():
    """From a handler of signals: what was started is killed, and not waited for."""
    for process in (p for stack in _stacks for p in reversed(stack.all) if p.running()):
        os.killpg(process.process.pid, signal.SIGKILL)


def end_everything(number, _frame):
    """A handler of signals: nothing that was started outlives this program."""
    kill_everything()
    os._exit(128 + number)


def kill_left_over():
    """Ends what a cluster that never came up has left behind; everything else was stopped by its owner."""
    for process in (p for stack in _stacks for p in reversed(stack.all) if p.running()):
        process.process.kill()
        process.process.wait()


class Processes:
    """A stack of processes: closed last started first."""

    def __init__(self, folder):
        self.folder, self.all = pathlib.Path(folder), []
        self.folder.mkdir(parents=True, exist_ok=True)
        _stacks.append(self)

    def start(self, name, command, env=None):
        process = Process(name, command, self.folder / f"{name}.log", env).start()
        self.all.append(process)
        return process

    def stop_all(self):
        """Names of processes that did not end as they should."""
        bad = []
        for process in reversed(self.all):
            if process.process is None:
                continue
            if not process.running():
                last = (process.text().splitlines() or ["nothing in its log"])[-1]
                bad.append(f"{process.name} had ended with status {process.process.returncode}: {last}")
                continue
            try:
                process.stop()
            except AssertionError as error:
                bad.append(str(error))
        return bad


def readable(descriptor, seconds):
    """Whether something can be read from it, or its other end is gone. select() knows no descriptor above 1023, and scenarios
    that run side by side have that many."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


def wait_port(port, seconds=20):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with socket.socket() as s:
            if s.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise AssertionError(f"nothing listens on port {port} after {seconds} s")
