"""Runs a command once; prints its wall seconds, CPU seconds (user and system), peak memory in KiB, exit code and own CPU seconds.

CPU is that of the command and of every process that it started, also of those that outlive it for a moment; memory and
own CPU are the command's alone (as last seen, a few milliseconds before its end).

Usage: timed.py FILE COMMAND ARGUMENT...  (the command is a full path; its standard output goes to the file)
"""

import ctypes
import os
import resource
import sys
import threading
import time

PR_SET_CHILD_SUBREAPER = 36


def watch(child, peak, alone, ended):
    """The system knows the peak and the own time only while the process lives, and after its end only those with its children."""
    tick = os.sysconf("SC_CLK_TCK")
    while not ended.wait(0.005):
        try:
            with open(f"/proc/{child}/status") as status:
                for line in status:
                    if line.startswith("VmHWM:"):
                        peak[0] = int(line.split()[1])
            with open(f"/proc/{child}/stat") as stat:
                fields = stat.read().rsplit(")", 1)[1].split()
                alone[0] = (int(fields[11]) + int(fields[12])) / tick
        except OSError:
            return


def reap_the_rest():
    """Processes whose parent has ended come to us: their time counts as well."""
    limit = time.monotonic() + 10
    while time.monotonic() < limit:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            time.sleep(0.01)


def main():
    command = sys.argv[2:]
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    out = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    before = time.monotonic()
    child = os.posix_spawn(command[0], command, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, out, 1)])
    peak, alone, ended = [0], [0.0], threading.Event()
    watcher = threading.Thread(target=watch, args=(child, peak, alone, ended))
    watcher.start()
    _, status, own = os.wait4(child, 0)
    wall = time.monotonic() - before
    ended.set()
    watcher.join()
    reap_the_rest()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = used.ru_utime + used.ru_stime
    print(wall, cpu, peak[0] or own.ru_maxrss, os.waitstatus_to_exitcode(status), alone[0])


main()
