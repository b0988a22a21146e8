//! Replace paths, actions, ignored changes, sensitive places.

use tf_schema::{
    Action, Because, Block, BlockNesting, Facts, Ignore, ObjectNesting, Schema, action, ignore_changes,
    replace_paths, sensitive_paths, write_only_paths,
};
use tf_value::{Path, Value, json};

use crate::kit::{block, blocks, nested, object, plain};

fn schema() -> Block {
    block(
        vec![
            ("a", plain("string", "optional")),
            ("b", plain("string", "optional")),
            ("id", plain("string", "computed")),
            ("m", plain(r#"["map","string"]"#, "optional")),
            ("w", plain("string", "optional write_only")),
        ],
        vec![],
    )
}

fn at(name: &str) -> Path {
    Path::default().attribute(name)
}

#[test]
fn only_paths_that_change_force_a_replacement() {
    let schema = schema();
    let kept = |prior: &str, planned: &str, named: &[Path]| {
        let (prior, planned) = (object(&schema, prior), object(&schema, planned));
        replace_paths(&schema, &prior, &planned, named).map_err(|problem| problem.path)
    };
    let prior = r#"{"a":"x","b":"y","m":{"k":"1"}}"#;
    assert_eq!(kept("null", prior, &[at("a")]), Ok(vec![]));
    assert_eq!(kept(prior, r#"{"a":"z","b":"y"}"#, &[at("b"), at("a"), at("a")]), Ok(vec![at("a")]));
    assert_eq!(kept(prior, r#"{"a":"?","b":"y"}"#, &[at("a"), at("b")]), Ok(vec![at("a")]));
    assert_eq!(kept(prior, prior, &[at("w")]), Ok(vec![at("w")]));
    let key = at("m").key("k");
    assert_eq!(kept(prior, r#"{"m":{}}"#, std::slice::from_ref(&key)), Ok(vec![key.clone()]));
    assert_eq!(kept(prior, prior, std::slice::from_ref(&key)), Ok(vec![]));
    // An item that comes is a change, even if there is nothing in it.
    let fresh = at("m").key("new");
    let with_more = r#"{"a":"x","b":"y","m":{"k":"1","new":null}}"#;
    assert_eq!(kept(prior, with_more, std::slice::from_ref(&fresh)), Ok(vec![fresh.clone()]));
    assert_eq!(kept(prior, prior, &[at("none")]), Err(at("none")));
}

#[test]
fn actions_row_by_row() {
    let schema = schema();
    let facts = |forced, tainted, sensitive_changed| Facts { forced, tainted, sensitive_changed };
    let x = r#"{"a":"x","id":"1"}"#;
    for (prior, planned, paths, facts, result) in [
        ("null", x, vec![], facts(false, false, false), Action::Create),
        (x, x, vec![at("w")], facts(false, false, false), Action::Replace(Because::CannotUpdate)),
        (x, x, vec![], facts(false, false, false), Action::NoOp),
        (x, x, vec![], facts(true, false, false), Action::Replace(Because::Requested)),
        (
            x,
            r#"{"a":"y","id":"?"}"#,
            vec![at("a")],
            facts(false, false, false),
            Action::Replace(Because::CannotUpdate),
        ),
        (x, r#"{"a":"y","id":"1"}"#, vec![], facts(false, false, false), Action::Update),
        (x, r#"{"a":"x","id":"?"}"#, vec![], facts(false, false, false), Action::Update),
        ("null", x, vec![], facts(false, true, false), Action::Replace(Because::Tainted)),
        (x, x, vec![], facts(false, false, true), Action::Update),
    ] {
        let (prior, planned) = (object(&schema, prior), object(&schema, planned));
        assert_eq!(action(&schema, &prior, &planned, &paths, facts), result);
    }
}

#[test]
fn ignored_changes_take_the_prior_value() {
    let schema = Schema::new(0, schema()).unwrap();
    let given = |prior: &str, config: &str, ignore: Ignore| {
        let (prior, config) = (object(&schema.block, prior), object(&schema.block, config));
        let value = ignore_changes(&schema, &prior, &config, &ignore).unwrap();
        json::encode(&value, schema.ty()).unwrap()
    };
    let prior = r#"{"a":"x","id":"1","m":{"k":"1"}}"#;
    let config = r#"{"a":"y","b":"z","m":{"k":"2","l":"3"}}"#;
    let paths = |paths: &[Path]| Ignore::Paths(paths.to_vec());
    assert_eq!(
        given(prior, config, paths(&[at("a")])),
        r#"{"a":"x","b":"z","id":null,"m":{"k":"2","l":"3"},"w":null}"#
    );
    assert_eq!(
        given(prior, config, paths(&[at("m").key("k")])),
        r#"{"a":"y","b":"z","id":null,"m":{"k":"1","l":"3"},"w":null}"#
    );
    assert_eq!(
        given(prior, config, paths(&[at("m").key("l")])),
        r#"{"a":"y","b":"z","id":null,"m":{"k":"2"},"w":null}"#
    );
    assert_eq!(given(prior, config, Ignore::All), r#"{"a":"x","b":null,"id":null,"m":{"k":"1"},"w":null}"#);
    assert_eq!(
        given("null", r#"{"a":"y"}"#, paths(&[at("a")])),
        r#"{"a":"y","b":null,"id":null,"m":null,"w":null}"#
    );
    let (prior, config) = (object(&schema.block, prior), object(&schema.block, config));
    assert!(ignore_changes(&schema, &prior, &config, &paths(&[at("none")])).is_err());
}

#[test]
fn sensitive_places_are_told() {
    let inner = || vec![("s", plain("string", "optional sensitive")), ("p", plain("string", "optional"))];
    let leaf = || block(inner(), vec![]);
    let schema = block(
        vec![
            ("top", plain("string", "optional sensitive")),
            ("wo", plain("string", "optional write_only")),
            ("one", nested(ObjectNesting::Single, "optional", inner())),
            ("many", nested(ObjectNesting::Set, "optional", inner())),
        ],
        vec![
            ("l", blocks(BlockNesting::List, leaf())),
            ("s", blocks(BlockNesting::Set, leaf())),
            ("m", blocks(BlockNesting::Map, leaf())),
        ],
    );
    let value =
        object(&schema, r#"{"one":{"p":"x"},"many":[{"s":"1"}],"l":[{}],"s":[{"p":"x"}],"m":{"k":{}}}"#);
    let shown = |paths: Vec<Path>| paths.iter().map(Path::to_string).collect::<Vec<_>>();
    assert_eq!(
        shown(sensitive_paths(&schema, &value)),
        ["l[0].s", "m[\"k\"].s", "many", "one.s", "s", "top", "wo"]
    );
    assert_eq!(shown(write_only_paths(&schema, &value)), ["wo"]);
    assert!(sensitive_paths(&schema, &Value::Null).is_empty());
}
