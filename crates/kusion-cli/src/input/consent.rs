//! Asking before anything changes: yes, details, no.

use std::io::{BufRead as _, IsTerminal as _};

use futures::future::{BoxFuture, ready};
use kusion::{Aim, Answer, Ask, Question};
use kusion_model::Plan;

use crate::input::flags::Given;
use crate::views::failure::Failure;
use crate::views::output::{print, tell};
use crate::views::plan_view::{self, Detail, count};
use crate::views::style::Style;

/// The person at the terminal.
pub(crate) struct Terminal;

impl Ask for Terminal {
    fn ask<'a>(&'a self, question: Question<'a>) -> BoxFuture<'a, Answer> {
        Box::pin(ready(asked(&question)))
    }
}

fn is_there() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

fn asked(question: &Question<'_>) -> Answer {
    if !is_there() {
        return Answer::Nobody;
    }
    let style = Style::stderr();
    loop {
        tell(&format!("{} {}  yes   details   no: ", style.cyan("?"), words(question)));
        let mut line = String::new();
        let read = std::io::stdin().lock().read_line(&mut line);
        match line.trim() {
            "y" | "yes" => return Answer::Yes,
            "n" | "no" => return Answer::No,
            _ if read.is_err() || line.is_empty() => return Answer::Silence,
            word if details(word, question.plan).is_err() => return Answer::Silence,
            _ => {}
        }
    }
}

/// Asks a plain question.
pub(crate) fn ask(given: &Given, question: &str) -> Result<(), Failure> {
    if !is_there() {
        return Err(Failure::usage(question.to_owned())
            .cause("there is no terminal to ask on; nothing was changed")
            .next(format!("{} -y", given.line())));
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
    let steps = plan.steps.iter().filter(|step| step.key.to_string().contains(search.trim()));
    let steps: Vec<_> = steps.collect();
    if steps.is_empty() {
        tell(&format!("  nothing in the plan is called `{}`\n", search.trim()));
        return Ok(());
    }
    print(&plan_view::steps(&steps, Detail::All, &Style::stdout()))
}

/// `Destroy 6 resources of shop/dev on kind-dev?`
fn words(question: &Question<'_>) -> String {
    let Question { aim, plan, cluster } = question;
    let n = plan.steps.iter().filter(|step| step.is_change()).count();
    let scope = &plan.scope;
    let on = plan_view::named(cluster).map(|name| format!(" on {name}")).unwrap_or_default();
    match aim {
        Aim::Destroy => format!("Destroy {} of {scope}{on}?", count(n, "resource")),
        Aim::Rollback(to) => {
            format!("Roll back {} of {scope}{on} to release {to}?", count(n, "resource"))
        }
        Aim::Apply => format!("Apply {} to {scope}{on}?", count(n, "change")),
    }
}
