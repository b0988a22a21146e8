//! Random values as MessagePack that a careless but correct writer could have made: sets in any order and with duplicates,
//! integers in any width, numbers as text, unknown values in every form.

use crate::generate::Rng;

/// A type in its JSON form, and the bytes of a value of it.
pub struct Sample {
    pub ty: String,
    pub bytes: Vec<u8>,
}

/// Makes a value from a seed.
#[must_use]
pub fn sample(seed: u64) -> Sample {
    let mut rng = Rng::new(seed);
    let kind = kind(&mut rng, 3, true);
    let mut bytes = Vec::new();
    value(&mut rng, &kind, &mut bytes, true);
    Sample { ty: kind.json(), bytes }
}

enum Kind {
    Text,
    Number,
    Bool,
    Dynamic,
    List(Box<Kind>),
    Set(Box<Kind>),
    Map(Box<Kind>),
    Tuple(Vec<Kind>),
    Object(Vec<(&'static str, Kind)>),
}

const NAMES: [&str; 6] = ["a", "b", "id", "name", "Zed", "x_1"];

fn kind(rng: &mut Rng, depth: usize, dynamic: bool) -> Kind {
    let compound = if depth == 0 { 0 } else { 3 };
    let inner = |rng: &mut Rng, dynamic| Box::new(kind(rng, depth - 1, dynamic));
    match rng.weighted(&[
        6,
        6,
        2,
        usize::from(dynamic) * 2,
        compound,
        compound,
        compound,
        compound / 2,
        compound,
    ]) {
        0 => Kind::Text,
        1 => Kind::Number,
        2 => Kind::Bool,
        3 => Kind::Dynamic,
        4 => Kind::List(inner(rng, dynamic)),
        // A set holds no dynamic type: schemas forbid it.
        5 => Kind::Set(inner(rng, false)),
        6 => Kind::Map(inner(rng, dynamic)),
        7 => Kind::Tuple((0..rng.below(4)).map(|_| kind(rng, depth - 1, dynamic)).collect()),
        _ => {
            let names = NAMES.iter().filter(|_| rng.chance(50)).copied().collect::<Vec<_>>();
            Kind::Object(names.into_iter().map(|name| (name, kind(rng, depth - 1, dynamic))).collect())
        }
    }
}

impl Kind {
    fn json(&self) -> String {
        match self {
            Kind::Text => "\"string\"".to_owned(),
            Kind::Number => "\"number\"".to_owned(),
            Kind::Bool => "\"bool\"".to_owned(),
            Kind::Dynamic => "\"dynamic\"".to_owned(),
            Kind::List(of) => format!("[\"list\",{}]", of.json()),
            Kind::Set(of) => format!("[\"set\",{}]", of.json()),
            Kind::Map(of) => format!("[\"map\",{}]", of.json()),
            Kind::Tuple(of) => {
                format!("[\"tuple\",[{}]]", of.iter().map(Kind::json).collect::<Vec<_>>().join(","))
            }
            Kind::Object(of) => {
                let members: Vec<String> =
                    of.iter().map(|(name, of)| format!("\"{name}\":{}", of.json())).collect();
                format!("[\"object\",{{{}}}]", members.join(","))
            }
        }
    }

    fn has_dynamic(&self) -> bool {
        match self {
            Kind::Dynamic => true,
            Kind::Text | Kind::Number | Kind::Bool => false,
            Kind::List(of) | Kind::Set(of) | Kind::Map(of) => of.has_dynamic(),
            Kind::Tuple(of) => of.iter().any(Kind::has_dynamic),
            Kind::Object(of) => of.iter().any(|(_, of)| of.has_dynamic()),
        }
    }
}

/// Writes a value; `unknowns` allows values that are not known.
fn value(rng: &mut Rng, kind: &Kind, out: &mut Vec<u8>, unknowns: bool) {
    match rng.below(100) {
        0..6 => return out.push(0xc0),
        6..10 if unknowns => return unknown(rng, kind, out),
        _ => {}
    }
    match kind {
        Kind::Text => {
            let text = text(rng);
            put_text(rng, &text, out);
        }
        Kind::Number => number(rng, out),
        Kind::Bool => out.push(if rng.chance(50) { 0xc3 } else { 0xc2 }),
        Kind::Dynamic => {
            let own = self::kind(rng, 2, false);
            typed(rng, &own, out, unknowns);
        }
        Kind::List(of) | Kind::Set(of) => {
            let n = count(rng);
            put_header(rng, 0x90, 0xdc, n, out);
            collection(rng, of, n, out, unknowns, |_, _, _| {});
        }
        Kind::Map(of) => {
            let keys: Vec<String> =
                (0..count(rng)).map(|at| format!("{}{at}", *rng.pick(&["k", "é", "", "\""]))).collect();
            put_header(rng, 0x80, 0xde, keys.len(), out);
            collection(rng, of, keys.len(), out, unknowns, |rng, at, out| put_text(rng, &keys[at], out));
        }
        Kind::Tuple(of) => {
            put_header(rng, 0x90, 0xdc, of.len(), out);
            of.iter().for_each(|of| value(rng, of, out, unknowns));
        }
        Kind::Object(of) => {
            put_header(rng, 0x80, 0xde, of.len(), out);
            let turn = rng.below(of.len());
            for at in 0..of.len() {
                let (name, of) = &of[(at + turn) % of.len()];
                put_text(rng, name, out);
                value(rng, of, out, unknowns);
            }
        }
    }
}

/// The elements of a collection; where the type is dynamic they share one, as everybody demands.
fn collection(
    rng: &mut Rng,
    of: &Kind,
    n: usize,
    out: &mut Vec<u8>,
    unknowns: bool,
    before: impl Fn(&mut Rng, usize, &mut Vec<u8>),
) {
    let shared = kind(rng, 1, false);
    for at in 0..n {
        before(rng, at, out);
        match of {
            Kind::Dynamic if rng.chance(90) => typed(rng, &shared, out, unknowns),
            Kind::Dynamic => out.push(0xc0),
            // Dynamic places deeper inside could disagree between elements: they are null there.
            of if of.has_dynamic() => out.push(0xc0),
            of => value(rng, of, out, unknowns),
        }
    }
}

/// A value with its type before it.
fn typed(rng: &mut Rng, kind: &Kind, out: &mut Vec<u8>, unknowns: bool) {
    out.push(0x92);
    let json = kind.json();
    if rng.chance(20) && json.len() < 256 {
        out.extend([0xd9, json.len() as u8]);
    } else if json.len() < 256 {
        out.extend([0xc4, json.len() as u8]);
    } else {
        out.push(0xc5);
        out.extend((json.len() as u16).to_be_bytes());
    }
    out.extend(json.as_bytes());
    value(rng, kind, out, unknowns);
}

fn count(rng: &mut Rng) -> usize {
    *rng.pick(&[0, 1, 2, 2, 3, 4, 17])
}

fn text(rng: &mut Rng) -> String {
    const TEXTS: [&str; 16] = [
        "",
        "a",
        "b",
        "ab",
        "B",
        "e\u{301}",
        "é",
        "日本",
        "\"q\"",
        "<&>\n",
        "\u{2028}",
        "\u{7f}\u{1}",
        "😀",
        "10",
        "9",
        "true",
    ];
    if rng.chance(80) {
        return (*rng.pick(&TEXTS)).to_owned();
    }
    (*rng.pick(&TEXTS)).repeat(1 + rng.below(60))
}

fn put_text(rng: &mut Rng, text: &str, out: &mut Vec<u8>) {
    match text.len() {
        n @ 0..32 if rng.chance(90) => out.push(0xa0 | n as u8),
        n @ 0..256 => out.extend([if rng.chance(50) { 0xd9 } else { 0xc4 }, n as u8]),
        n => {
            out.push(0xda);
            out.extend((n as u16).to_be_bytes());
        }
    }
    out.extend(text.as_bytes());
}

fn put_header(rng: &mut Rng, short: u8, long: u8, n: usize, out: &mut Vec<u8>) {
    if n < 16 && rng.chance(90) {
        return out.push(short | n as u8);
    }
    out.push(long);
    out.extend((n as u16).to_be_bytes());
}

fn number(rng: &mut Rng, out: &mut Vec<u8>) {
    match rng.below(10) {
        0..3 => out.push(rng.below(12) as u8),
        3 => out.push(0xe0 | rng.below(32) as u8),
        4 => {
            let code = 0xcc + rng.below(8) as u8;
            let n = 1 << ((code - 0xcc) % 4);
            out.push(code);
            let shift = rng.below(64);
            let bits = if rng.chance(50) { rng.bits() } else { rng.bits() >> shift };
            out.extend(&bits.to_be_bytes()[8 - n..]);
        }
        5 => float(rng, out),
        6 => {
            let value = f32::from_bits(rng.bits() as u32);
            let value = if value.is_finite() { value } else { 0.1 };
            out.push(0xca);
            out.extend(value.to_be_bytes());
        }
        _ => {
            let text = digits(rng);
            put_text(rng, &text, out);
        }
    }
}

fn float(rng: &mut Rng, out: &mut Vec<u8>) {
    let any = f64::from_bits(rng.bits());
    let value = match rng.below(6) {
        0 if !any.is_nan() => any,
        1 => rng.below(1000) as f64 / 8.0,
        2 => rng.below(1000) as f64 / 10.0,
        3 => (rng.bits() >> rng.below(64)) as f64,
        4 => *rng.pick(&[0.0, f64::INFINITY, f64::NEG_INFINITY, 5e-324, f64::MAX, 0.1, 1e21]),
        _ => -(rng.bits() as f64) / 3.0,
    };
    out.push(0xcb);
    out.extend(value.to_be_bytes());
}

fn digits(rng: &mut Rng) -> String {
    let mut out = String::new();
    out.push_str(*rng.pick(&["", "", "", "-", "+"]));
    let most = *rng.pick(&[3, 20, 40, 200]);
    let n = 1 + rng.below(most);
    out.extend((0..n).map(|_| char::from(b'0' + rng.below(10) as u8)));
    if rng.chance(50) {
        out.push('.');
        let most = *rng.pick(&[3, 20, 200]);
        let n = rng.below(most);
        out.extend((0..n).map(|_| char::from(b'0' + rng.below(10) as u8)));
    }
    if rng.chance(30) {
        out.push_str(*rng.pick(&["e", "E"]));
        out.push_str(*rng.pick(&["", "-", "+"]));
        let most = *rng.pick(&[3, 30, 300]);
        out.push_str(&rng.below(most).to_string());
    }
    // The reference keeps 0 and -0 as two elements of a set, until it reads them again.
    let zero =
        !out.split(['e', 'E']).next().is_some_and(|mantissa| mantissa.contains(|c| matches!(c, '1'..='9')));
    if zero { "0".to_owned() } else { out }
}

/// Unknown values: bare, or with bounds that fit the type.
fn unknown(rng: &mut Rng, kind: &Kind, out: &mut Vec<u8>) {
    match rng.below(4) {
        0 => return out.extend([0xd4, 0, 0]),
        1 => return out.extend([0xc7, 0, *rng.pick(&[0, 5, 12])]),
        2 => return out.extend([0xd4, *rng.pick(&[0, 5, 12]), 7]),
        _ => {}
    }
    let mut entries: Vec<Vec<u8>> = Vec::new();
    if rng.chance(50) {
        entries.push(vec![1, *rng.pick(&[0xc2, 0xc2, 0xc2, 0xc3])]);
    }
    match kind {
        Kind::Text if rng.chance(70) => {
            let mut entry = vec![2];
            let prefix: String = text(rng).chars().take(20).collect();
            put_text(rng, &prefix, &mut entry);
            entries.push(entry);
        }
        Kind::Number => {
            let low = rng.below(5) as u8;
            let inclusive = [0xc2, 0xc3];
            if rng.chance(60) {
                entries.push(vec![3, 0x92, low, *rng.pick(&inclusive)]);
            }
            if rng.chance(60) {
                entries.push(vec![4, 0x92, low + 1 + rng.below(5) as u8, *rng.pick(&inclusive)]);
            }
        }
        Kind::List(_) | Kind::Set(_) | Kind::Map(_) => {
            let low = rng.below(3) as u8;
            if rng.chance(60) {
                entries.push(vec![5, low]);
            }
            if rng.chance(60) {
                entries.push(vec![6, low + rng.below(3) as u8]);
            }
        }
        _ => {}
    }
    let mut body = vec![0x80 | entries.len() as u8];
    body.extend(entries.concat());
    if body.len() == 1 {
        return out.extend([0xd4, 0, 0]);
    }
    out.extend([0xc7, body.len() as u8, 12]);
    out.extend(body);
}
