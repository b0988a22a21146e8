"""Formats every .k file of a folder with the released wheel; prints the CPU seconds of the calls. Nothing is written."""

import pathlib
import sys
import time

import kcl_lib.api as api


def main():
    texts = [path.read_text() for path in sorted(pathlib.Path(sys.argv[1]).glob("*.k"))]
    service, cpu = api.API(), 0.0
    for text in texts:
        asked = api.FormatCodeArgs(source=text)
        before = time.process_time()
        try:
            service.format_code(asked)
        except Exception:  # relative imports make it panic; what it did until then counts
            pass
        cpu += time.process_time() - before
    print(cpu)


main()
