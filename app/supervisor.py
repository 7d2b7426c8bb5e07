"""`onus up`: web and scheduler, started together and stopped together.

If one ends by itself, the rest is stopped and the answer is 1, so that whoever watches `onus up` hears of it: there is
no restarting here. Signals are only noted and wake the one loop, so that none of them can break a stop. The embedded
database is the caller's: it acquires it before, and releases it after.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from types import FrameType

STOP_WITHIN = 6.0  # seconds, of the 10 that `onus up` has for all; the rest is for the database
REAP_WITHIN = 0.2  # seconds for the kernel to end what was killed
LOOK_EVERY = 5.0  # seconds; a signal wakes us at once, this is for one that somebody else took
PARENT = "ONUS_PARENT"  # the environment variable that names the supervisor to its children
PR_SET_PDEATHSIG = 1  # of linux/prctl.h
STOPS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

Child = subprocess.Popen[bytes]


class PortTaken(Exception):
    """The web process could not listen; the message is one line that says what to do."""


def refuse_taken_port(port: int, host: str = "127.0.0.1") -> None:
    """Raise PortTaken unless one can listen there now. The web server would say so late, in its own log."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as gunicorn does: old connections do not count
        try:
            probe.bind((host, port))
            probe.listen(1)
        except (OSError, OverflowError) as fault:
            reason = getattr(fault, "strerror", None) or str(fault)
            raise PortTaken(
                f"port {port} of {host} cannot be used ({reason}): stop what uses it, or choose another with --port"
            ) from fault


def die_with_parent() -> None:
    """Called by a child at its start: on Linux it gets SIGTERM when the supervisor ends, be it by kill -9."""
    parent = os.environ.pop(PARENT, None)
    if parent is None or sys.platform != "linux":
        return
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != int(parent):  # it ended before we asked
        os.kill(os.getpid(), signal.SIGTERM)


def run_together(commands: Mapping[str, Sequence[str]], env: Mapping[str, str], announce: str) -> int:
    """Run the commands until a stop is asked for (0), or until one ends by itself or does not start (1).

    Nothing of them is left on return, after STOP_WITHIN seconds at most. The signals that ask for a stop stay noted
    and without effect from then on: they must not break what the caller has to clean up. For the main thread only.
    """
    children: dict[str, Child] = {}
    with _noted_signals() as (asked, wake):
        try:
            for name, command in commands.items():
                try:
                    children[name] = _start(command, env)
                except OSError as fault:
                    _say(f"{name} did not start ({fault.strerror}: {fault.filename}); stopping the rest")
                    return 1
            with contextlib.suppress(OSError):  # nobody needs to listen
                print(announce, flush=True)  # noqa: T201 (the one line on stdout)
            return _wait(children, asked, wake)
        finally:
            _stop(children, wake)


@contextlib.contextmanager
def _noted_signals() -> Iterator[tuple[list[int], socket.socket]]:
    """The stops asked for so far, and a socket that is readable after each signal, an ended child's included."""
    asked: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        if number != signal.SIGCHLD:
            asked.append(number)

    wake, wakened = socket.socketpair()
    wake.setblocking(False)
    wakened.setblocking(False)
    signal.set_wakeup_fd(wakened.fileno(), warn_on_full_buffer=False)
    for number in (*STOPS, signal.SIGCHLD):
        if not (number == signal.SIGHUP and signal.getsignal(number) == signal.SIG_IGN):  # nohup onus up
            signal.signal(number, note)
    try:
        yield asked, wake
    finally:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        wake.close()
        wakened.close()


def _start(command: Sequence[str], env: Mapping[str, str]) -> Child:
    # In a session of its own: Ctrl-C reaches only us, and its process group is all that it starts.
    return subprocess.Popen(  # noqa: S603 (the caller's own commands)
        command,
        env={**env, PARENT: str(os.getpid())},
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )


def _wait(children: Mapping[str, Child], asked: Sequence[int], wake: socket.socket) -> int:
    while not asked:
        for name, child in children.items():
            if (how := _ended(child)) is not None:
                _say(f"{name} ended by itself ({how}); stopping the rest")
                return 1
        _sleep(wake, LOOK_EVERY)
    return 0


def _stop(children: Mapping[str, Child], wake: socket.socket) -> None:
    """Ask all process groups to stop, and kill what is left of them at the end of the time."""
    deadline = time.monotonic() + STOP_WITHIN
    for child in children.values():
        _signal_group(child, signal.SIGTERM)
    while any(_ended(child) is None for child in children.values()) and time.monotonic() < deadline:
        _sleep(wake, deadline - time.monotonic())
    for name, child in children.items():
        if _ended(child) is None:
            _say(f"{name} did not stop in {STOP_WITHIN:.0f} s; killed")
        _signal_group(child, signal.SIGKILL)  # its workers, too, which may outlive it
    for child in children.values():
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(REAP_WITHIN)


def _ended(child: Child) -> str | None:
    """How a child ended, or None. It stays unreaped, so that its number, and its group's, cannot be a stranger's."""
    seen = os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    if seen is None:
        return None
    if seen.si_code == os.CLD_EXITED:
        return f"exit {seen.si_status}"
    return f"signal {seen.si_status}, {signal.strsignal(seen.si_status)}"


def _signal_group(child: Child, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, number)


def _sleep(wake: socket.socket, seconds: float) -> None:
    """Until the next signal, but no longer than so."""
    if select.select([wake], [], [], max(0.0, seconds))[0]:
        wake.recv(4096)


def _say(words: str) -> None:
    print(f"onus: {words}", file=sys.stderr, flush=True)  # noqa: T201 (for whoever started us)
