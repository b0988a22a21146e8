//! Asking before anything changes: yes, details, no.

use std::io::{BufRead as _, IsTerminal as _};

use kusion_model::Plan;

use crate::failure::Failure;
use crate::output::{print, tell};
use crate::plan_view::{self, Detail, count};
use crate::style::Style;

/// Asks; without a terminal the question becomes an error that names the flag.
pub(crate) fn consent(verb: &str, plan: &Plan, cluster: &str) -> Result<(), Failure> {
    let scope = &plan.scope;
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        let what = format!("`kusion {verb}` needs consent and there is no terminal to ask on");
        return Err(Failure::usage(what).cause("nothing was changed").next(format!(
            "look at the plan above, then: kusion {verb} {scope} -y, or save it: kusion preview {scope} --plan FILE"
        )));
    }
    let style = Style::stderr();
    loop {
        tell(&format!("{} {}  yes   details   no: ", style.cyan("?"), question(verb, plan, cluster)));
        let mut line = String::new();
        let read = std::io::stdin().lock().read_line(&mut line);
        match line.trim() {
            "y" | "yes" => return Ok(()),
            "n" | "no" => return Err(Failure::usage("nothing was changed: the answer was no")),
            _ if read.is_err() || line.is_empty() => {
                return Err(Failure::usage("nothing was changed: no answer"));
            }
            word => details(word, plan)?,
        }
    }
}

/// Asks a plain question.
pub(crate) fn ask(verb: &str, question: &str) -> Result<(), Failure> {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Err(Failure::usage(question.to_owned())
            .cause("there is no terminal to ask on; nothing was changed")
            .next(format!("kusion {verb} -y")));
    }
    tell(&format!("? {question}?  yes   no: "));
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line);
    match line.trim() {
        "y" | "yes" if read.is_ok() => Ok(()),
        _ => Err(Failure::usage("nothing was changed")),
    }
}

/// `details` shows everything; `details WORD` what has the word in its id.
fn details(line: &str, plan: &Plan) -> Result<(), Failure> {
    let (word, search) = line.split_once(' ').unwrap_or((line, ""));
    if !matches!(word, "d" | "details") {
        tell(
            "  yes applies it; no leaves everything as it is; details shows all of it; details NAME one resource\n",
        );
        return Ok(());
    }
    let mut shown = plan.clone();
    shown.steps.retain(|step| step.key.to_string().contains(search.trim()));
    if shown.steps.is_empty() {
        tell(&format!("  nothing in the plan is called `{}`\n", search.trim()));
        return Ok(());
    }
    print(&plan_view::steps(&shown, Detail::All, &Style::stdout()))
}

/// `Destroy 6 resources of shop/dev on kind-dev?`
fn question(verb: &str, plan: &Plan, cluster: &str) -> String {
    let n = plan.steps.iter().filter(|step| step.is_change()).count();
    let scope = &plan.scope;
    match verb {
        "destroy" => format!("Destroy {} of {scope} on {cluster}?", count(n, "resource")),
        "rollback" => format!("Roll back {} of {scope} on {cluster}?", count(n, "resource")),
        _ => format!("Apply {} to {scope} on {cluster}?", count(n, "change")),
    }
}
