//! The built-in schema: the generated tables, indexed once and parsed type by type.
//!
//! In: `tables/kubernetes.tsv` (facts of a real server's discovery and OpenAPI) and `tables/shapes.tsv` (how its types write
//! absent fields). Out: one immutable [`Schema`]. Malformed rows are skipped: the tables are ours, and a test reads all of them.

use std::sync::OnceLock;

use ecow::EcoString;
use rustc_hash::FxHashMap;
use serde_json::Value;

use crate::schema::{
    Field, List, ListKind, MapOf, PatchRule, Resource, ScalarKind, Schema, Shape, Struct, Subresource, Ty,
    TypeId, TypeSlot,
};

const TABLE: &str = include_str!("tables/kubernetes.tsv");
const SHAPES: &str = include_str!("tables/shapes.tsv");

/// The schema of the pinned Kubernetes version.
pub fn builtin() -> &'static Schema {
    static SCHEMA: OnceLock<Schema> = OnceLock::new();
    SCHEMA.get_or_init(|| load(TABLE))
}

/// Indexes a table text.
pub(crate) fn load(table: &'static str) -> Schema {
    let mut schema = Schema::default();
    let mut rows = Vec::new();
    for line in table.lines() {
        let mut cells = line.split('\t');
        match cells.next() {
            Some("G") => {
                let group = cells.next().unwrap_or_default();
                schema.groups.push((group.into(), words(cells.next().unwrap_or_default(), ',')));
            }
            Some("R") => rows.push(cells.collect::<Vec<&str>>()),
            Some("T") => {
                let (Some(name), Some(source)) = (cells.next(), cells.next()) else { continue };
                let id = TypeId(schema.types.len() as u32);
                schema.by_name.insert(name.into(), id);
                schema.types.push(TypeSlot { name: name.into(), source, parsed: OnceLock::new() });
            }
            _ => {}
        }
    }
    for row in rows {
        if let Some(resource) = parse_resource(&schema, &row) {
            schema.add_resource(resource);
        }
    }
    schema
}

fn words(text: &str, separator: char) -> Vec<EcoString> {
    text.split(separator).filter(|w| !w.is_empty()).map(EcoString::from).collect()
}

fn parse_resource(schema: &Schema, row: &[&str]) -> Option<Resource> {
    let [group, version, kind, plural, singular, scope, short, categories, verbs, subs, ty] = row else {
        return None;
    };
    let subresources = subs.split(' ').filter_map(parse_subresource).collect();
    Some(Resource {
        group: (*group).into(),
        version: (*version).into(),
        kind: (*kind).into(),
        plural: (*plural).into(),
        singular: (*singular).into(),
        namespaced: *scope == "N",
        short_names: words(short, ','),
        categories: words(categories, ','),
        verbs: words(verbs, ','),
        subresources,
        ty: schema.type_named(ty).unwrap_or(Ty::Any),
        custom: false,
        structural: None,
    })
}

fn parse_subresource(text: &str) -> Option<Subresource> {
    let (name, rest) = text.split_once('=')?;
    let (gvk, verbs) = rest.split_once('=')?;
    let mut parts = gvk.splitn(3, '/');
    Some(Subresource {
        name: name.into(),
        group: parts.next()?.into(),
        version: parts.next()?.into(),
        kind: parts.next()?.into(),
        verbs: words(verbs, '+'),
    })
}

/// Parses the JSON of one `T` line.
pub(crate) fn parse_type(schema: &Schema, name: &str, source: &str) -> Struct {
    let parsed: Value = serde_json::from_str(source).unwrap_or_default();
    let required: Vec<&str> =
        parsed["r"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let shapes = shapes().get(name);
    let mut fields = Vec::new();
    for (field, spec) in parsed["f"].as_object().into_iter().flatten() {
        let mut parsed = parse_field(schema, field, spec);
        parsed.required = required.contains(&field.as_str());
        parsed.shape = shapes.and_then(|text| shape_of(text, field)).unwrap_or_default();
        fields.push(parsed);
    }
    let mut strukt = Struct::new(fields);
    strukt.defaults = crate::defaults::rule_of(name);
    strukt.atomic = parsed["mt"] == "atomic";
    strukt.open = parsed["pu"] == true || strukt.fields.is_empty();
    strukt
}

fn parse_field(schema: &Schema, name: &str, spec: &Value) -> Field {
    let atomic = spec["mt"] == "atomic";
    let kind = match spec["lt"].as_str() {
        Some("set") => ListKind::Set,
        Some("map") => {
            let keys =
                spec["lk"].as_array().into_iter().flatten().filter_map(Value::as_str).map(EcoString::from);
            ListKind::Map(keys.collect())
        }
        _ => ListKind::Atomic,
    };
    let strategy = spec["ps"].as_str().unwrap_or_default();
    let mut field = Field::new(name, parse_expr(schema, spec["t"].as_str().unwrap_or("*"), kind, atomic));
    field.default = spec.get("d").cloned();
    field.allowed = spec["e"].as_array().cloned().unwrap_or_default();
    field.patch = PatchRule {
        merge: strategy.split(',').any(|w| w == "merge"),
        retain_keys: strategy.split(',').any(|w| w == "retainKeys"),
        merge_key: spec["mk"].as_str().map(EcoString::from),
    };
    field
}

fn parse_expr(schema: &Schema, text: &str, kind: ListKind, atomic: bool) -> Ty {
    let Some(first) = text.chars().next() else { return Ty::Any };
    let rest = &text[first.len_utf8()..];
    Ty::Scalar(match first {
        's' => ScalarKind::String,
        'y' => ScalarKind::Bytes,
        'd' => ScalarKind::Time,
        'D' => ScalarKind::MicroTime,
        'i' => ScalarKind::Int32,
        'l' => ScalarKind::Int64,
        'n' => ScalarKind::Number,
        'b' => ScalarKind::Bool,
        'q' => ScalarKind::Quantity,
        'x' => ScalarKind::IntOrString,
        '#' => return schema.by_name.get(rest).map_or(Ty::Any, |&id| Ty::Named { id, atomic }),
        // Only the outer list carries the field's marking; lists of lists are atomic.
        '[' => {
            return Ty::List(Box::new(List {
                item: parse_expr(schema, rest, ListKind::Atomic, false),
                kind,
            }));
        }
        '{' => {
            return Ty::Map(Box::new(MapOf {
                value: parse_expr(schema, rest, ListKind::Atomic, false),
                atomic,
            }));
        }
        _ => return Ty::Any,
    })
}

fn shapes() -> &'static FxHashMap<&'static str, &'static str> {
    static SHAPE_LINES: OnceLock<FxHashMap<&'static str, &'static str>> = OnceLock::new();
    SHAPE_LINES.get_or_init(|| SHAPES.lines().filter_map(|line| line.split_once('\t')).collect())
}

fn shape_of(line: &str, field: &str) -> Option<Shape> {
    let (_, code) =
        line.split(' ').filter_map(|word| word.split_once('=')).find(|(name, _)| *name == field)?;
    Some(match code {
        "z" => Shape::ZeroVanishes,
        "e" => Shape::EmptyVanishes,
        "p" => Shape::Pointer,
        "s" => Shape::Always,
        "S" => Shape::ZeroStruct,
        "r" => Shape::ZeroWritten,
        "n" => Shape::NullWritten,
        "t" => Shape::TimeNull,
        "T" => Shape::TimeVanishes,
        "q" => Shape::QuantityZero,
        "i" => Shape::IntZero,
        _ => return None,
    })
}
