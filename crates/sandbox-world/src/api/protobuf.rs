//! Protobuf bodies, as kubectl's typed commands and Helm send them.
//!
//! In: the frame (`k8s\0`, then an envelope with type and bytes). Out: the same value as the JSON form has. What a field is
//! comes from the tables of `kube-meaning`; `protobuf.tsv` only adds its number: a line per type, `number=field`, or
//! `number>type` for a message whose fields stand in the outer object. `cargo xtask codegen protobuf` makes it from the
//! types of Kubernetes 1.36.3. Answers are always JSON, which all clients take.

use std::sync::OnceLock;

use data_encoding::BASE64;
use kube_meaning::schema::{ScalarKind, Schema, Shape, Struct, Ty, split_api_version};
use kube_meaning::status::Refusal;
use kube_meaning::time::{format_micro_time, format_time};
use rustc_hash::FxHashMap;
use serde_json::{Map, Value, json};

const MAGIC: &[u8] = b"k8s\0";
const NUMBERS: &str = include_str!("protobuf.tsv");
/// Messages within messages.
const DEEPEST: usize = 64;

/// Types of bodies that are no resource.
const OTHER_TYPES: [(&str, &str); 4] = [
    ("DeleteOptions", "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"),
    ("TokenRequest", "io.k8s.api.authentication.v1.TokenRequest"),
    ("Eviction", "io.k8s.api.policy.v1.Eviction"),
    ("Scale", "io.k8s.api.autoscaling.v1.Scale"),
];

/// What a number of a message stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meant {
    Field(&'static str),
    /// A message of this type whose fields are the outer object's.
    Inline(&'static str),
}

type Numbers = FxHashMap<&'static str, Vec<(u64, Meant)>>;

fn numbers() -> &'static Numbers {
    static ALL: OnceLock<Numbers> = OnceLock::new();
    ALL.get_or_init(|| {
        let lines = NUMBERS.lines().filter_map(|line| line.split_once('\t'));
        lines.map(|(name, words)| (name, words.split(' ').filter_map(word).collect())).collect()
    })
}

fn word(text: &'static str) -> Option<(u64, Meant)> {
    match text.split_once('=') {
        Some((number, field)) => Some((number.parse().ok()?, Meant::Field(field))),
        None => {
            let (number, ty) = text.split_once('>')?;
            Some((number.parse().ok()?, Meant::Inline(ty)))
        }
    }
}

/// Decodes a body.
pub(crate) fn decode(bytes: &[u8]) -> Result<Value, Refusal> {
    let broken =
        || Refusal::bad_request("the protobuf body cannot be read: it is cut off or not of its type");
    let envelope = bytes.strip_prefix(MAGIC).ok_or_else(|| {
        Refusal::bad_request(
            "the protobuf body does not begin with the bytes 6b 38 73 00; send application/json instead",
        )
    })?;
    let (mut api_version, mut kind, mut raw) = (String::new(), String::new(), &[][..]);
    for field in Fields(envelope) {
        match field.ok_or_else(broken)? {
            (1, Wire::Bytes(inner)) => {
                for field in Fields(inner) {
                    match field.ok_or_else(broken)? {
                        (1, Wire::Bytes(text)) => api_version = String::from_utf8_lossy(text).into_owned(),
                        (2, Wire::Bytes(text)) => kind = String::from_utf8_lossy(text).into_owned(),
                        _ => {}
                    }
                }
            }
            (2, Wire::Bytes(inner)) => raw = inner,
            _ => {}
        }
    }
    let schema = kube_meaning::builtin();
    let Some((name, strukt)) = type_of(schema, &api_version, &kind) else {
        let message = format!(
            "the sandbox does not read {api_version} {kind} as protobuf; send it as application/json"
        );
        return Err(Refusal::new(415, "UnsupportedMediaType", message));
    };
    let mut out = Map::new();
    out.insert("kind".to_owned(), Value::from(kind));
    out.insert("apiVersion".to_owned(), Value::from(api_version));
    message(schema, name, strukt, raw, &mut out, 0).ok_or_else(broken)?;
    Ok(Value::Object(out))
}

fn type_of<'s>(schema: &'s Schema, api_version: &str, kind: &str) -> Option<(&'s str, &'s Struct)> {
    let (group, version) = split_api_version(api_version);
    let ty = match schema.resource(group, version, kind) {
        Some(resource) => resource.ty.clone(),
        None => schema.type_named(OTHER_TYPES.iter().find(|(other, _)| *other == kind)?.1)?,
    };
    match ty {
        Ty::Named { id, .. } => Some((schema.type_name(id), schema.get(id))),
        _ => None,
    }
}

/// Reads a message of a type into an object; `None` when it is broken.
fn message(
    schema: &Schema,
    name: &str,
    strukt: &Struct,
    bytes: &[u8],
    out: &mut Map<String, Value>,
    depth: usize,
) -> Option<()> {
    if depth > DEEPEST {
        return None;
    }
    let known = numbers().get(name)?;
    for field in Fields(bytes) {
        let (number, wire) = field?;
        let Some((_, meant)) = known.iter().find(|(own, _)| *own == number) else { continue };
        match meant {
            Meant::Inline(inner) => message(schema, inner, strukt, wire.bytes()?, out, depth + 1)?,
            Meant::Field(key) => {
                let Some(field) = strukt.field(key) else { continue };
                let vanishes =
                    matches!(field.shape, Shape::ZeroVanishes | Shape::EmptyVanishes | Shape::TimeVanishes);
                match &field.ty {
                    Ty::List(list) => {
                        let slot = out.entry((*key).to_owned()).or_insert_with(|| json!([]));
                        let items = slot.as_array_mut()?;
                        many(schema, &list.item, wire, items, depth + 1)?;
                    }
                    Ty::Map(map) => {
                        let (entry, value) = pair(schema, &map.value, wire.bytes()?, depth + 1)?;
                        let slot = out.entry((*key).to_owned()).or_insert_with(|| json!({}));
                        slot.as_object_mut()?.insert(entry, value);
                    }
                    ty => {
                        let value = one(schema, ty, wire, depth + 1)?;
                        if !(vanishes && is_zero(&value)) {
                            out.insert((*key).to_owned(), value);
                        }
                    }
                }
            }
        }
    }
    Some(())
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(b) => !b,
        Value::Number(n) => n.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(_) | Value::Object(_) => false,
    }
}

/// An entry of a repeated field; numbers may come packed.
fn many(schema: &Schema, item: &Ty, wire: Wire<'_>, items: &mut Vec<Value>, depth: usize) -> Option<()> {
    let number = matches!(item, Ty::Scalar(ScalarKind::Int32 | ScalarKind::Int64 | ScalarKind::Bool));
    match wire {
        Wire::Bytes(mut packed) if number => {
            while !packed.is_empty() {
                let (value, rest) = varint(packed)?;
                items.push(one(schema, item, Wire::Varint(value), depth)?);
                packed = rest;
            }
        }
        wire => items.push(one(schema, item, wire, depth)?),
    }
    Some(())
}

fn pair(schema: &Schema, ty: &Ty, bytes: &[u8], depth: usize) -> Option<(String, Value)> {
    let (mut key, mut value) = (String::new(), None);
    for field in Fields(bytes) {
        match field? {
            (1, Wire::Bytes(text)) => key = String::from_utf8(text.to_vec()).ok()?,
            (2, wire) => value = Some(one(schema, ty, wire, depth)?),
            _ => {}
        }
    }
    Some((key, value.unwrap_or_else(|| empty(ty))))
}

/// A value that was left out because it is empty.
fn empty(ty: &Ty) -> Value {
    match ty {
        Ty::Scalar(ScalarKind::Int32 | ScalarKind::Int64 | ScalarKind::Number) => json!(0),
        Ty::Scalar(ScalarKind::Bool) => json!(false),
        Ty::Scalar(_) => json!(""),
        _ => json!({}),
    }
}

fn one(schema: &Schema, ty: &Ty, wire: Wire<'_>, depth: usize) -> Option<Value> {
    if depth > DEEPEST {
        return None;
    }
    match ty {
        Ty::Scalar(kind) => scalar(*kind, wire),
        Ty::Named { id, .. } => {
            let mut out = Map::new();
            message(schema, schema.type_name(*id), schema.get(*id), wire.bytes()?, &mut out, depth + 1)?;
            Some(Value::Object(out))
        }
        // A raw value: its first field is JSON text.
        Ty::Any => {
            let mut value = json!({});
            for field in Fields(wire.bytes()?) {
                if let (1, Wire::Bytes(text)) = field? {
                    value = serde_json::from_slice(text).ok()?;
                }
            }
            Some(value)
        }
        // A list or map within a map: a message whose first field repeats.
        Ty::List(list) => {
            let mut items = Vec::new();
            for field in Fields(wire.bytes()?) {
                if let (1, wire) = field? {
                    many(schema, &list.item, wire, &mut items, depth + 1)?;
                }
            }
            Some(Value::Array(items))
        }
        Ty::Map(_) => None,
    }
}

fn scalar(kind: ScalarKind, wire: Wire<'_>) -> Option<Value> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
    Some(match (kind, wire) {
        (ScalarKind::String, Wire::Bytes(bytes)) => Value::from(text(bytes)?),
        (ScalarKind::Bytes, Wire::Bytes(bytes)) => Value::from(BASE64.encode(bytes)),
        (ScalarKind::Bool, Wire::Varint(n)) => Value::from(n != 0),
        (ScalarKind::Int32 | ScalarKind::Int64, Wire::Varint(n)) => Value::from(n.cast_signed()),
        (ScalarKind::Number, Wire::Fixed64(bits)) => Value::from(f64::from_bits(bits)),
        (ScalarKind::Number, Wire::Fixed32(bits)) => Value::from(f64::from(f32::from_bits(bits))),
        (ScalarKind::Quantity, Wire::Bytes(bytes)) => {
            let mut quantity = String::new();
            for field in Fields(bytes) {
                if let (1, Wire::Bytes(bytes)) = field? {
                    quantity = text(bytes)?;
                }
            }
            Value::from(quantity)
        }
        (ScalarKind::IntOrString, Wire::Bytes(bytes)) => {
            let (mut is_text, mut number, mut string) = (false, 0, String::new());
            for field in Fields(bytes) {
                match field? {
                    (1, Wire::Varint(n)) => is_text = n == 1,
                    (2, Wire::Varint(n)) => number = n.cast_signed(),
                    (3, Wire::Bytes(bytes)) => string = text(bytes)?,
                    _ => {}
                }
            }
            if is_text { Value::from(string) } else { Value::from(number) }
        }
        (ScalarKind::Time | ScalarKind::MicroTime, Wire::Bytes(bytes)) => {
            let (mut seconds, mut nanos, mut set) = (0, 0, false);
            for field in Fields(bytes) {
                set = true;
                match field? {
                    (1, Wire::Varint(n)) => seconds = n.cast_signed(),
                    (2, Wire::Varint(n)) => nanos = u32::try_from(n).ok()?,
                    _ => {}
                }
            }
            match (set, kind) {
                (false, _) => Value::Null,
                (true, ScalarKind::MicroTime) => Value::from(format_micro_time(seconds, nanos)),
                (true, _) => Value::from(format_time(seconds)),
            }
        }
        _ => return None,
    })
}

/// A value as it is on the wire.
#[derive(Clone, Copy, Debug)]
enum Wire<'b> {
    Varint(u64),
    Fixed64(u64),
    Fixed32(u32),
    Bytes(&'b [u8]),
}

impl<'b> Wire<'b> {
    fn bytes(self) -> Option<&'b [u8]> {
        match self {
            Wire::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }
}

/// The fields of a message, by number; one `None` when it is broken, then nothing.
struct Fields<'b>(&'b [u8]);

impl<'b> Iterator for Fields<'b> {
    type Item = Option<(u64, Wire<'b>)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let read = self.read();
        if read.is_none() {
            self.0 = &[];
        }
        Some(read)
    }
}

impl<'b> Fields<'b> {
    fn read(&mut self) -> Option<(u64, Wire<'b>)> {
        let (tag, rest) = varint(self.0)?;
        let (wire, rest) = match tag & 7 {
            0 => {
                let (value, rest) = varint(rest)?;
                (Wire::Varint(value), rest)
            }
            1 => {
                let (bytes, rest) = rest.split_first_chunk::<8>()?;
                (Wire::Fixed64(u64::from_le_bytes(*bytes)), rest)
            }
            2 => {
                let (length, rest) = varint(rest)?;
                let (bytes, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
                (Wire::Bytes(bytes), rest)
            }
            5 => {
                let (bytes, rest) = rest.split_first_chunk::<4>()?;
                (Wire::Fixed32(u32::from_le_bytes(*bytes)), rest)
            }
            _ => return None,
        };
        self.0 = rest;
        Some((tag >> 3, wire))
    }
}

fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0u64;
    for (at, byte) in bytes.iter().take(10).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * at).min(63);
        if byte & 0x80 == 0 {
            return Some((value, &bytes[at + 1..]));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A field of bytes.
    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        let mut out = vec![(number << 3) | 2];
        let mut length = bytes.len();
        while length >= 0x80 {
            out.push(u8::try_from(length & 0x7f).unwrap() | 0x80);
            length >>= 7;
        }
        out.push(u8::try_from(length).unwrap());
        out.extend_from_slice(bytes);
        out
    }

    fn frame(api_version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
        let meta = [field(1, api_version.as_bytes()), field(2, kind.as_bytes())].concat();
        [MAGIC.to_vec(), field(1, &meta), field(2, raw)].concat()
    }

    #[test]
    fn a_secret_of_helm_is_read() {
        let meta = [
            field(1, b"sh.helm.release.v1.r1.v1"),
            field(3, b""),
            field(8, b""),
            field(11, &[field(1, b"owner"), field(2, b"helm")].concat()),
        ]
        .concat();
        let raw = [
            field(1, &meta),
            field(2, &[field(1, b"release"), field(2, b"x\xff")].concat()),
            field(3, b"helm.sh/release.v1"),
        ]
        .concat();
        let object = decode(&frame("v1", "Secret", &raw)).unwrap();
        assert_eq!(object["metadata"]["name"], "sh.helm.release.v1.r1.v1");
        assert_eq!(object["metadata"]["labels"]["owner"], "helm");
        assert_eq!(object["data"]["release"], "eP8=");
        assert_eq!(object["type"], "helm.sh/release.v1");
    }

    #[test]
    fn a_deployment_of_kubectl_is_read_with_its_odd_types() {
        let port = [field(1, b""), vec![0x18, 80], field(4, b"TCP")].concat();
        let limits = field(1, &[field(1, b"cpu"), field(2, &field(1, b"500m"))].concat());
        let container = [field(1, b"c"), field(2, b"nginx"), field(6, &port), field(8, &limits)].concat();
        let volume = [field(1, b"v"), field(2, &field(2, b""))].concat();
        let template = field(2, &[field(1, &volume), field(2, &container)].concat());
        let rolling = field(1, &[vec![0x08, 1], field(3, b"25%")].concat());
        let strategy = [field(1, b"RollingUpdate"), field(2, &rolling)].concat();
        let spec = [vec![0x08, 2], field(3, &template), field(4, &strategy)].concat();
        let raw = [field(1, &field(1, b"web")), field(2, &spec)].concat();
        let object = decode(&frame("apps/v1", "Deployment", &raw)).unwrap();
        let pod = &object["spec"]["template"]["spec"];
        assert_eq!(object["spec"]["replicas"], 2);
        assert_eq!(pod["containers"][0]["ports"][0], json!({"containerPort": 80, "protocol": "TCP"}));
        assert_eq!(pod["containers"][0]["resources"]["limits"]["cpu"], "500m");
        assert_eq!(pod["volumes"][0], json!({"name": "v", "emptyDir": {}}));
        assert_eq!(object["spec"]["strategy"]["rollingUpdate"]["maxUnavailable"], "25%");
    }

    #[test]
    fn what_is_no_such_body_is_refused_in_words() {
        let good = frame("v1", "ConfigMap", &field(1, &field(1, b"c")));
        for cut in 0..good.len() {
            // Any outcome but a panic; most are refusals.
            let _ = decode(&good[..cut]);
        }
        assert_eq!(decode(b"{}").unwrap_err().code, 400);
        let unknown = decode(&frame("example.com/v1", "Widget", b"")).unwrap_err();
        assert_eq!(unknown.code, 415);
        assert!(unknown.message.contains("application/json"));
        let mut deep = Vec::new();
        for _ in 0..200 {
            deep = field(1, &deep);
        }
        assert!(decode(&frame("v1", "ConfigMap", &deep)).is_err());
    }
}
