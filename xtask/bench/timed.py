"""Runs a command once; prints its wall seconds, CPU seconds (user and system), peak memory in KiB and exit code.

Usage: timed.py FILE COMMAND ARGUMENT...  (the command is a full path; its standard output goes to the file)
"""

import os
import sys
import time


def main():
    command = sys.argv[2:]
    out = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    before = time.monotonic()
    child = os.posix_spawn(command[0], command, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, out, 1)])
    _, status, used = os.wait4(child, 0)
    wall = time.monotonic() - before
    print(wall, used.ru_utime + used.ru_stime, used.ru_maxrss, os.waitstatus_to_exitcode(status))


main()
