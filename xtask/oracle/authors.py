"""`kcl lint` and `kcl test` beside the wheel's LintPath and Test: authors.py lint|test KCL COUNT SEED.

Makes packages, asks both, and compares: for lint the import warnings (W0404, W0411, W0413) with their messages, and the first compile
error; for tests the names, verdicts, logs, messages and lines of all cases. Exits with 1 if something differs that is not explained.
"""

import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter

import kcl_lib.api as api

WHEEL = api.API()
RULES = {"W0404", "W0411", "W0413"}


def plain(text):
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def write(folder, files):
    for path, text in files.items():
        full = os.path.join(folder, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)


# --- lint ------------------------------------------------------------------------------------------------------------

PACKAGES = {
    "lib/lib.k": "schema S:\n    x: int = 1\n    y?: str\n\nvalue = 3\n\nf = lambda n: int -> int {\n    n + value\n}\n",
    "other/deep/deep.k": "schema D:\n    d: int = 2\n\nname = \"deep\"\n",
}
# An import, and what uses it: an expression, and a type if it has one.
IMPORTS = [
    ("math", "math", "math.pow(2, 3)", None),
    ("regex", "regex", 'regex.match("a", "a")', None),
    ("json", "json", "json.encode({a = 1})", None),
    ("base64", "base64", 'base64.encode("a")', None),
    ("lib", "lib", "lib.value", "lib.S"),
    ("lib", "lib", "lib.f(1)", "lib.S"),
    ("other.deep", "deep", "deep.name", "deep.D"),
    ("lib as l", "l", "l.value", "l.S"),
    ("math as m", "m", "m.pow(2, 2)", None),
]
USES = [
    "v{n} = {use}",
    'v{n} = "${{{use}}}"',
    "v{n} = [{use} for _i in [1]]",
    "v{n} = {{k = {use}}}",
    "v{n} = lambda {{\n    {use}\n}}",
    "schema A{n}:\n    a: any = {use}",
    "schema A{n}:\n    a?: any\n    check:\n        a != {use} if a",
    "if True:\n    v{n} = {use}",
    "assert {use} != 77",
    "v{n} = {use} if True else 1",
]
TYPED = [
    "t{n}: {ty} = {{}}",
    "schema B{n}({ty}):\n    b: int = 1",
    "t{n} = {ty} {{}}",
    "type T{n} = {ty}",
    "schema C{n}:\n    c?: [{ty}]",
    "h{n} = lambda x: {ty} -> int {{\n    1\n}}",
]
PLAIN = ["p{n} = {n}", "schema Q{n}:\n    q: int = {n}", "# about math and lib", "_h{n} = 'math'", "p{n} = {{math = 1, lib: 2}}.math"]
WRONG = ["w{n}: int = \"x\"", "w{n} = nobody", "w{n} = math2.pow(1, 2)", "w{n} = {{", "import nowhere{n}"]


def program(r):
    lines, used = [], []
    chosen = [r.choice(IMPORTS) for _ in range(r.randint(1, 4))]
    for path, name, use, ty in chosen:
        lines.append("import " + path)
        if r.random() < 0.6:
            used.append(r.choice(TYPED) if ty and r.random() < 0.4 else r.choice(USES))
            used[-1] = (used[-1], use, ty)
    body = []
    for n, (form, use, ty) in enumerate(used):
        body.append(form.format(n=n, use=use, ty=ty))
    for n in range(r.randint(0, 3)):
        body.append(r.choice(PLAIN).format(n=n + 10))
    if r.random() < 0.15:
        body.append(r.choice(WRONG).format(n=30))
    r.shuffle(body)
    if r.random() < 0.2:
        # Some imports come late.
        body.insert(r.randint(0, len(body)), lines.pop())
    return "\n".join(lines + body) + "\n"


def lint_wheel(folder):
    try:
        answer = WHEEL.lint_path(api.LintPathArgs(paths=[os.path.join(folder, "main.k")]))
    except Exception as problem:
        return None, plain(str(problem))
    return [plain(text) for text in answer.results], ""


def lint_ours(kcl, folder):
    done = subprocess.run([kcl, "lint", "--format", "json", "main.k"], cwd=folder, capture_output=True, text=True)
    items = json.loads(done.stdout)["findings"]
    rules = [item["message"] for item in items if item["code"] in RULES]
    errors = [item["message"] for item in items if item["level"] == "error"]
    return rules, errors


IMPORT_WORDS = ("imported but unused", "reimported multiple times", "should be placed at the top")


def compare_lint(kcl, r, folder):
    text = program(r)
    write(folder, {**PACKAGES, "main.k": text, "kcl.mod": '[package]\nname = "m"\n'})
    theirs, broken = lint_wheel(folder)
    ours, errors = lint_ours(kcl, folder)
    if theirs is None:
        return text, f"the wheel: {broken[:200]}" if not errors else None
    rules = [t for t in theirs if any(word in t for word in IMPORT_WORDS)]
    rest = [t for t in theirs if t not in rules]
    if rest or errors:
        # Names look unused in what does not compile; only whether it does is compared.
        return text, None if bool(rest) == bool(errors) else f"wheel errors {rest}, ours {errors}"
    if Counter(rules) != Counter(ours):
        return text, f"wheel {sorted(rules)}\nours  {sorted(ours)}"
    return text, None


# --- test ------------------------------------------------------------------------------------------------------------

LIBRARY = """schema S:
    a: int = 1
    b?: str
    check:
        a > 0, "a is ${a}"

double = lambda x: int -> int {
    x * 2
}
words = ["x", "y"]
"""
CASES = [
    "assert double({n}) == {m}",
    "assert double({n}) == {m}, \"doubled ${{{n}}}\"",
    "s = S {{a = {k}}}\n    assert s.a == {k}",
    "print(\"said\", {n})\n    print(double({n}))",
    "x = words[{n}]\n    assert x == \"y\"",
    "import_free = [double(i) for i in range({n})]\n    assert len(import_free) == {n}",
    "1 // ({n} - 1)",
    "assert double({n}) > {k} if {n} > 1",
    "_x = S {{b = \"{n}\"}}\n    assert _x.b, \"no b\"",
    "if double({n}) > 2:\n        assert False, \"big\"\n    {n}",
    "e = runtime.catch(lambda {{\n        words[7]\n    }})\n    print(e)\n    assert e",
    "assert all w in words {{\n        len(w) == {n}\n    }}, \"words\"",
    "{{a = {n}}}",
]
OTHERS = [
    "helper_{n} = lambda {{\n    assert False\n}}",
    "test_value_{n} = {n}",
    "_test_hidden_{n} = lambda {{\n    assert False\n}}",
    "testing_{n} = lambda {{\n    assert False\n}}",
    "constant_{n} = double({n})",
]


def suite(r):
    files = {"p/lib.k": LIBRARY, "kcl.mod": '[package]\nname = "m"\n'}
    number = 0
    for name in r.sample(["a", "b", "z"], r.randint(1, 3)):
        parts = ["import runtime\n"]
        for _ in range(r.randint(0, 4)):
            number += 1
            n = r.randint(0, 4)
            if r.random() < 0.25:
                parts.append(r.choice(OTHERS).format(n=number))
                continue
            body = r.choice(CASES).format(n=n, m=r.choice([n * 2, n * 2, 5]), k=r.choice([1, 3, 0]))
            parts.append(f"test_{r.choice('abcz')}_{number} = lambda {{\n    {body}\n}}")
        files[f"p/{name}_test.k"] = "\n".join(parts) + "\n"
    return files


def test_wheel(folder, filtered, fast):
    args = api.TestArgs(
        pkg_list=[os.path.join(folder, "p")], exec_args=api.ExecProgramArgs(work_dir=folder), run_regexp=filtered, fail_fast=fast
    )
    rows = []
    for case in WHEEL.test(args).info:
        text = plain(case.error)
        line = re.search(r"--> .*?:(\d+):", text)
        rows.append((case.name, not text, case.log_message, int(line.group(1)) if line else 0))
    return rows


def test_ours(kcl, folder, filtered, fast):
    words = [kcl, "test", "--json", "p"] + (["--run", filtered] if filtered else []) + (["--fail-fast"] if fast else [])
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    rows = []
    for case in json.loads(done.stdout)["cases"]:
        line = re.search(r"--> .*?:(\d+)", case["error"])
        rows.append((case["name"], case["status"] == "passed", case["log"], int(line.group(1)) if line else 0))
    return rows


def compare_test(kcl, r, folder):
    files = suite(r)
    write(folder, files)
    filtered, fast = r.choice(["", "", "", "a", "_1$", "test_[ab]"]), r.random() < 0.2
    shown = "\n".join(f"--- {path}\n{text}" for path, text in files.items()) + f"\nfilter {filtered!r} fast {fast}"
    theirs = test_wheel(folder, filtered, fast)
    ours = test_ours(kcl, folder, filtered, fast)
    if theirs == ours:
        return shown, None
    return shown, f"wheel {theirs}\nours  {ours}"


def main():
    which, kcl, count, seed = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    compare = {"lint": compare_lint, "test": compare_test}[which]
    differ = 0
    for at in range(count):
        folder = tempfile.mkdtemp(prefix="kcl-authors-")
        try:
            text, difference = compare(kcl, random.Random(seed * 1000003 + at), folder)
        finally:
            shutil.rmtree(folder)
        if difference:
            differ += 1
            if differ <= 5:
                print(f"== {which} {at}\n{text}\n{difference}\n")
    print(f"{count} packages, {differ} differ ({which})")
    sys.exit(1 if differ else 0)


if __name__ == "__main__":
    main()
