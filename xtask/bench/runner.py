"""Runs a command several times; prints the CPU seconds (user and system) of one run, and its peak memory in KiB.

Usage: runner.py TIMES COMMAND ARGUMENT...  (the command is a full path; what it prints is thrown away)

Python, because `wait4` is the only exact clock of an ended child and Rust reaches it only through unsafe code. The
peak of a child is never reported below this interpreter's own size (about 10 MB): the kernel counts from the spawn.
"""

import os
import sys


def main():
    times, command = int(sys.argv[1]), sys.argv[2:]
    null = os.open(os.devnull, os.O_WRONLY)
    cpu, peak = 0.0, 0
    for _ in range(times):
        child = os.posix_spawn(command[0], command, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, null, 1)])
        _, status, used = os.wait4(child, 0)
        if status != 0:
            sys.exit(f"{command}: wait status {status}")
        cpu += used.ru_utime + used.ru_stime
        peak = max(peak, used.ru_maxrss)
    print(cpu / times, peak)


main()
