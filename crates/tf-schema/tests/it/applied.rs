//! What may become of a plan.

use tf_schema::{BlockNesting, check_applied};
use tf_value::{Refinement, Value};

use crate::kit::{block, blocks, object, places, plain};

#[test]
fn known_stays_and_unknown_becomes_anything() {
    let schema = block(
        vec![
            ("a", plain("string", "optional")),
            ("l", plain(r#"["list","string"]"#, "optional")),
            ("m", plain(r#"["map","string"]"#, "optional")),
            ("s", plain(r#"["set","string"]"#, "optional")),
            ("d", plain("dynamic", "optional")),
            ("w", plain("string", "optional write_only")),
            ("p", plain(r#"["map","string"]"#, "optional sensitive")),
        ],
        vec![("b", blocks(BlockNesting::List, block(vec![("n", plain("number", "optional"))], vec![])))],
    );
    for (planned, actual, result) in [
        (r#"{"a":"x"}"#, r#"{"a":"x"}"#, vec![]),
        (r#"{"a":"x"}"#, r#"{"a":"y"}"#, vec!["a"]),
        (r#"{"a":"x"}"#, "{}", vec!["a"]),
        ("{}", r#"{"a":"x"}"#, vec!["a"]),
        (r#"{"a":"?"}"#, r#"{"a":"x"}"#, vec![]),
        (r#"{"a":"?"}"#, "{}", vec![]),
        (r#"{"a":"x"}"#, r#"{"a":"?"}"#, vec!["a"]),
        (r#"{"l":["?","b"]}"#, r#"{"l":["a","b"]}"#, vec![]),
        (r#"{"l":["a"]}"#, r#"{"l":["a","b"]}"#, vec!["l"]),
        (r#"{"l":["a"]}"#, r#"{"l":["b"]}"#, vec!["l[0]"]),
        (r#"{"m":{"k":"?"}}"#, r#"{"m":{"k":"x"}}"#, vec![]),
        (r#"{"m":{"k":"x"}}"#, r#"{"m":{"j":"x"}}"#, vec!["m[\"k\"]", "m[\"j\"]"]),
        (r#"{"s":["?","k"]}"#, r#"{"s":["a","k"]}"#, vec![]),
        (r#"{"s":["?","k"]}"#, r#"{"s":["k"]}"#, vec![]),
        (r#"{"s":["k"]}"#, r#"{"s":["a","k"]}"#, vec!["s"]),
        (r#"{"s":["k"]}"#, r#"{"s":["a"]}"#, vec!["s"]),
        (r#"{"d":"??"}"#, r#"{"d":[1]}"#, vec![]),
        (r#"{"d":"x"}"#, r#"{"d":1}"#, vec!["d"]),
        (r#"{"w":"x"}"#, r#"{"w":"y"}"#, vec![]),
        (r#"{"p":{"k":"x"}}"#, r#"{"p":{"k":"y"}}"#, vec!["p"]),
        (r#"{"b":[{"n":1}]}"#, r#"{"b":[{"n":2}]}"#, vec!["b[0].n"]),
        (r#"{"b":[{"n":1}]}"#, r#"{"b":[]}"#, vec!["b"]),
        (r#"{"b":"??"}"#, r#"{"b":[{"n":1},{"n":2}]}"#, vec![]),
    ] {
        let problems = check_applied(&schema, &object(&schema, planned), &object(&schema, actual));
        assert_eq!(places(&problems), result, "{planned} {actual}");
    }
    let empty = object(&schema, "{}");
    assert_eq!(places(&check_applied(&schema, &Value::Null, &empty)), [""]);
    assert_eq!(places(&check_applied(&schema, &empty, &Value::Null)), [""]);
}

#[test]
fn bounds_are_kept() {
    let schema = block(vec![("id", plain("string", "computed"))], vec![]);
    let bounds = Refinement { not_null: true, prefix: Some("ami-".into()), ..Refinement::default() };
    let planned = Value::map([("id", bounds.unknown())]);
    let wrong = |id: Value| places(&check_applied(&schema, &planned, &Value::map([("id", id)])));
    assert!(wrong(Value::string("ami-1")).is_empty());
    assert_eq!(wrong(Value::string("vpc-1")), ["id"]);
    assert_eq!(wrong(Value::Null), ["id"]);
}

#[test]
fn blocks_of_a_set_are_matched_both_ways() {
    let inner =
        || block(vec![("n", plain("number", "optional")), ("c", plain("string", "computed"))], vec![]);
    let schema = block(vec![], vec![("b", blocks(BlockNesting::Set, inner()))]);
    let check = |planned: &str, actual: &str| {
        let schema = &schema;
        places(&check_applied(schema, &object(schema, planned), &object(schema, actual)))
    };
    assert!(
        check(r#"{"b":[{"n":1,"c":"?"},{"n":2,"c":"?"}]}"#, r#"{"b":[{"n":1,"c":"x"},{"n":2,"c":"y"}]}"#)
            .is_empty()
    );
    assert_eq!(check(r#"{"b":[{"n":1,"c":"?"}]}"#, r#"{"b":[{"n":3,"c":"x"}]}"#), ["b"]);
}
