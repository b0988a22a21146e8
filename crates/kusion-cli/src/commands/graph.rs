//! `kusion graph`: what comes before what in a stack, and why; as text, DOT, SVG or JSON.

use kusion_plan::{Prepared, prepare};
use serde_json::{Value, json};

use crate::input::chosen::open;
use crate::input::flags::{Arg, Given, flag};
use crate::input::planned::wanted;
use crate::views::board::short;
use crate::views::failure::Failure;
use crate::views::output::{print, print_data, print_json};
use crate::views::plan_view::count;
use crate::views::style::Style;

pub(crate) fn flags() -> Vec<Arg> {
    vec![flag("output", Some('o'), "FORMAT", "text, dot, svg or json")]
}

pub(crate) fn main(given: &Given) -> Result<(), Failure> {
    let chosen = open(given)?;
    let spec = wanted(given, &chosen)?;
    let graph = prepare(&spec, &kusion::platforms())
        .map_err(|problems| kusion::spec_failed(&problems, &chosen.target.files()))?;
    match given.last("output").as_deref() {
        None | Some("text") => print(&text(&graph, &Style::stdout())),
        Some("dot") => print_data(&dot(&graph)),
        Some("svg") => print_data(&svg(&graph)),
        Some("json") => print_json(&as_json(&graph)),
        Some(other) => Err(Failure::usage(format!("there is no output format `{other}`"))
            .next("use -o text, dot, svg or json")),
    }
}

fn text(graph: &Prepared<'_>, style: &Style) -> String {
    let mut out = String::new();
    for &at in &graph.order {
        out.push_str(&format!("{}\n", style.cyan(&graph.keys[at].to_string())));
        for edge in graph.edges.iter().filter(|edge| edge.after == at) {
            let arrow = style.glyph("└ after", "` after");
            let line = format!("{} ({})", graph.keys[edge.before], edge.via);
            out.push_str(&format!("  {arrow} {}\n", style.dim(&line)));
        }
    }
    out.push_str(&format!(
        "\n{}, {}.\n",
        count(graph.keys.len(), "resource"),
        count(graph.edges.len(), "edge")
    ));
    out
}

fn dot(graph: &Prepared<'_>) -> String {
    let quoted = |text: &str| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
    let mut out = String::from("digraph stack {\n  rankdir=LR;\n  node [shape=box];\n");
    for key in &graph.keys {
        out.push_str(&format!("  {};\n", quoted(&key.to_string())));
    }
    for edge in &graph.edges {
        let (before, after) = (graph.keys[edge.before].to_string(), graph.keys[edge.after].to_string());
        let label = quoted(&edge.via.to_string());
        out.push_str(&format!("  {} -> {} [label={label}];\n", quoted(&before), quoted(&after)));
    }
    out.push_str("}\n");
    out
}

fn as_json(graph: &Prepared<'_>) -> Value {
    let order: Vec<String> = graph.order.iter().map(|&at| graph.keys[at].to_string()).collect();
    let edges: Vec<Value> = graph
        .edges
        .iter()
        .map(|edge| {
            json!({
                "before": graph.keys[edge.before].to_string(), "after": graph.keys[edge.after].to_string(),
                "wait": edge.wait, "why": edge.via.to_string(),
            })
        })
        .collect();
    json!({"schema": "kusion.io/graph/v1", "resources": order, "edges": edges})
}

const BOX: (usize, usize) = (250, 44);
const GAP: (usize, usize) = (70, 18);

/// Columns by depth, boxes in order, straight lines between them.
fn svg(graph: &Prepared<'_>) -> String {
    let mut depth = vec![0_usize; graph.keys.len()];
    for &at in &graph.order {
        let above = graph.edges.iter().filter(|edge| edge.after == at).map(|edge| depth[edge.before] + 1);
        depth[at] = above.max().unwrap_or(0);
    }
    let mut used = vec![0_usize; depth.iter().max().map_or(0, |deepest| deepest + 1)];
    let mut corners = vec![(0, 0); graph.keys.len()];
    for &at in &graph.order {
        let row = &mut used[depth[at]];
        corners[at] = (10 + depth[at] * (BOX.0 + GAP.0), 10 + *row * (BOX.1 + GAP.1));
        *row += 1;
    }
    let width = 20 + used.len() * (BOX.0 + GAP.0);
    let height = 20 + used.iter().max().unwrap_or(&0) * (BOX.1 + GAP.1);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" font-family=\"sans-serif\" font-size=\"12\">\n"
    );
    for edge in &graph.edges {
        let ((x1, y1), (x2, y2)) = (corners[edge.before], corners[edge.after]);
        let (x1, y1, y2) = (x1 + BOX.0, y1 + BOX.1 / 2, y2 + BOX.1 / 2);
        let why = escaped(&edge.via.to_string());
        out.push_str(&format!(
            "  <line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" stroke=\"#888\"><title>{why}</title></line>\n"
        ));
    }
    for (key, (x, y)) in graph.keys.iter().zip(&corners) {
        let (kind, name) = short(key);
        out.push_str(&format!(
            "  <g><rect x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{}\" rx=\"4\" fill=\"#fff\" stroke=\"#333\"/>\
             <text x=\"{}\" y=\"{}\" font-weight=\"bold\">{}</text><text x=\"{}\" y=\"{}\">{}</text></g>\n",
            BOX.0, BOX.1, x + 8, y + 18, escaped(&kind), x + 8, y + 35, escaped(&name)
        ));
    }
    out.push_str("</svg>\n");
    out
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
