//! `kusion status`: the health of everything a stack has made, right now, with everything below it.

use kusion::{Node, remote_failed};
use kusion_health::{Grade, worst};
use kusion_model::{ResourceKey, ResourceRecord};
use serde_json::{Value, json};

use crate::input::chosen::{ChosenStack, open};
use crate::input::cluster::tokio;
use crate::input::flags::{Arg, Given, flag};
use crate::input::planned::warn;
use crate::input::sight;
use crate::views::failure::{Exit, Failure};
use crate::views::output::{Format, format_of, print, print_data};
use crate::views::plan_view::{column, header, named, plain};
use crate::views::screen::{Screen, fitted, size};
use crate::views::style::Style;
use crate::views::tree::{folded, mark, row_of};

pub(crate) fn flags() -> Vec<Arg> {
    vec![
        flag("output", Some('o'), "FORMAT", "text or json"),
        flag("watch", None, "", "look again every two seconds until interrupted"),
        flag("no-tree", None, "", "only the stack's own resources"),
        flag("exit-code", None, "", "leave with 6 unless everything is healthy or suspended"),
    ]
}

/// One resource as it is.
struct Row {
    key: ResourceKey,
    json: Value,
    verdict: Grade,
    message: String,
    cause: Option<String>,
    next: Option<String>,
    below: Vec<Node>,
}

pub(crate) fn main(given: &Given) -> Result<(), Failure> {
    let format = format_of(given)?;
    let chosen = open(given)?;
    let runtime = tokio()?;
    if !given.has("watch") {
        let (good, text) = runtime.block_on(look(given, &chosen, format, true))?;
        match format {
            Format::Text => print(&text)?,
            Format::Json => print_data(&text)?,
        }
        return if given.has("exit-code") && !good { Err(Failure::told(Exit::Unhealthy)) } else { Ok(()) };
    }
    let mut screen = Screen::default();
    let mut is_first = true;
    loop {
        let (_, text) = runtime.block_on(look(given, &chosen, format, is_first))?;
        is_first = false;
        if format == Format::Text && Screen::is_possible() {
            screen.draw(&visible(&fitted(&text)));
        } else {
            print_data(&text)?;
        }
        std::thread::sleep(std::time::Duration::from_secs(2));
    }
}

/// As many lines as the terminal has; what scrolled away could not be drawn over.
fn visible(text: &str) -> Vec<String> {
    let room = size().1.saturating_sub(1);
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    if lines.len() > room {
        let more = lines.len() - room + 1;
        lines.truncate(room - 1);
        lines.push(format!("... {more} more lines"));
    }
    lines
}

/// Looks once. Only the first look asks what the clusters know of the state, and warns.
async fn look(
    given: &Given,
    chosen: &ChosenStack,
    format: Format,
    is_first: bool,
) -> Result<(bool, String), Failure> {
    let state = chosen.target.store.read().await?;
    let keys: Vec<ResourceKey> = state.records.keys().cloned().collect();
    let there = match is_first {
        true => sight::go_there(given, chosen, &state, &keys).await?,
        false => sight::reach(given, chosen, &state, &keys).await?.0,
    };
    let records: Vec<&ResourceRecord> = state.records.values().collect();
    let looks = there.sites.look(&records).await.map_err(|error| remote_failed(&error, &there.server))?;
    let unreadable = looks.unreadable();
    if is_first {
        unreadable.iter().for_each(|text| warn(&format!("not everything can be seen: {text}")));
    }
    let mut rows = Vec::new();
    for (key, record) in state.records.iter() {
        let Some((verdict, below)) = looks.at(record) else { continue };
        let json = verdict.to_json(&key.to_string());
        let message = verdict.message.clone();
        rows.push(Row {
            key: key.clone(),
            json,
            verdict: verdict.verdict,
            message,
            cause: verdict.cause,
            next: verdict.next,
            below,
        });
    }
    let good = rows.iter().all(|row| row.verdict.is_good());
    let all = worst(rows.iter().map(|row| row.verdict));
    let text = match format {
        Format::Json => {
            let resources: Vec<Value> = rows
                .iter()
                .map(|row| {
                    let mut value = row.json.clone();
                    value["dependents"] = json!(row.below);
                    value
                })
                .collect();
            let document = json!({
                "schema": "kusion.io/status/v1", "stack": state.scope, "cluster": named(&there.context),
                "release": state.latest(), "verdict": all.as_str(), "resources": resources,
                "unreadable": unreadable,
            });
            let text = match given.has("watch") {
                true => document.to_string(),
                false => serde_json::to_string_pretty(&document).unwrap_or_default(),
            };
            text + "\n"
        }
        Format::Text => {
            let style = Style::stdout();
            let mut out = header(&state, &there.context, &style) + "\n";
            draw(&rows, !given.has("no-tree"), &style, &mut out);
            let healthy = rows.iter().filter(|row| row.verdict.is_good()).count();
            out.push_str(&match rows.is_empty() {
                true => "This stack has made nothing.\n".to_owned(),
                false => format!("\n{healthy} of {} healthy.\n", rows.len()),
            });
            out
        }
    };
    Ok((good, text))
}

fn draw(rows: &[Row], tree: bool, style: &Style, out: &mut String) {
    let width = rows.iter().map(|row| plain(&row.key).chars().count()).max().unwrap_or(0).min(72);
    for row in rows {
        let (glyph, word) = mark(row.verdict.as_str(), style);
        let id = column(&row.key, width);
        out.push_str(format!("{glyph} {}  {word}  {}", style.cyan(&id), row.message).trim_end());
        out.push('\n');
        for (word, text) in [("cause", &row.cause), ("next", &row.next)] {
            if let Some(text) = text {
                out.push_str(&format!("    {word:<5}  {text}\n"));
            }
        }
        if tree {
            branches(&row.below, "  ", style, out);
        }
    }
}

fn branches(nodes: &[Node], indent: &str, style: &Style, out: &mut String) {
    let nodes = folded(nodes);
    for (at, node) in nodes.iter().enumerate() {
        let last = at + 1 == nodes.len();
        let branch = if last { style.glyph("└", "`") } else { style.glyph("├", "|") };
        let (glyph, _) = mark(node.verdict, style);
        out.push_str(&format!("{indent}{branch} {glyph} {}\n", style.dim(&row_of(node))));
        let deeper = format!("{indent}{} ", if last { " " } else { style.glyph("│", "|") });
        branches(&node.children, &deeper, style, out);
    }
}
