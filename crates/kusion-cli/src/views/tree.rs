//! Objects below a resource, one line each, and the mark of a verdict.

use kusion::Node;

use crate::views::style::Style;

/// The glyph and the padded, coloured word of a verdict.
pub(crate) fn mark(verdict: &str, style: &Style) -> (String, String) {
    let word = format!("{verdict:<11}");
    match verdict {
        "healthy" => (style.green(style.glyph("✔", "+")), style.green(&word)),
        "failed" => (style.red(style.glyph("✘", "x")), style.red(&word)),
        "progressing" | "terminating" => (style.yellow(style.glyph("◐", "~")), style.yellow(&word)),
        "suspended" => (style.dim(style.glyph("·", ".")), style.dim(&word)),
        _ => ("?".to_owned(), word),
    }
}

/// One line about an object below a resource.
pub(crate) fn row_of(node: &Node) -> String {
    let old = if node.old { " (old)" } else { "" };
    let text = format!("{} {}{old}  {}", node.kind, node.name, node.message.replace('\n', " "));
    text.trim_end().to_owned()
}

/// Of many pods that are well only their number is worth a line.
pub(crate) fn folded(nodes: &[Node]) -> Vec<Node> {
    const FEW: usize = 4;
    let well = |node: &Node| node.kind == "Pod" && node.verdict == "healthy";
    let count = nodes.iter().filter(|node| well(node)).count();
    if count <= FEW {
        return nodes.to_vec();
    }
    let mut kept: Vec<Node> = nodes.iter().filter(|node| !well(node)).cloned().collect();
    let (kind, name) = (count.to_string(), "pods ready".to_owned());
    kept.push(Node {
        kind,
        name,
        verdict: "healthy",
        message: String::new(),
        old: false,
        children: Vec::new(),
    });
    kept
}
