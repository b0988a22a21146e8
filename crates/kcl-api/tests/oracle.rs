//! Our answers beside those of the released wheels, field by field (`testkit::rpc`).
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use kcl_api::{Budget, Encoding, METHODS, call};

#[test]
fn answers_are_those_of_the_wheels() {
    let wrong = testkit::rpc::judge(&testkit::rpc::cases(), |case, args| {
        match call(&case.method, Encoding::Json, args.to_string().as_bytes(), &Budget::default()) {
            Ok(bytes) => Ok(serde_json::from_slice(&bytes).unwrap()),
            Err(failure) => Err(failure.message),
        }
    });
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_method_of_the_reference_is_asked() {
    let asked: BTreeSet<String> = testkit::rpc::cases().into_iter().map(|case| case.method).collect();
    for method in METHODS.iter().filter(|method| method.name != "SymbolAt") {
        let name = format!("{}.{}", method.service, method.name);
        assert!(asked.contains(&name), "{name}");
    }
}
