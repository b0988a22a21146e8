//! Bars as SVG: panels of named figures, on a logarithmic axis because they differ by orders.

/// One group of bars, in order.
pub(super) struct Panel {
    pub(super) title: String,
    pub(super) bars: Vec<(String, f64)>,
}

const WIDTH: f64 = 720.0;
const LEFT: f64 = 150.0;
const RIGHT: f64 = 80.0;
const BAR: f64 = 18.0;
const STEP: f64 = 26.0;

/// Draws panels below each other. The first bar of each is ours. Colours are readable on light and dark pages.
pub(super) fn svg(caption: &str, panels: &[Panel]) -> String {
    let values = || panels.iter().flat_map(|panel| panel.bars.iter().map(|bar| bar.1)).filter(|v| *v > 0.0);
    let low = values().fold(f64::INFINITY, f64::min).log10().floor();
    let high = values().fold(f64::NEG_INFINITY, f64::max).log10().ceil().max(low + 1.0);
    let place = |value: f64| LEFT + (value.log10() - low) / (high - low) * (WIDTH - LEFT - RIGHT);
    let mut body = String::new();
    let mut y = 34.0;
    for panel in panels {
        body.push_str(&text(0.0, y, "start", "font-weight=\"bold\"", &panel.title));
        let top = y + 10.0;
        let bottom = top + STEP * panel.bars.len() as f64;
        for power in low as i32..=high as i32 {
            let x = place(10f64.powi(power));
            body.push_str(&format!(
                "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{top:.1}\" y2=\"{bottom:.1}\" stroke=\"#888\" stroke-opacity=\"0.35\"/>\n"
            ));
            body.push_str(&text(
                x,
                bottom + 14.0,
                "middle",
                "font-size=\"11\"",
                &format!("{} s", 10f64.powi(power)),
            ));
        }
        for (at, (name, value)) in panel.bars.iter().enumerate() {
            let (row, end) = (top + 4.0 + STEP * at as f64, place(*value));
            let colour = if at == 0 { "#2f7ed8" } else { "#9aa5b1" };
            body.push_str(&text(LEFT - 8.0, row + 13.0, "end", "", name));
            body.push_str(&format!(
                "<rect x=\"{LEFT}\" y=\"{row:.1}\" width=\"{:.1}\" height=\"{BAR}\" fill=\"{colour}\"/>\n",
                (end - LEFT).max(1.0)
            ));
            body.push_str(&text(end.max(LEFT) + 6.0, row + 13.0, "start", "", &format!("{value:.3} s")));
        }
        y = bottom + 46.0;
    }
    body.push_str(&text(0.0, y - 10.0, "start", "font-size=\"11\"", caption));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {y}\" font-family=\"sans-serif\" font-size=\"13\" \
         role=\"img\" aria-label=\"{}\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{body}</svg>\n",
        escaped(caption)
    )
}

fn text(x: f64, y: f64, anchor: &str, more: &str, words: &str) -> String {
    format!(
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"#222\" {more}>{}</text>\n",
        escaped(words)
    )
}

fn escaped(words: &str) -> String {
    words.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longer_times_are_longer_bars_and_texts_are_escaped() {
        let panel = Panel { title: "a < b".into(), bars: vec![("ours".into(), 0.01), ("other".into(), 1.0)] };
        let svg = svg("c & d", &[panel]);
        let width = |at: usize| {
            let bar = svg.match_indices("<rect x=").nth(at).map(|(start, _)| &svg[start..]).unwrap();
            let text = bar.split("width=\"").nth(1).unwrap().split('"').next().unwrap();
            text.parse::<f64>().unwrap()
        };
        assert!(width(1) > width(0) && svg.contains("a &lt; b") && svg.contains("c &amp; d"));
    }
}
