"""Compiles every package below a folder with the wheel: compile.py FOLDER."""
import os
import sys

import kcl_lib.api as api

service, count = api.API(), 0
for folder, _, names in sorted(os.walk(sys.argv[1])):
    files = sorted(os.path.abspath(os.path.join(folder, name)) for name in names if name.endswith(".k"))
    if files:
        result = service.exec_program(api.ExecProgramArgs(k_filename_list=files, work_dir=os.path.abspath(folder)))
        if result.err_message:
            sys.exit(f"{folder}: {result.err_message}")
        count += 1
print(f"{count} packages on the wheel")
