//! `include/kcl.h` declares what the library has, and nothing else. That both mean the same is shown by the C program of `c.rs`.
#![allow(clippy::unwrap_used)]

/// What a Rust type is in C.
fn in_c(ty: &str) -> &str {
    match ty {
        "*const c_char" => "const char *",
        "*const u8" => "const uint8_t *",
        "*mut u8" => "uint8_t *",
        "i32" => "int32_t ",
        "usize" => "size_t ",
        "KclAnswer" => "KclAnswer ",
        other => panic!("the test does not know `{other}`"),
    }
}

/// `name: type` as C writes it.
fn declared(field: &str) -> String {
    let (name, ty) = field.trim().trim_start_matches("pub ").split_once(": ").unwrap();
    format!("{}{name}", in_c(ty))
}

#[test]
fn the_header_declares_the_functions_the_fields_and_the_constants() {
    let source = include_str!("../src/lib.rs");
    let header = include_str!("../include/kcl.h");
    let flat = source.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut wanted = Vec::new();
    for function in flat.split("#[unsafe(no_mangle)] ").skip(1) {
        let (_, rest) = function.split_once("extern \"C\" fn ").unwrap();
        let (name, rest) = rest.split_once('(').unwrap();
        let (params, rest) = rest.split_once(')').unwrap();
        let result = rest.split('{').next().unwrap().trim().strip_prefix("-> ").unwrap_or("");
        let params: Vec<String> = params.split(',').filter(|p| !p.trim().is_empty()).map(declared).collect();
        let params = if params.is_empty() { "void".to_owned() } else { params.join(", ") };
        let result = if result.is_empty() { "void " } else { in_c(result) };
        wanted.push(format!("{result}{name}({params});"));
    }
    assert_eq!(wanted.len(), 3);
    assert_eq!(
        header.matches(" kcl_").count() + header.matches("*kcl_").count() - header.matches("to kcl_").count(),
        3
    );
    let fields = flat.split_once("pub struct KclAnswer {").unwrap().1.split_once('}').unwrap().0;
    let fields = fields.split(" pub ").skip(1).map(|field| field.split(',').next().unwrap());
    wanted.extend(fields.map(|field| format!("{};", declared(field))));
    for constant in flat.split("pub const ").skip(1) {
        let (name, rest) = constant.split_once(": i32 = ").unwrap();
        wanted.push(format!("#define {name} {}\n", rest.split(';').next().unwrap()));
    }
    assert_eq!(wanted.len(), 8);
    for line in wanted {
        assert!(header.contains(&line), "{line}");
    }
}
