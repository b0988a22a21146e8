//! `proto/kcl.proto` is what the tables say.
#![allow(clippy::unwrap_used)]

#[test]
fn the_proto_file_is_written_from_the_tables() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/proto/kcl.proto");
    let text = kcl_api::proto_file();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, &text).unwrap();
    }
    assert_eq!(std::fs::read_to_string(path).unwrap(), text, "UPDATE=1 writes it anew");
}
