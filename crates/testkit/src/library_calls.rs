//! Calls of built-ins, string methods and library functions with arguments that nobody would write.
//!
//! In: a seed. Out: a program of a few lines whose value is the call's. Half of the arguments go through variables of type any,
//! so that the run and not the checker has to say no.

use crate::Program;
use crate::generate::Rng;

const VALUES: &[&str] = &[
    "1",
    "0",
    "-1",
    "3",
    "10",
    "255",
    "2.5",
    "-0.5",
    "0.0",
    "1e3",
    "True",
    "False",
    "None",
    "Undefined",
    "\"\"",
    "\"a\"",
    "\"abc\"",
    "\"Hello World\"",
    "\"1.5\"",
    "\"12\"",
    "\"-7\"",
    "\"0x1f\"",
    "\"1Ki\"",
    "\" x \"",
    "\"é\"",
    "\"a,b,c\"",
    "\"a\\nb\"",
    "[]",
    "[1,2,3]",
    "[\"b\",\"a\"]",
    "[1,\"a\"]",
    "[3,1.5,2]",
    "[None]",
    "[True,False]",
    "[[1],[2]]",
    "{}",
    "{a=1}",
    "{b=\"x\",a=2}",
    "1Ki",
    "P {}",
    "P",
    "lambda x { x }",
    "lambda x, y { x + y }",
    "\"{}\"",
    "\"{0} {b}\"",
    "\"%Y-%m-%d\"",
    "\"10.0.0.1\"",
    "\"10.0.0.0/8\"",
    "\"::1\"",
    "\"[0-9]+\"",
    "\"(a)(b)?\"",
    "\"{\\\"a\\\": 1}\"",
    "\"a: 1\"",
    "\"2024-01-02\"",
    "9223372036854775807",
    "-9223372036854775807",
    "\"utf-8\"",
    "\"latin1\"",
];

const BUILTINS: &str = "print multiplyof isunique isnullish len abs all_true any_true hex bin oct ord sorted range max min \
    sum pow round zip int float bool str list dict typeof reduce option";

const METHODS: &str = "capitalize chars count endswith find format index isalnum isalpha isdigit islower isspace istitle \
    isupper join lower lstrip removeprefix removesuffix replace rfind rindex rsplit rstrip split splitlines startswith strip \
    title upper";

const MODULES: &[(&str, &str)] = &[
    ("base32", "encode decode"),
    ("base64", "encode decode"),
    ("collection", "union_all"),
    ("crypto", "md5 sha1 sha224 sha256 sha384 sha512 blake3"),
    ("datetime", "validate is_rfc3339 is_iso8601"),
    ("json", "encode decode validate merge"),
    ("manifests", "yaml_stream"),
    ("math", "ceil factorial floor gcd isfinite isinf isnan modf exp expm1 log log1p log2 log10 pow sqrt"),
    (
        "net",
        "split_host_port join_host_port parse_IP IP_string to_IP4 to_IP6 is_IPv4 is_IPv6 is_IP is_loopback_IP \
         is_multicast_IP is_interface_local_multicast_IP is_link_local_multicast_IP is_link_local_unicast_IP \
         is_global_unicast_IP is_unspecified_IP parse_CIDR is_IP_in_CIDR CIDR_subnet CIDR_subnets CIDR_host CIDR_netmask",
    ),
    ("regex", "replace match compile findall search split"),
    ("runtime", "catch"),
    ("template", "execute html_escape"),
    ("units", "to_n to_u to_m to_K to_M to_G to_T to_P to_Ki to_Mi to_Gi to_Ti to_Pi"),
    ("yaml", "encode encode_all decode decode_all validate"),
];

const KEYWORDS: &str = "end key type required default help inval a b number c reverse start stop step iterable x y z ndigits \
    base full_name reducer list initial sub end val iter chars prefix suffix old new count sep maxsplit keepends value encoding \
    num data sort_keys indent ignore_private ignore_none src patch values opts ip_end_point host port ip cidr additional_bits \
    net_num host_num string pattern replace func template date format";

/// Makes a program with one call.
pub fn program(seed: u64) -> Program {
    let mut rng = Rng::new(seed);
    let mut text = String::new();
    let mut count = *rng.pick(&[0, 1, 1, 1, 2, 2, 2, 3, 3, 4]);
    let mut definitions = String::new();
    let callee = match rng.weighted(&[30, 30, 40]) {
        0 => one_of(BUILTINS, &mut rng),
        1 => {
            count = *rng.pick(&[0, 0, 1, 1, 2, 3]);
            let texts: Vec<&str> = VALUES.iter().copied().filter(|v| v.starts_with('"')).collect();
            let mut receiver = (*rng.pick(&texts)).to_string();
            if rng.chance(30) {
                definitions.push_str(&format!("_s: any = {receiver}\n"));
                receiver = "_s".into();
            }
            format!("{receiver}.{}", one_of(METHODS, &mut rng))
        }
        _ => {
            let (module, functions) = rng.pick(MODULES);
            text.push_str(&format!("import {module}\n"));
            format!("{module}.{}", one_of(functions, &mut rng))
        }
    };
    text.push_str("schema P:\n    a: int = 1\n");
    let hidden = rng.chance(45);
    let mut arguments = Vec::new();
    for i in 0..count {
        let value = *rng.pick(VALUES);
        arguments.push(if hidden { format!("_v{i}") } else { value.to_string() });
        if hidden {
            definitions.push_str(&format!("_v{i}: any = {value}\n"));
        }
    }
    if rng.chance(20)
        && let Some(last) = arguments.last_mut()
    {
        *last = format!("{}={last}", one_of(KEYWORDS, &mut rng));
    }
    let call = format!("{callee}({})", arguments.join(", "));
    let quotable = !call.contains('"') && !call.contains('{');
    text.push_str(&definitions);
    text.push_str(&match rng.below(4) {
        0 => format!("r = {call}\nt = typeof(r)\n"),
        1 if quotable => format!("r = \"${{{call}}}\"\n"),
        2 => format!("r = [{call}]\n"),
        _ => format!("r = {call}\n"),
    });
    Program::single(text)
}

fn one_of(words: &str, rng: &mut Rng) -> String {
    let words: Vec<&str> = words.split_whitespace().collect();
    (*rng.pick(&words)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_seed_gives_one_call() {
        for seed in 0..200 {
            let program = program(seed);
            assert!(program.files[0].text.contains("r = "), "{}", program.files[0].text);
        }
    }
}
