"""Runs a command once; prints its wall seconds, CPU seconds (user and system), peak memory in KiB and exit code.

Usage: timed.py COMMAND ARGUMENT...  (the command is a full path; its standard output is thrown away)
"""

import os
import sys
import time


def main():
    command = sys.argv[1:]
    null = os.open(os.devnull, os.O_WRONLY)
    before = time.monotonic()
    child = os.posix_spawn(command[0], command, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, null, 1)])
    _, status, used = os.wait4(child, 0)
    wall = time.monotonic() - before
    print(wall, used.ru_utime + used.ru_stime, used.ru_maxrss, os.waitstatus_to_exitcode(status))


main()
