"""`kcl fmt` judged by the wheel's parser: fmt.py KCL COUNT SEED.

Takes the programs of the repository and adds comments, empty lines, line ends, mistakes. Of each: both parsers accept it or neither
does; the wheel reads the same tree and the same comments before and after; a second pass changes nothing. Of programs without
comments it counts how many have the very bytes of the wheel's formatter. Exits with 1 if a promise is broken.
"""

import glob
import json
import os
import random
import re
import select
import subprocess
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
COMMENTS = ["# c", "#", "#x y", "## z  ", '# "q', "# {[(", "#\ttab", "# é"]
# What the wheel says about imports is no syntax error.
ABOUT_IMPORTS = re.compile(r"not found in the program|kcl mod add|artifacthub|Cannot find the module|Failed to import")
PLACES = {"filename", "line", "column", "end_line", "end_column", "pkg", "id", "is_long_string"}


def wheel():
    """A child that answers a text with what the wheel makes of it, a line for a line."""
    import kcl_lib.api as api

    channel = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    service = api.API()
    for line in sys.stdin:
        text = json.loads(line)
        try:
            parsed = service.parse_file(api.ParseFileArgs(path="main.k", source=text))
            errors = [e.messages[0].msg for e in parsed.errors]
            form = service.format_code(api.FormatCodeArgs(source=text)).formatted.decode()
            answer = [parsed.ast_json, [e for e in errors if not ABOUT_IMPORTS.search(e)], form]
        except Exception:
            answer = None
        channel.write(json.dumps(answer) + "\n")
        channel.flush()


class Wheel:
    def __init__(self):
        self.child = None

    def ask(self, text):
        """Tree, errors and form; none if it breaks, which it does on empty files and relative imports, too."""
        if self.child is None:
            words = [sys.executable, __file__, "--wheel"]
            pipe, null = subprocess.PIPE, subprocess.DEVNULL
            self.child = subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=null, text=True)
        answer = ""
        try:
            self.child.stdin.write(json.dumps(text) + "\n")
            self.child.stdin.flush()
            if select.select([self.child.stdout], [], [], 20)[0]:
                answer = self.child.stdout.readline()
        except BrokenPipeError:
            pass
        if not answer:
            self.child.kill()
            self.child.wait()
            self.child = None
        return json.loads(answer or "null")


def programs():
    texts = []
    for path in sorted(glob.glob(ROOT + "/spec/**/*.md", recursive=True)):
        with open(path) as file:
            texts += re.findall(r"^```kcl[^\n]*\n(.*?)^```$", file.read(), re.S | re.M)
    for path in sorted(glob.glob(ROOT + "/konfig/**/*.k", recursive=True)):
        with open(path) as file:
            texts.append(file.read())
    return texts


def with_line(choice, line, often):
    """A line with something more in it."""
    if choice.random() < often and line.strip():
        return line + choice.choice(["", "  ", " ", "\t"]) + choice.choice(COMMENTS)
    if choice.random() < often / 2 and " = " in line:
        return line.replace(" = ", choice.choice(["=", "  =   ", " =\\\n   ", " \\\n = "]), 1)
    for mark in "{[":
        if choice.random() < often / 3 and mark in line:
            return line.replace(mark, mark + choice.choice(["\n", " # o\n", "\n\n# p\n"]), 1)
    return line


def noisy(choice, text):
    often, inside, out = choice.choice([0, 0.02, 0.1, 0.3]), False, []
    for line in text.split("\n"):
        quotes = line.count('"""') + line.count("'''")
        if not inside and not quotes and not line.endswith("\\"):
            if choice.random() < often:
                out.append(" " * choice.choice([0, 0, 2, 4, 4, 8, 12]) + choice.choice(COMMENTS))
            if choice.random() < often / 2:
                out.append(choice.choice(["", "   ", "\t"]))
            line = with_line(choice, line, often)
        inside ^= quotes % 2 == 1
        out.append(line)
    if choice.random() < 0.2:
        at, mistakes = choice.randrange(len(out)), [";", ",", " \\", "]", "(", "else:", "    x: int", "check:"]
        out[at] = choice.choice([out[at] + choice.choice(mistakes), out[at].strip(), "    " + out[at]])
    text = "\n".join(out)
    return text.replace("\n", "\r\n") if choice.random() < 0.15 else text


def stripped(node):
    if isinstance(node, dict):
        return {key: stripped(value) for key, value in node.items() if key not in PLACES}
    return [stripped(value) for value in node] if isinstance(node, list) else node


def meaning(tree):
    tree = json.loads(tree)
    # The carriage return belongs to the line end.
    comments = [comment["node"]["text"].rstrip("\r") for comment in tree.pop("comments", [])]
    return stripped(tree), comments


def judge(asked, text, done, failed, counts):
    """What is wrong with a program that became another; none if nothing is."""
    before = asked.ask(text)
    if before is None:
        counts["unread"] += 1
        return None
    if bool(before[1]) != failed:
        return f"the wheel says {before[1][:1]}, ours that it {'fails' if failed else 'is right'}"
    if failed:
        counts["refused"] += 1
        return None
    after = asked.ask(done)
    if after is None or after[1]:
        return f"the result is not read: {after and after[1][:1]}" if done.strip() else None
    (tree, comments), (new_tree, new_comments) = meaning(before[0]), meaning(after[0])
    if "#" not in text:
        counts["plain"] += 1
        counts["alike"] += before[2] == done
    if comments != new_comments:
        return "the comments changed"
    return None if tree == new_tree else "the tree changed"


def main():
    kcl, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    texts, asked = programs(), Wheel()
    counts = dict.fromkeys(["unread", "refused", "plain", "alike"], 0)
    broken = 0
    with tempfile.TemporaryDirectory() as folder:
        inputs = {}
        for number in range(count):
            choice = random.Random(seed * 1000003 + number)
            inputs[f"{number:06}.k"] = noisy(choice, choice.choice(texts))
        for name, text in inputs.items():
            with open(os.path.join(folder, name), "w", newline="") as file:
                file.write(text)
        words = [kcl, "fmt", "--json", folder]
        told = json.loads(subprocess.run(words, capture_output=True, text=True).stdout)
        failed = {os.path.basename(f["path"]) for f in told["files"] if f["status"] == "failed"}
        again = json.loads(subprocess.run(words + ["--check"], capture_output=True, text=True).stdout)
        moved = {os.path.basename(f["path"]) for f in again["files"] if f["status"] == "would-change"}
        for name, text in inputs.items():
            with open(os.path.join(folder, name), newline="") as file:
                done = file.read()
            wrong = judge(asked, text, done, name in failed, counts)
            if name in moved:
                wrong = "no fixed point"
            if wrong:
                broken += 1
                print(f"--- {name}: {wrong}\n{text}\n--- became\n{done}")
    print(
        f"{count} programs ({counts['refused']} refused by both, {counts['unread']} not read by the wheel): {broken} promises broken; "
        f"{counts['alike']} of {counts['plain']} without comments have the wheel's bytes"
    )
    sys.exit(1 if broken or counts["unread"] * 2 > count else 0)


wheel() if sys.argv[1] == "--wheel" else main()
