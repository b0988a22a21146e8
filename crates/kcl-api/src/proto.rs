//! The `.proto` file, written from the tables of messages and methods.

use crate::messages::TABLE;
use crate::table::METHODS;

/// Returns the text of `kcl.proto`.
pub fn proto_file() -> String {
    let mut out = String::from(
        "// The API of KCL. Written from the tables in crates/kcl-api: `UPDATE=1 cargo test -p kcl-api --test proto`.\n\
         syntax = \"proto3\";\n\npackage com.kcl.api;\n",
    );
    for service in ["BuiltinService", "KclService"] {
        out.push_str(&format!("\nservice {service} {{\n"));
        for method in METHODS.iter().filter(|method| method.service == service) {
            out.push_str(&format!("  rpc {}({}) returns ({});\n", method.name, method.args, method.result));
        }
        out.push_str("}\n");
    }
    for (name, fields) in TABLE.iter().flat_map(|rows| rows.iter()) {
        out.push_str(&format!("\nmessage {name} {{"));
        for (field, kind, ty, number) in *fields {
            let field = field.trim_start_matches("r#");
            out.push_str(&format!("\n  {} {field} = {number};", declared(kind, ty)));
        }
        out.push_str(if fields.is_empty() { "}\n" } else { "\n}\n" });
    }
    out
}

/// The type of a field as a `.proto` file writes it.
fn declared(kind: &str, ty: &str) -> String {
    let message = || {
        let inner = ty.replace(' ', "");
        inner.rsplit(['<', ',']).next().unwrap_or_default().trim_end_matches('>').to_owned()
    };
    let mut words = kind.split(',').map(str::trim);
    let first = words.next().unwrap_or_default();
    if let Some((_, pair)) = kind.split_once("btree_map") {
        let pair = pair.trim_matches([' ', '=', '"']);
        let (key, value) = pair.split_once(',').unwrap_or((pair, ""));
        let value = if value.trim() == "message" { message() } else { value.trim().to_owned() };
        return format!("map<{}, {value}>", key.trim());
    }
    let base = if first == "message" { message() } else { first.to_owned() };
    match words.next() {
        Some("repeated") => format!("repeated {base}"),
        Some("optional") if first != "message" => format!("optional {base}"),
        _ => base,
    }
}
