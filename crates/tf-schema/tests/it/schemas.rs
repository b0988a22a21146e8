//! Rules of schemas, implied types, caching.

use tf_schema::{Attribute, Block, BlockNesting, ObjectNesting, Schema};
use tf_value::Type;

use crate::kit::{block, blocks, nested, places, plain};

fn wrong(block: Block) -> Vec<String> {
    places(&Schema::new(0, block).expect_err("the schema breaks a rule"))
}

#[test]
fn a_schema_that_breaks_a_rule_is_refused() {
    for (name, flags) in [
        ("none", ""),
        ("both", "required optional"),
        ("mixed", "required computed"),
        ("told", "computed write_only"),
    ] {
        assert_eq!(wrong(block(vec![(name, plain("string", flags))], vec![])), [name]);
    }
    assert_eq!(wrong(block(vec![("Upper", plain("string", "optional"))], vec![])), ["Upper"]);
    let inner = || block(vec![], vec![]);
    let twice =
        block(vec![("a", plain("string", "optional"))], vec![("a", blocks(BlockNesting::List, inner()))]);
    assert_eq!(wrong(twice), ["a"]);
    let counted = |nesting, min, max| {
        let mut nested = blocks(nesting, inner());
        (nested.min_items, nested.max_items) = (min, max);
        Schema::new(0, block(vec![], vec![("b", nested)])).is_ok()
    };
    assert!(counted(BlockNesting::Single, 1, 1) && counted(BlockNesting::Single, 0, 0));
    assert!(!counted(BlockNesting::Single, 0, 1) && !counted(BlockNesting::Single, 2, 2));
    assert!(!counted(BlockNesting::Group, 1, 1) && !counted(BlockNesting::Map, 0, 1));
    assert!(counted(BlockNesting::List, 1, 3) && !counted(BlockNesting::List, 3, 1));
    let dynamic = || block(vec![("d", plain("dynamic", "optional"))], vec![]);
    assert_eq!(wrong(block(vec![], vec![("s", blocks(BlockNesting::Set, dynamic()))])), ["s"]);
    assert_eq!(wrong(block(vec![("s", plain(r#"["set","dynamic"]"#, "optional"))], vec![])), ["s"]);
    let set = nested(ObjectNesting::Set, "optional", vec![("d", plain("dynamic", "optional"))]);
    assert_eq!(wrong(block(vec![("s", set)], vec![])), ["s"]);
}

#[test]
fn every_nesting_implies_its_type() {
    let inner = || block(vec![("n", plain("number", "optional"))], vec![]);
    let dynamic = || block(vec![("d", plain("dynamic", "optional"))], vec![]);
    let of = "[\"object\",{\"n\":\"number\"}]";
    for (nested, ty) in [
        (blocks(BlockNesting::Single, inner()), of.to_owned()),
        (blocks(BlockNesting::Group, inner()), of.to_owned()),
        (blocks(BlockNesting::List, inner()), format!("[\"list\",{of}]")),
        (blocks(BlockNesting::Set, inner()), format!("[\"set\",{of}]")),
        (blocks(BlockNesting::Map, inner()), format!("[\"map\",{of}]")),
        (blocks(BlockNesting::List, dynamic()), "\"dynamic\"".to_owned()),
        (blocks(BlockNesting::Map, dynamic()), "\"dynamic\"".to_owned()),
    ] {
        assert_eq!(nested.implied_type(), ty.parse::<Type>().unwrap());
    }
    for (nesting, ty) in [
        (ObjectNesting::Single, of.to_owned()),
        (ObjectNesting::List, format!("[\"list\",{of}]")),
        (ObjectNesting::Set, format!("[\"set\",{of}]")),
        (ObjectNesting::Map, format!("[\"map\",{of}]")),
    ] {
        let attribute: Attribute = nested(nesting, "optional", vec![("n", plain("number", "optional"))]);
        assert_eq!(attribute.ty(), ty.parse::<Type>().unwrap());
    }
}
