//! The proposed new object.

use tf_schema::{Block, BlockNesting, ObjectNesting, empty_value, fill_blocks, proposed_new, proposed_read};
use tf_value::{Value, json};

use crate::kit::{block, blocks, nested, object, plain};

fn item() -> Block {
    block(
        vec![
            ("name", plain("string", "optional")),
            ("arn", plain("string", "computed")),
            ("both", plain("string", "optional computed")),
        ],
        vec![],
    )
}

fn proposed(block: &Block, prior: &str, config: &str) -> String {
    let value = proposed_new(block, &object(block, prior), &object(block, config));
    json::encode(&value, &block.implied_type()).unwrap()
}

#[test]
fn attributes_are_configured_or_kept() {
    for (prior, config, result) in [
        ("null", r#"{"name":"n"}"#, r#"{"arn":null,"both":null,"name":"n"}"#),
        (r#"{"name":"n","arn":"x","both":"b"}"#, "{}", r#"{"arn":"x","both":"b","name":null}"#),
        (
            r#"{"name":"n","arn":"x","both":"b"}"#,
            r#"{"name":"m","both":"c"}"#,
            r#"{"arn":"x","both":"c","name":"m"}"#,
        ),
    ] {
        assert_eq!(proposed(&item(), prior, config), result, "{prior} {config}");
    }
    assert_eq!(proposed_new(&item(), &Value::Null, &Value::Null), Value::Null);
}

#[test]
fn blocks_are_paired_by_their_nesting() {
    let with = |nesting| block(vec![], vec![("b", blocks(nesting, item()))]);
    let kept = |name: &str| format!(r#"{{"arn":"x","both":null,"name":"{name}"}}"#);
    let fresh = |name: &str| format!(r#"{{"arn":null,"both":null,"name":"{name}"}}"#);
    for (nesting, prior, config, result) in [
        // A list item that changes its name keeps what was computed; a set item loses it.
        (
            BlockNesting::List,
            r#"[{"name":"a","arn":"x"}]"#,
            r#"[{"name":"z"},{"name":"y"}]"#,
            format!("[{},{}]", kept("z"), fresh("y")),
        ),
        (
            BlockNesting::Set,
            r#"[{"name":"a","arn":"x"}]"#,
            r#"[{"name":"a"},{"name":"y"}]"#,
            format!("[{},{}]", kept("a"), fresh("y")),
        ),
        (BlockNesting::Set, r#"[{"name":"a","arn":"x"}]"#, r#"[{"name":"z"}]"#, format!("[{}]", fresh("z"))),
        (
            BlockNesting::Map,
            r#"{"k":{"name":"a","arn":"x"}}"#,
            r#"{"k":{"name":"z"},"l":{"name":"y"}}"#,
            format!("{{\"k\":{},\"l\":{}}}", kept("z"), fresh("y")),
        ),
        (BlockNesting::Single, r#"{"name":"a","arn":"x"}"#, r#"{"name":"z"}"#, kept("z")),
        (BlockNesting::Single, r#"{"name":"a","arn":"x"}"#, "null", "null".to_owned()),
        (BlockNesting::Group, r#"{"name":"a","arn":"x"}"#, r#"{"name":"z"}"#, kept("z")),
    ] {
        let block = with(nesting);
        let given = proposed(&block, &format!("{{\"b\":{prior}}}"), &format!("{{\"b\":{config}}}"));
        assert_eq!(given, format!("{{\"b\":{result}}}"), "{prior} {config}");
    }
    let block = with(BlockNesting::List);
    let value = proposed_new(&block, &Value::Null, &object(&block, r#"{"b":"??"}"#));
    assert!(value.get("b").unwrap().is_unknown());
}

#[test]
fn nested_attributes_are_paired_likewise() {
    let inner = || vec![("name", plain("string", "optional")), ("arn", plain("string", "computed"))];
    let with = |nesting, flags| block(vec![("b", nested(nesting, flags, inner()))], vec![]);
    let kept = r#"{"arn":"x","name":"z"}"#;
    for (nesting, prior, config, result) in [
        (ObjectNesting::Single, r#"{"name":"a","arn":"x"}"#, r#"{"name":"z"}"#, kept.to_owned()),
        (ObjectNesting::List, r#"[{"name":"a","arn":"x"}]"#, r#"[{"name":"z"}]"#, format!("[{kept}]")),
        (
            ObjectNesting::Map,
            r#"{"k":{"name":"a","arn":"x"}}"#,
            r#"{"k":{"name":"z"}}"#,
            format!("{{\"k\":{kept}}}"),
        ),
        (ObjectNesting::Set, r#"[{"name":"z","arn":"x"}]"#, r#"[{"name":"z"}]"#, format!("[{kept}]")),
        (ObjectNesting::Single, r#"{"name":"a"}"#, "null", "null".to_owned()),
    ] {
        let block = with(nesting, "optional");
        let given = proposed(&block, &format!("{{\"b\":{prior}}}"), &format!("{{\"b\":{config}}}"));
        assert_eq!(given, format!("{{\"b\":{result}}}"), "{prior} {config}");
    }
    // Removed: what was configured before goes, what only the provider had set stays.
    let both = with(ObjectNesting::Single, "optional computed");
    assert_eq!(proposed(&both, r#"{"b":{"name":"a","arn":"x"}}"#, "{}"), r#"{"b":null}"#);
    assert_eq!(proposed(&both, r#"{"b":{"arn":"x"}}"#, "{}"), r#"{"b":{"arn":"x","name":null}}"#);
}

#[test]
fn what_a_data_source_computes_is_unknown() {
    let value = proposed_read(&item(), &object(&item(), r#"{"name":"n"}"#));
    assert_eq!(value.get("name").unwrap().as_str(), Some("n"));
    assert!(value.get("arn").unwrap().is_unknown() && value.get("both").unwrap().is_unknown());
}

#[test]
fn null_blocks_of_a_provider_become_empty() {
    let schema = block(
        vec![],
        vec![
            ("l", blocks(BlockNesting::List, block(vec![], vec![("s", blocks(BlockNesting::Set, item()))]))),
            ("g", blocks(BlockNesting::Group, item())),
        ],
    );
    let answered = Value::map([("l", Value::list([Value::map([("s", Value::Null)])])), ("g", Value::Null)]);
    let filled = fill_blocks(&schema, &answered);
    assert_eq!(
        json::encode(&filled, &schema.implied_type()).unwrap(),
        r#"{"g":{"arn":null,"both":null,"name":null},"l":[{"s":[]}]}"#
    );
    assert_eq!(empty_value(&schema).get("l"), Some(&Value::List(Vec::new())));
}
