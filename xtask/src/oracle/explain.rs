//! Differences that are meant: each has a key that stands in `docs/divergences.md`.
//!
//! A rule looks at the program and both verdicts; it must be narrow, because what it matches is never seen again.

use testkit::{Program, Verdict};

/// Returns the key of the divergence that explains the difference.
pub(super) fn explain(program: &Program, ours: &Verdict, theirs: &Verdict) -> Option<&'static str> {
    if matches!(ours, Verdict::Broken(_)) {
        return None;
    }
    if let Verdict::Broken(why) = theirs {
        return Some(if why == "hang" { "oracle-hang" } else { "oracle-crash" });
    }
    let their_message = match theirs {
        Verdict::Fault(fault) => fault.message.as_str(),
        _ => "",
    };
    if super::read::is_panic(their_message) && matches!(ours, Verdict::Output(_)) {
        return Some("oracle-panic");
    }
    // §0.3: the checker accepts `!=` wherever it accepts `==`.
    if their_message.starts_with("unsupported operand type(s) for !=") {
        return Some("not-equal-accepted");
    }
    let our_message = match ours {
        Verdict::Fault(fault) => fault.message.as_str(),
        _ => "",
    };
    // §0.3: calls of lambdas defined further down are checked statically.
    let about_arguments =
        our_message.contains("positional argument") || our_message.contains("keyword argument");
    if about_arguments && called_before_definition(program) {
        return Some("forward-call-checked");
    }
    None
}

/// Whether some line calls a name that a later line defines as a lambda.
fn called_before_definition(program: &Program) -> bool {
    let text: String = program.files.iter().map(|file| file.text.as_str()).collect();
    text.lines().filter_map(|line| line.split_once(" = lambda")).any(|(name, _)| {
        let call = format!("{}(", name.trim());
        let definition = text.find(&format!("{name} = lambda"));
        matches!((text.find(&call), definition), (Some(used), Some(defined)) if used < defined)
    })
}
