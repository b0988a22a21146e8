//! The conformance checklist of `kubernetes-api.md` §H: one test code, run on the sandbox and on a real control plane.
//!
//! Each statement is a function over a [`wire::Wire`]. What does not hold on the sandbox is listed in docs/sandbox.md with
//! a reason, and the list must be exact: a statement that begins to hold must leave it.

#![allow(unreachable_pub, clippy::unwrap_used)]

mod ask;
mod beyond;
mod h1;
mod h2;
mod h3;
mod h4;
mod h5;
mod h6;
mod h7;
mod real;
mod sandbox;
mod wire;

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use ask::{Ask, Check};
use wire::Wire;

/// A statement: its number and its test.
pub type Statement = (u16, fn(&Ask<'_>) -> Check);

fn statements() -> Vec<Statement> {
    [h1::ALL, h2::ALL, h3::ALL, h4::ALL, h5::ALL, h6::ALL, h7::ALL, beyond::ALL].concat()
}

/// Runs all statements (or those named by `CHECKLIST=12,13`) and returns the failures.
fn failures(wire: &dyn Wire, skipped: &[u16]) -> Vec<(u16, String)> {
    let only: Option<Vec<u16>> = std::env::var("CHECKLIST")
        .ok()
        .map(|list| list.split(',').filter_map(|number| number.trim().parse().ok()).collect());
    let mut out = Vec::new();
    for (number, test) in statements() {
        let wanted = only.as_ref().is_none_or(|only| only.contains(&number));
        if !wanted || skipped.contains(&number) {
            continue;
        }
        let run = || {
            let ask = Ask::new(wire, &format!("h{number:03}"))?;
            test(&ask)
        };
        match catch_unwind(AssertUnwindSafe(run)) {
            Ok(Ok(())) => {}
            Ok(Err(why)) => out.push((number, why)),
            Err(_) => out.push((number, "it panicked".to_owned())),
        }
    }
    out
}

fn report(failures: &[(u16, String)]) -> String {
    failures.iter().map(|(number, why)| format!("\nh{number:03}: {why}")).collect()
}

#[test]
fn every_statement_is_there_once() {
    let numbers: Vec<u16> = statements().iter().map(|(number, _)| *number).collect();
    let numbers: Vec<u16> = numbers.into_iter().filter(|number| *number <= 200).collect();
    assert_eq!(numbers, (1..=130).collect::<Vec<u16>>());
}

#[test]
fn the_sandbox_holds_every_statement_but_those_that_are_listed() {
    let text = include_str!("../../../../docs/sandbox.md");
    let rows = text.lines().filter_map(|line| line.strip_prefix("| h"));
    let mut listed: BTreeSet<u16> = rows.filter_map(|row| row.split(' ').next()?.parse().ok()).collect();
    if cfg!(feature = "cel") {
        listed.remove(&115);
    }
    let failed = failures(&sandbox::Sandbox::new(), &[]);
    let numbers: BTreeSet<u16> = failed.iter().map(|(number, _)| *number).collect();
    if std::env::var_os("CHECKLIST").is_none() {
        assert_eq!(numbers, listed, "docs/sandbox.md lists {listed:?}; these fail:{}", report(&failed));
    } else {
        assert!(failed.is_empty(), "{}", report(&failed));
    }
    assert!(listed.iter().all(|number| *number > 100), "the first 100 statements must hold");
}

/// What the real server cannot be asked: faults on purpose, and what needs minutes or another road than the proxy.
const NOT_ON_REAL: [u16; 7] = [71, 108, 119, 121, 122, 123, 124];

#[test]
fn the_real_control_plane_holds_every_statement() {
    let Some(plane) = testenv::shared() else { return };
    let failed = failures(&real::Real::new(plane), &NOT_ON_REAL);
    assert!(failed.is_empty(), "{}", report(&failed));
}
