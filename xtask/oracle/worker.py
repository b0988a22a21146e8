"""Runs KCL programs with the released wheel (kcl-lib), one JSON line in, one JSON line out.

In:  {"dir": work folder, "entries": [paths], "codes": [texts] or [], "flags": {...}}
Out: {"yaml", "json", "log", "error", "cpu": seconds of the execute call, "rss": peak KiB}

The wheel may hang, eat memory or abort: the parent owns the clock, and this process limits its own memory.
With codes the files need not exist; without, they are read from the folder.
"""

import json
import os
import resource
import sys
import time

import kcl_lib.api as api


def option_value(text):
    """The command line's reading of -D values: JSON, except numbers with an exponent; KCL's constants; else text."""
    constants = {"True": "true", "False": "false", "None": "null", "Undefined": "null"}
    if text in constants:
        return constants[text]
    try:
        value = json.loads(text)
    except ValueError:
        return json.dumps(text, ensure_ascii=False)
    if isinstance(value, float) and "e" in text.lower():
        return json.dumps(text)
    return text


def arguments(job):
    flags = job["flags"]
    options = [pair.partition("=") for pair in flags.get("options", [])]
    externals = [pair.partition("=") for pair in flags.get("externals", [])]
    return api.ExecProgramArgs(
        work_dir=job["dir"],
        k_filename_list=job["entries"],
        k_code_list=job["codes"],
        args=[api.Argument(name=k, value=option_value(v)) for k, _, v in options],
        overrides=flags.get("overrides", []),
        path_selector=flags.get("selectors", []),
        external_pkgs=[
            api.ExternalPkg(pkg_name=n, pkg_path=os.path.join(job["dir"], p)) for n, _, p in externals
        ],
        disable_none=flags.get("disable_none", False),
        sort_keys=flags.get("sort_keys", False),
        show_hidden=flags.get("show_hidden", False),
        strict_range_check=flags.get("strict_range", False),
        debug=1 if flags.get("debug", False) else 0,
    )


def run(service, job):
    given = arguments(job)
    times = job.get("times", 1)
    cpu = time.process_time()
    try:
        for _ in range(times):
            result = service.exec_program(given)
        cpu = time.process_time() - cpu
        answer = {
            "yaml": result.yaml_result,
            "json": result.json_result,
            "log": result.log_message,
            "error": result.err_message,
        }
    except Exception as problem:  # the wheel reports compile errors this way
        cpu = time.process_time() - cpu
        answer = {"yaml": "", "json": "", "log": "", "error": str(problem)}
    answer["cpu"] = cpu
    answer["rss"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return answer


def main():
    limit = int(os.environ.get("ORACLE_MEMORY_MIB", "1500")) << 20
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # The wheel writes panics to stderr and prints to stdout now and then: keep the protocol on its own channel.
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    service = api.API()
    channel.write("ready\n")
    channel.flush()
    for line in sys.stdin:
        answer = run(service, json.loads(line))
        channel.write(json.dumps(answer, ensure_ascii=False) + "\n")
        channel.flush()


main()
