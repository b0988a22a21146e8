//! Built-in functions, string methods and system modules as templates with holes.
//!
//! Holes: `@i` int, `@n` small int 0–3, `@f` float, `@s` str, `@b` bool, `@I` [int], `@S` [str], `@F` [float], `@L` any list,
//! `@D` {str:int}, `@d` any dict, `@a` anything, `@r` a pattern, `@c` CIDR, `@p` an IP, `@j` JSON text, `@y` YAML text;
//! `@1` `@2` `@3` a name or literal for [int], [str], {str:int} (a quantifier takes nothing else).

/// Calls that give an int.
pub(super) const INT: &[&str] = &[
    "len(@s)", "len(@L)", "len(@d)", "abs(@i)", "ord(\"a\")", "max(@i, @i)", "min(@i, @i, @i)", "max(@I + [1])", "min([2] + @I)",
    "sum(@I)", "sum(@I, @i)", "pow(@n, @n)", "pow(@i, @n, 7)", "round(@f)", "round(@i)", "int(@f)", "int(@b)", "int(\"12\")",
    "int(\"1Ki\")", "int(\"ff\", 16)", "int(\"-0x1f\", 16)", "reduce(lambda acc, x {acc + x}, @I, @i)", "@s.count(@s)",
    "@s.find(@s)", "@s.rfind(@s)", "\"abcabc\".index(\"c\")", "\"abcabc\".rindex(\"b\")", "math.ceil(@f)", "math.floor(@f)",
    "math.factorial(@n)", "math.gcd(@i, @i)", "math.pow(@n, @n)", "math.log2(10)", "len(@S)", "sum([len(x) for x in @S])",
    "units.Ki", "units.M", "range(@n, 9)[0]", "len(zip(@I, @S))", "len(json.encode(@d))", "int(1Ki)", "int(500m)",
    "sum([x for x in @I if x > 1])", "max([len(k) for k in @D] + [0])",
];

/// Calls that give a float.
pub(super) const FLOAT: &[&str] = &[
    "float(@i)", "float(\"1.5\")", "abs(@f)", "round(@f, 2)", "round(@i, 1)", "round(@f, 0)", "math.sqrt(4.0)", "math.exp(0.0)",
    "math.log(100.0)", "math.log10(1000)", "math.modf(3.25)[0]", "@i / 4", "pow(2, -1)", "sum([1.5, @f])", "max(@f, 0.5)",
    "units.m", "float(1Ki)", "math.expm1(0.5)", "math.log1p(1.0)", "min([@f, 2.5])",
];

/// Calls that give a str.
pub(super) const STR: &[&str] = &[
    "str(@i)", "str(@f)", "str(@b)", "str(@L)", "str(@d)", "str(@a)", "hex(@i)", "bin(@i)", "oct(@i)", "typeof(@a)", "@s.capitalize()",
    "@s.lower()", "@s.upper()", "@s.title()", "@s.strip()", "@s.lstrip(\"a\")", "@s.rstrip()", "@s.replace(@s, @s)",
    "@s.replace(\"a\", \"b\", 1)", "@s.removeprefix(\"a\")", "@s.removesuffix(@s)", "\",\".join(@S)", "@s.join(@L)",
    "\"{}-{}\".format(@a, @i)", "\"{0} {1} {0}\".format(@s, @i)", "\"{k}\".format(k=@a)", "\"{:.2f}|{:5d}|{:,}\".format(@f, @i, 12345)",
    "\"{:05d} {:#x} {:e}\".format(@i, @i, @f)", "\"{0[k]}\".format({k = @i})", "base64.encode(@s)", "base64.decode(base64.encode(@s))",
    "base32.encode(@s)", "base32.decode(base32.encode(@s))", "crypto.md5(@s)", "crypto.sha1(@s)", "crypto.sha224(@s)",
    "crypto.sha256(@s)", "crypto.sha384(@s)", "crypto.sha512(@s)", "crypto.blake3(@s)", "json.encode(@a)",
    "json.encode(@d, sort_keys=True)", "json.encode(@d, indent=2)", "json.encode(@a, ignore_none=True)", "yaml.encode(@a)",
    "yaml.encode(@d, sort_keys=True)", "yaml.encode_all([@d, @d])", "regex.replace(@s, @r, \"-\")", "regex.replace(@s, @r, \"<$0>\", 1)",
    "template.execute(\"{{x}}|{{{x}}}\", {x = @s})",
    "template.execute(\"{{#if a}}{{a}}{{else}}none{{/if}}\", {a = @i})",
    "template.execute(\"{{#each l}}{{@index}}={{this}},{{/each}}\", {l = @S})", "template.html_escape(@s)", "units.to_K(@i)",
    "units.to_Ki(2048)", "units.to_M(@f)", "units.to_m(@i)", "net.join_host_port(\"::1\", @n)", "net.join_host_port(@s, 80)",
    "net.split_host_port(\"[::1]:80\")[0]", "net.parse_IP(@p)", "net.IP_string(@p)", "net.to_IP4(@p)", "net.to_IP6(@p)",
    "net.CIDR_subnet(@c, 4, @n)", "net.CIDR_host(@c, @n)", "net.CIDR_netmask(@c)", "(@S + [\"q\"])[0]", "sorted(@S + [\"m\"])[0]",
    "runtime.catch(lambda {@a})", "runtime.catch(lambda {[1][5]})", "(@s + \"abc\")[1]", "(@s + \"abc\")[0:2]", "(@s + \"abc\")[::-1]",
    "@s * @n", "str(1Ki)", "str({a = @i, b = @s})",
];

/// Calls that give a bool.
pub(super) const BOOL: &[&str] = &[
    "multiplyof(@i, 3)", "isunique(@L)", "isunique(@I)", "isnullish(@a)", "all_true(@L)", "any_true(@L)", "bool(@a)", "@s.startswith(@s)",
    "@s.endswith(@s)", "@s.isalpha()", "@s.isalnum()", "@s.isdigit()", "@s.islower()", "@s.isupper()", "@s.istitle()", "@s.isspace()",
    "@i in @I", "@s in @S", "@s not in @S", "@s in @s", "@s in @D", "@i == @i", "@s != @s", "@f < @f", "@i <= @f", "@i > @i", "@I == @I",
    "@D == @D", "@a is None", "@a is not None", "not @a", "@i and @b", "@b or @b", "all x in @1 {x > 0}", "any x in @1 {x > 2}",
    "all k, v in @3 {v > 0}", "any x in @2 {x == \"a\"}", "math.isfinite(@f)", "math.isnan(@f)", "math.isinf(@f)", "regex.match(@s, @r)",
    "regex.search(@s, @r)", "regex.compile(@r)", "json.validate(@j)", "yaml.validate(@y)", "datetime.validate(\"2024-02-29\", \"%Y-%m-%d\")",
    "datetime.is_rfc3339(\"2024-01-01T00:00:00Z\")", "datetime.is_iso8601(\"P1W\")", "net.is_IPv4(@p)", "net.is_IPv6(@p)", "net.is_IP(@p)",
    "net.is_loopback_IP(@p)", "net.is_multicast_IP(@p)", "net.is_link_local_unicast_IP(@p)", "net.is_global_unicast_IP(@p)",
    "net.is_unspecified_IP(@p)", "net.is_IP_in_CIDR(\"10.0.0.1\", @c)", "1 < @i < 9", "typeof(@a) == \"int\"", "@a == @a",
];

/// Calls that give a [int].
pub(super) const INTS: &[&str] = &[
    "range(@n)", "range(1, @n)", "range(9, 1, -3)", "sorted(@I)", "sorted(@I, reverse=True)", "[len(x) for x in @S]", "[x * 2 for x in @I]",
    "[v for k, v in @D]", "[i for i, x in @S]", "[x + y for x in @I for y in @I if x < y]", "map x in @1 {x + 1}", "map k, v in @3 {v}",
    "filter x in @1 {x > 1}", "map x in @1 {x if x > 1}", "@I[1:]", "@I[:2]", "@I[::-1]", "@I + @I", "@I * 2", "@I | @I", "[*@I, @i]",
    "[ord(c) for c in \"abc\"]", "[if @b: @i, @i]", "list(@I)", "[x if x > 1 else 0 for x in @I]",
];

/// Calls that give a [str].
pub(super) const STRS: &[&str] = &[
    "@s.split(@s)", "@s.split()", "@s.split(\"a\", 1)", "@s.rsplit(\"a\", 1)", "@s.splitlines()", "@s.chars()", "sorted(@S)", "[k for k in @D]",
    "[str(x) for x in @I]", "regex.findall(@s, @r)", "regex.split(@s, @r)", "[\"${k}-${v}\" for k, v in @D]", "list(@D)", "[*@S, @s]",
    "filter x in @2 {len(x) > 1}", "map x in @2 {x + \"!\"}", "net.CIDR_subnets(@c, [4, 8])", "@S + @S", "[c for c in @s]", "@S[1:]",
    "[*@D]", "list(\"abc\")", "[if @b: @s, if @b: @s else: \"z\"]",
];

/// Calls that give a {str:int}.
pub(super) const INT_DICTS: &[&str] = &[
    "{k: v + 1 for k, v in @D}", "{x: len(x) for x in @S}", "{str(x) = x for x in @I}", "{\"k${x}\": x for x in @I if x > 1}",
    "filter k, v in @3 {v > 1}", "@D | {z = @i}", "{**@D, q = @i}", "dict(@D)", "{k = 1 for k in [\"u\", \"w\"]}", "dict(a=@i)",
    "json.merge(@D, {a = None, b = 3})", "{if @b: u = @i, w = @i}", "json.decode(json.encode(@D))", "yaml.decode(yaml.encode(@D))",
];

/// Patterns for `@r`.
pub(super) const PATTERNS: &[&str] =
    &["\"[a-c]\"", "\"b+\"", "\"^a\"", "r\"\\d+\"", "\"x|y\"", "r\"(\\w)(\\w)\"", "\"\"", "\"[\"", "\" \"", "\"a.*z$\""];

/// Networks for `@c`.
pub(super) const CIDRS: &[&str] = &["\"10.0.0.0/8\"", "\"192.168.0.0/16\"", "\"fd00::/48\"", "\"10.0.0.0/31\"", "\"bad\""];

/// Addresses for `@p`.
pub(super) const ADDRESSES: &[&str] = &[
    "\"10.0.0.1\"", "\"127.0.0.1\"", "\"::1\"", "\"fe80::1\"", "\"224.0.0.1\"", "\"::ffff:1.2.3.4\"", "\"256.1.1.1\"", "\"0.0.0.0\"",
    "\"8.8.8.8\"", "\"2001:4860::8888\"", "\"\"", "\"01.2.3.4\"", "\"169.254.1.1\"",
];

/// Texts for `@j`.
pub(super) const JSON: &[&str] = &["'{\"a\": 1}'", "'[1, 2'", "'null'", "'{}x'", "''", "'1e400'"];

/// Texts for `@y`.
pub(super) const YAML: &[&str] = &["\"a: 1\"", "\"a: [1\"", "\"- 1\\n- 2\"", "\"a:\\n  - 1\\n b: 2\"", "\"\"", "\"&a 1\"", "\"a: b: c\""];

/// Calls with `any` results, used as values of their own.
pub(super) const ANY: &[&str] = &[
    "json.decode('{\"a\": [1, 2.5, null, \"x\"], \"b\": {\"c\": true}}')", "json.decode('[1, 123456789.123456789, 1e16]')",
    "yaml.decode(\"a: 1\\nb: [x, y, 0x10, 017, .inf, ~]\\nc: {d: yes, e: 1.0}\\n\")", "yaml.decode(\"- a\\n- |\\n  text\\n  more\\n\")",
    "yaml.decode_all(\"a: 1\\n---\\nb: 2\\n\")", "zip(@I, @S)", "zip(@S, [1, 2])", "net.parse_CIDR(@c)", "math.modf(@f)",
    "option(\"k\")", "option(\"missing\", default=@a)", "option(\"n\", type=\"int\", default=\"5\")", "option(\"k\", type=\"str\", default=3)",
    "json.merge(@d, @d)", "reduce(lambda acc, x {acc | {\"${x}\": x}}, @S, {})", "reduce(lambda a, b {a + b}, @S)",
    "[None, @a, Undefined, @a]", "@D?.zz", "@D?[\"zz\"]", "None", "@a if @b else @a", "@a or @a", "[x for x in @d]", "[[k, v] for k, v in @d]",
    "@I?[0:1]", "1Ki", "2.5", "{\"a-b\": @i, \"c d\": @s, e.f.g = @i}", "[if x > 1: x for x in @I]", "regex.findall(@s, r\"(\\w)(\\w)\")",
];
