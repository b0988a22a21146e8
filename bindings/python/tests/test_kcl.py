from __future__ import annotations

import threading
from pathlib import Path

import kcl
import pytest


def test_run() -> None:
    result = kcl.run('a = option("n") + 1\nprint("x")', {"n": 1})
    assert (result.yaml, result.value, result.log) == ("a: 2", {"a": 2}, "x\n")
    stream = kcl.run("import manifests\nmanifests.yaml_stream([{a = 1}, {b = 2}])")
    assert stream.value == [{"a": 1}, {"b": 2}]
    assert kcl.run("b = 1\na = 2", sort_keys=True).yaml == "a: 2\nb: 1"


@pytest.mark.parametrize(("code", "message"), [('a: int = "x"', "expected int"), ("a = [1][2]", "out of range")])
def test_errors(code: str, message: str) -> None:
    with pytest.raises(kcl.Error, match=message):
        kcl.run(code)


def test_files(tmp_path: Path) -> None:
    file = tmp_path / "main.k"
    file.write_text('# kept\napp = {image = "pay:v1"}\n')
    assert kcl.run_file("main.k", work_dir=tmp_path).value == {"app": {"image": "pay:v1"}}
    assert kcl.override_file(file, ['app.image="pay:v42"'])
    assert file.read_text() == '# kept\napp = {image = "pay:v42"}\n'
    assert not kcl.override_file(file, ["zz-"])
    assert kcl.list_variables(file, specs=["app.image"])["app.image"]["variables"][0]["value"] == '"pay:v42"'
    assert kcl.rename(tmp_path, "app", [file], "service") == [str(file)]
    assert "service = {" in file.read_text()
    assert kcl.format_path(file) == []
    assert kcl.lint(file) == []


def test_texts() -> None:
    assert kcl.format_code("a=1") == "a = 1\n"
    code = 'schema User:\n    age: int\n    check:\n        age > 0, "too young"\n'
    kcl.validate(code, '{"age": 1}')
    with pytest.raises(kcl.Error, match="too young"):
        kcl.validate(code, "age: 0", format="yaml", schema="User")


def test_schemas_options_and_cases(tmp_path: Path) -> None:
    (tmp_path / "main.k").write_text('schema S:\n    """About S."""\n    a: int = option("a")\n')
    (tmp_path / "main_test.k").write_text("test_ok = lambda { assert True }\ntest_bad = lambda { assert False }\n")
    assert kcl.schema_types(tmp_path / "main.k")["S"]["schema_doc"] == "About S."
    assert [option["name"] for option in kcl.list_options(tmp_path / "main.k")] == ["a"]
    assert [bool(case["error"]) for case in kcl.test(tmp_path)] == [False, True]


def test_threads_and_the_whole_api() -> None:
    results: list[str] = []
    threads = [threading.Thread(target=lambda: results.append(kcl.run("a = 1").yaml)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == ["a: 1"] * 8
    assert len(kcl.call("BuiltinService.ListMethod")["method_name_list"]) >= 28
    with pytest.raises(kcl.Error, match="no method"):
        kcl.call("KclService.Nope")
    assert kcl.version().count(".") == 2
