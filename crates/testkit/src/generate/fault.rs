//! Mistakes: what a program that must fail has in it.

use super::model::Ty;
use super::{Gen, Kind};

/// Whole statements that the compiler must refuse (`@x` an int variable or number, `@S` a schema, `@N` a fresh number).
const COMPILE: &[&str] = &[
    "e@N = undefined_name\n",
    "e@N: int = \"x\"\n",
    "e@N: str = 1\n",
    "e@N: [int] = [1, \"a\"]\n",
    "e@N: {str:int} = {a = \"b\"}\n",
    "e@N = 1\ne@N = 2\n",
    "e@N = 1 + \"a\"\n",
    "e@N = \"a\" < \"b\"\n",
    "e@N = [1] + 1\n",
    "e@N = -\"a\"\n",
    "e@N = {a = 1}.b.c\n",
    "e@N = len(1)\n",
    "e@N = len()\n",
    "e@N = len(\"a\", \"b\")\n",
    "e@N = [1, 2](0)\n",
    "e@N = 3()\n",
    "e@N = @S {nope = 1}\n",
    "e@N = @S {}\ne@N.zz = 1\n",
    "e@N = @S.nope\n",
    "e@N = @S {}.nope\n",
    "e@N = [x for x in 3]\n",
    "e@N = {k: 1 for a, b, c in [1]}\n",
    "e@N = 1[0]\n",
    "import nothing_there\n",
    "e@N = (1 +\n    2)\n",
    "e@N = [1, 2\n",
    "e@N = {a = 1\n",
    "e@N = 1 +\n",
    "if True\n    e@N = 1\n",
    "e@N = \"unterminated\n",
    "e@N = 1;\n",
    "schema E@N\n    a: int\n",
    "schema E@N:\n    a: int\n  b: int\n",
    "schema E@N:\n    a int\n",
    "schema E@N(Undefined@N):\n    a: int\n",
    "schema E@N:\n    mixin [Full]\n",
    "schema E@N:\n    a: int\nschema E@N:\n    b: int\n",
    "schema E@N:\n    a: int = \"x\"\n",
    "schema E@N:\n    a: int\n    a: str\n",
    "schema E@N:\n    [str]: int\n    n: str\n",
    "schema E@N:\n    a?: int\nschema F@N(E@N):\n    a: str\n",
    "schema E@N:\n    a: int\nschema F@N(E@N):\n    a?: int\n",
    "@nope\nschema E@N:\n    a: int = 1\n",
    "schema E@N:\n    @nope\n    a: int = 1\n",
    "schema E@N:\n    a: Nope\n",
    "schema E@N:\n    a: int\n    check:\n        b > 1\n",
    "schema E@N[a]:\n    a: int\n",
    "e@N = lambda x {y}\n",
    "e@N = lambda x: int -> str {x}\ng@N = e@N(1)\n",
    "e@N = lambda x {x}\ng@N = e@N()\n",
    "e@N = lambda x {x}\ng@N = e@N(1, 2)\n",
    "e@N = lambda x {x}\ng@N = e@N(1, z=2)\n",
    "e@N = lambda x: int {x}\ng@N = e@N(\"s\")\n",
    "e@N = lambda x = 1, y {x}\n",
    "e@N = lambda x {\n    if x: 1\n}\n",
    "_e@N = 1\n_e@N = \"x\"\n",
    "e@N = 1\ne@N += 1\n",
    "_e@N: int = 1\n_e@N: str = \"a\"\n",
    "e@N = 1 as str\n",
    "e@N = 1 / 0\n",
    "e@N = 1 // 0\n",
    "e@N = 1Ki + 1\n",
    "e@N = \"${x@N}\"\n",
    "e@N = \"${1:#xml}\"\n",
    "e@N = \"${}\"\n",
    "e@N = \"${1\"\n",
    "e@N = not\n",
    "e@N = - -1\n",
    "e@N = 1 if True\n",
    "e@N = a b c\n",
    "e@N = {1 = 2}\n",
    "e@N = {a += 1}\n",
    "e@N = [*1]\n",
    "e@N = {**1}\n",
    "e@N = {**[1]}\n",
    "type int = str\n",
    "e@N: Nope = 1\n",
    "import math\ne@N = math.nope\n",
    "import math\ne@N = math\n",
    "import math\ne@N = math.sqrt()\n",
    "import math\ne@N = math.sqrt(\"a\")\n",
    "import json\ne@N = json.encode()\n",
    "e@N = \"a\".nope()\n",
    "e@N = \"a\".upper(1)\n",
    "e@N = \"a\".split(1)\n",
    "e@N = 08\n",
    "e@N = 1__0\n",
    "e@N = 0x\n",
    "e@N = 1.5.5\n",
    "e@N = 99999999999999999999\n",
    "schema E@N:\n    a: int\n    b: str\ne@N = E@N {a = \"s\", b = 1}\n",
    "schema E@N:\n    a: {str:int}\ne@N = E@N {a.x = \"s\"}\n",
    "schema E@N:\n    l: [int]\ne@N = E@N {l += 1}\n",
    "schema E@N:\n    l: [int]\ne@N = E@N {l = [\"a\"]}\n",
    "schema E@N:\n    a: int\nf@N: E@N {a = 1}\nf@N = E@N {a = 2}\n",
    "e@N = all x in range(3) {x}\n",
    "e@N = [for x in [1]]\n",
    "e@N = {a = 1 for x in [1] if x if x}\n",
    "  e@N = 1\n",
    "e@N = 1\n   f@N = 2\n",
    "e@N, f@N = 1, 2\n",
    "e@N = !True\n",
    "assert\n",
    "import\n",
    "import math as\n",
    "schema :\n",
    "e@N = @x?\n",
    "e@N = $\n",
    "e@N = ?\n",
    "e@N == 1\n",
    "1 = e@N\n",
    "[1] = e@N\n",
    "if True: e@N = 1\nelse if False: e@N = 2\n",
    "if True:\ne@N = 1\n",
    "else:\n    e@N = 1\n",
    "e@N = \"\\x\"\n",
    "e@N = (1\n",
    "e@N = 1)\n",
    "e@N = ]\n",
    "e@N = {]\n",
    "e@N = [}\n",
    "protocol E@N:\n    a: int\n",
    "mixin E@N:\n    a: int\n",
    "rule E@N:\n    x > 1\n",
    "schema E@N(E@N2):\n    a: int\nschema E@N2(E@N):\n    b: int\n",
    "schema E@N:\n    [int]: str\n",
    "schema E@N:\n    [str]: int\n    [str]: str\n",
    "_e@N = @x\n_e@N.a.b = 1\n_f@N = lambda {}\n_f@N.x.y()\n",
    "e@N = @S(1, 2, 3, 4) {}\n",
    "e@N = [1, 2][\"a\"]\n",
    "e@N = {a = 1}[0]\n",
    "e@N = {a = 1}[0:1]\n",
    "e@N = None.a\n",
    "e@N = 1.a\n",
    "e@N = True + 1\n",
    "e@N = {} | []\n",
    "e@N = [1] | {a = 1}\n",
    "e@N = ~1.5\n",
    "e@N = 1 in 2\n",
    "e@N = \"a\" * \"b\"\n",
    "e@N = 1 << 1.5\n",
    "e@N = @S {} + 1\n",
    "e@N = {a = 1} + {b = 2}\n",
    "e@N = {a = 1} < {b = 2}\n",
    "e@N = range(\"a\")\n",
    "e@N = sum(1)\n",
    "e@N = sorted(1)\n",
    "e@N = hex(1.5)\n",
    "e@N = \"a\".join(\"b\")\n",
    "e@N = option(1)\n",
    "e@N = typeof()\n",
    "e@N = int(1, nope=2)\n",
    "e@N: 1 | 2 = 3\n",
    "e@N: \"a\" | \"b\" = \"c\"\n",
    "e@N: int | str = 1.5\n",
    "e@N: (int) -> str = 1\n",
    "e@N: any = 1\ne@N = 2\n",
    "print(undefined_thing)\n",
    "e@N = [x for x in [1]]\nf@N = x\n",
    "e@N = {a = b@N, b@N = 1}\n",
];

/// Whole statements that compile and fail when they run.
const RUN_TIME: &[&str] = &[
    "_e@N: any = [1]\ne@N = _e@N[5]\n",
    "_e@N: any = 1\ne@N = _e@N + \"a\"\n",
    "_e@N: any = None\ne@N = _e@N.a\n",
    "e@N = {a: 1, a: 2}\n",
    "e@N = {a = {b: 1}} | {a: {b: 2}}\n",
    "assert False\n",
    "assert 1 > 2, \"why\"\n",
    "e@N = int(\"x\")\n",
    "e@N = float(\"x\")\n",
    "_e@N: any = \"a\"\ne@N: int = _e@N\n",
    "schema E@N:\n    a: int\ne@N = E@N {}\n",
    "schema E@N:\n    a: int\n    b: E@N\ne@N = E@N {a = 1, b: {}}\n",
    "schema E@N:\n    a: int\n    check:\n        a > 10, \"small\"\ne@N = E@N {a = 1}\n",
    "schema E@N:\n    a: int\n    check:\n        a > 10\n        a < 5, \"big ${a}\"\ne@N = [E@N {a = 20}, E@N {\n    a = 1\n}]\n",
    "schema E@N:\n    a: int = 1\n_e@N: any = {a = \"s\"}\ne@N: E@N = _e@N\n",
    "schema E@N:\n    a: int = 1\n_e@N: any = {zz = 1}\ne@N: E@N = _e@N\n",
    "schema E@N:\n    a: int = 1\n_e@N: any = E@N {}\ne@N = _e@N.nope\n",
    "schema E@N:\n    a: int = 1\ne@N = E@N {} | {zz = 1}\n",
    "schema E@N:\n    a: str\n_e@N: any = 3\ne@N = E@N {\n    a = _e@N\n}\n",
    "schema E@N:\n    @deprecated(version=\"1\", reason=\"no\")\n    a?: int\ne@N = E@N {a = 1}\n",
    "@deprecated\nschema E@N:\n    a: int = 1\ne@N = E@N {}\n",
    "e@N = option(\"must\", required=True)\n",
    "e@N = option(\"o\", type=\"int\", default=\"x\")\n",
    "_z@N: any = 0\ne@N = 1 // _z@N\n",
    "_z@N: any = 0\ne@N = 5 % _z@N\n",
    "e@N = 9223372036854775807 + 1\n",
    "e@N = 2 ** 64\n",
    "_s@N: any = \"a\"\ne@N = _s@N[3]\n",
    "e@N = [x.a for x in [{a = 1}, None]]\n",
    "_f@N: any = {a = 1}\ne@N = _f@N.a.b\n",
    "f@N = lambda x -> int {\n    x\n}\ne@N = f@N(\"s\")\n",
    "f@N = lambda x: int {\n    x\n}\n_a@N: any = \"s\"\ne@N = f@N(_a@N)\n",
    "_e@N = {l = [1]}\ne@N = _e@N | {l[3] = 1}\n",
    "e@N = {l = [1], l[4] = 2}\n",
    "e@N = {a[0] = 1}\n",
    "e@N = {l = [1], l[2] += [1]}\n",
    "_e@N: any = 1\ne@N = {**_e@N}\n",
    "_e@N: any = 1\ne@N = [*_e@N]\n",
    "_e@N: any = 1\ne@N = [x for x in _e@N]\n",
    "_e@N: any = 1\ne@N = _e@N as str\n",
    "schema E@N:\n    a: int = 1\nschema F@N(E@N):\n    b: int = 2\n_e@N: any = F@N {}\ne@N = _e@N as E@N\n",
    "schema E@N:\n    a: int = 1\n    assert a > 5, \"in body\"\ne@N = E@N {}\n",
    "schema E@N:\n    [str]: int\n_e@N: any = \"x\"\ne@N = E@N {k = _e@N}\n",
    "schema E@N:\n    l: [int] = [1]\n_e@N: any = {a = 1}\ne@N = E@N {l = _e@N}\n",
    "_e@N: any = {}\n_e@N.a.b = 1\n",
    "_e@N: any = [1]\n_e@N[5] = 1\n",
    "import json\ne@N = json.decode(\"{\")\n",
    "import yaml\ne@N = yaml.decode(\"a: [\")\n",
    "import base64\ne@N = base64.decode(\"***\")\n",
    "import regex\ne@N = regex.match(\"a\", \"[\")\n",
    "import math\ne@N = math.factorial(30)\n",
    "import net\ne@N = net.CIDR_host(\"10.0.0.0/31\", 9)\n",
    "import template\ne@N = template.execute(\"{{#if}}\")\n",
    "e@N = ord(\"ab\")\n",
    "e@N = max([])\n",
    "_e@N: any = 1\ne@N = len(_e@N)\n",
    "e@N = sorted([1, \"a\"])\n",
    "e@N = \"{1}\".format(1)\n",
    "e@N = \"{x}\".format(1)\n",
    "e@N = \"abc\".index(\"z\")\n",
    "1\ne@N = 2\n",
    "e@N = a@N + 1\na@N = e@N\n",
    "_e@N: any = \"a\"\ne@N = -_e@N\n",
    "_e@N: any = \"1\"\ne@N = 1 < _e@N\n",
    "_e@N: any = {a = 1}\ne@N = _e@N(1).b\n",
    "schema E@N:\n    v: int\nschema F@N:\n    e: E@N = {}\ne@N = F@N {}\n",
    "schema E@N:\n    v: int\nschema F@N:\n    e: [E@N]\ne@N = F@N {e = [E@N {v = 1}, E@N {\n}]}\n",
    "_e@N: any = [1]\ne@N = _e@N | {a = 1}\n",
    "_e@N: any = \"s\"\ne@N = {a = [1]} | {a += _e@N}\n",
    "e@N = [1, 2][::0]\n",
    "e@N = int(\"\")\n",
    "e@N = int(None)\n",
];

impl Gen {
    /// Whether the planned mistake of an expression is due now.
    pub(super) fn mistake_due(&mut self) -> bool {
        match &mut self.mistake_in {
            Some(0) => {
                self.mistake_in = None;
                true
            }
            Some(left) => {
                *left -= 1;
                false
            }
            None => false,
        }
    }

    /// An expression that does not fit where `ty` is wanted: visibly, or through `any`.
    pub(super) fn mistaken(&mut self, ty: &Ty) -> String {
        let wrong =
            [Ty::Int, Ty::Str, Ty::Bool, Ty::list(Ty::Int), Ty::dict(Ty::Str), Ty::list(Ty::Str), Ty::Float];
        let other = loop {
            let candidate = self.rng.pick(&wrong).clone();
            if candidate != *ty {
                break candidate;
            }
        };
        let value = self.flat(|g| g.leaf(&other));
        if self.kind == Kind::Compile {
            return match self.rng.below(5) {
                0 => (*self.rng.pick(&["nowhere", "None.x", "(1 + \"a\")", "len(1)", "[1](2)"])).to_string(),
                _ => value,
            };
        }
        match self.rng.below(4) {
            0 => "None".into(),
            1 => "(lambda -> any {[1][7]})()".into(),
            _ => format!("(lambda -> any {{{value}}})()"),
        }
    }

    /// A statement that must fail.
    pub(super) fn fault_statement(&mut self) -> String {
        let table = if self.kind == Kind::Compile { COMPILE } else { RUN_TIME };
        let template = *self.rng.pick(table);
        self.counter += 1;
        let number = self.counter.to_string();
        let schemas: Vec<String> =
            self.world.schemas.iter().filter(|s| !s.mixin).map(|s| s.name.clone()).collect();
        let schema = if schemas.is_empty() { "int".to_string() } else { self.rng.pick(&schemas).clone() };
        let ints: Vec<String> =
            self.world.vars.iter().filter(|v| v.ty == Ty::Int).map(|v| v.name.clone()).collect();
        let int = if ints.is_empty() { "1".to_string() } else { self.rng.pick(&ints).clone() };
        template.replace("@N", &number).replace("@S", &schema).replace("@x", &int)
    }

    /// Deletes, doubles or swaps a token, or changes the indentation of a line.
    pub(super) fn damage(&mut self, text: &str) -> String {
        let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
        if lines.is_empty() {
            return text.to_string();
        }
        let at = self.rng.below(lines.len());
        let line = lines[at].clone();
        let starts: Vec<usize> = line
            .char_indices()
            .filter(|(i, c)| {
                !c.is_whitespace()
                    && (*i == 0
                        || !c.is_alphanumeric()
                        || !line[..*i].ends_with(|p: char| p.is_alphanumeric() || p == '_'))
            })
            .map(|(i, _)| i)
            .collect();
        if starts.is_empty() {
            return text.to_string();
        }
        let pick = self.rng.below(starts.len());
        let (start, end) = (starts[pick], starts.get(pick + 1).copied().unwrap_or(line.len()));
        lines[at] = match self.rng.below(6) {
            0 => format!("{}{}", &line[..start], &line[end..]),
            1 => format!("{}{}{}", &line[..end], &line[start..end], &line[end..]),
            2 => format!(
                "{}{} {}",
                &line[..start],
                self.rng
                    .pick(&["=", ":", "(", ")", "[", "]", "{", "}", ",", "if", "for", "in", ".", "?", "+"]),
                &line[start..]
            ),
            3 => format!(" {line}"),
            4 => line[..start].to_string(),
            _ => format!(
                "{}{}{}",
                &line[..start],
                self.rng.pick(&["x", "1", "\"s\"", "None", "lambda", "*", "**", "=", "not"]),
                &line[end..]
            ),
        };
        lines.join("\n") + "\n"
    }
}
