"""KCL in Python: run, edit, format, lint and validate configuration.

Every function is one call into the native module; nothing is kept between calls, and any thread may call. While a call
runs, other Python threads go on.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from os import PathLike, fspath
from typing import Any, Union

from . import _kcl
from ._kcl import Error

__all__ = [
    "Error",
    "Result",
    "call",
    "format_code",
    "format_path",
    "lint",
    "list_options",
    "list_variables",
    "override_file",
    "rename",
    "run",
    "run_file",
    "schema_types",
    "test",
    "validate",
    "version",
]

Path = Union[str, "PathLike[str]"]


def version() -> str:
    """Returns the version of the library."""
    return _kcl.version()


def call(method: str, args: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Calls a method of the API by its name, for instance ``KclService.ListVariables``, with the fields of its message."""
    result: dict[str, Any] = json.loads(_kcl.call(method, json.dumps(dict(args or {}))))
    return result


@dataclass(frozen=True)
class Result:
    """What came out of a run."""

    yaml: str
    json: str
    #: What ``print`` wrote.
    log: str = field(default="")

    @property
    def value(self) -> Any:
        """The result as Python data; a list if the program wrote several documents."""
        texts = self.json.split("\n")
        return json.loads(self.json) if len(texts) == 1 else [json.loads(text) for text in texts]


def _run(files: list[str], texts: list[str], options: Mapping[str, Any] | None, rest: Mapping[str, Any]) -> Result:
    args = [{"name": name, "value": json.dumps(value)} for name, value in (options or {}).items()]
    answer = call("KclService.ExecProgram", {"k_filename_list": files, "k_code_list": texts, "args": args, **rest})
    if answer["err_message"]:
        raise Error(answer["err_message"])
    return Result(yaml=answer["yaml_result"], json=answer["json_result"], log=answer["log_message"])


def run(code: str, options: Mapping[str, Any] | None = None, *, filename: str = "main.k", **settings: Any) -> Result:
    """Runs a text. ``settings`` are fields of ``ExecProgramArgs``, for instance ``sort_keys=True``."""
    return _run([filename], [code], options, settings)


def run_file(*files: Path, options: Mapping[str, Any] | None = None, work_dir: Path = "", **settings: Any) -> Result:
    """Runs files or folders as one program."""
    return _run([fspath(file) for file in files], [], options, {"work_dir": fspath(work_dir), **settings})


def format_code(code: str) -> str:
    """Formats a text; one that does not parse comes back as it is."""
    return base64.b64decode(call("KclService.FormatCode", {"source": code})["formatted"]).decode()


def format_path(path: Path, *, dry_run: bool = False) -> list[str]:
    """Formats a file, the files of a folder, or everything below it (``folder/...``); returns what changed."""
    return list(call("KclService.FormatPath", {"path": fspath(path), "dry_run": dry_run})["changed_paths"])


def lint(*paths: Path) -> list[str]:
    """Returns what is wrong or probably not meant."""
    return list(call("KclService.LintPath", {"paths": [fspath(path) for path in paths]})["results"])


def override_file(file: Path, specs: Iterable[str], import_paths: Iterable[str] = ()) -> bool:
    """Changes values in a file by path (``app.image="pay:v42"``); only their bytes change. False: nothing was there."""
    args = {"file": fspath(file), "specs": list(specs), "import_paths": list(import_paths)}
    answer = call("KclService.OverrideFile", args)
    if answer["parse_errors"]:
        raise Error(answer["parse_errors"][0]["messages"][0]["msg"])
    return bool(answer["result"])


def validate(code: str, data: str, *, schema: str = "", format: str = "json", attribute: str = "value") -> None:
    """Checks data against a schema of the code; raises :class:`Error` with what does not hold."""
    args = {"code": code, "data": data, "schema": schema, "format": format, "attribute_name": attribute}
    answer = call("KclService.ValidateCode", args)
    if not answer["success"]:
        raise Error(answer["err_message"])


def list_variables(*files: Path, specs: Iterable[str] = ()) -> dict[str, Any]:
    """Returns the variables of files, or what is set at some paths, as it is written."""
    args = {"files": [fspath(file) for file in files], "specs": list(specs)}
    return dict(call("KclService.ListVariables", args)["variables"])


def list_options(*paths: Path) -> list[dict[str, Any]]:
    """Returns what a program asks for with ``option()``."""
    return list(call("KclService.ListOptions", {"paths": [fspath(path) for path in paths]})["options"])


def schema_types(*files: Path, schema: str = "") -> dict[str, Any]:
    """Returns the schemas of a program as data."""
    args = {"exec_args": {"k_filename_list": [fspath(file) for file in files]}, "schema_name": schema}
    return dict(call("KclService.GetSchemaTypeMapping", args)["schema_type_mapping"])


def rename(package_root: Path, symbol: str, files: Iterable[Path], new_name: str) -> list[str]:
    """Gives a variable, schema or attribute another name, wherever the files name it; returns what changed."""
    paths = [fspath(file) for file in files]
    args = {"package_root": fspath(package_root), "symbol_path": symbol, "file_paths": paths, "new_name": new_name}
    return list(call("KclService.Rename", args)["changed_files"])


def test(*packages: Path, work_dir: Path = "", run: str = "", fail_fast: bool = False) -> list[dict[str, Any]]:
    """Runs the test cases of packages (``folder`` or ``folder/...``); a case without ``error`` has passed."""
    args = {
        "exec_args": {"work_dir": fspath(work_dir)},
        "pkg_list": [fspath(package) for package in packages],
        "run_regexp": run,
        "fail_fast": fail_fast,
    }
    return list(call("KclService.Test", args)["info"])
