//! The plots of the book, drawn from figures that stand in docs/evidence.md with their commands.
//! `UPDATE=1 cargo test -p kusion-book plots` draws them anew.

use std::fmt::Write as _;
use std::path::Path;

/// What was done, and how long it took each program. All figures of a group stand in one row of docs/evidence.md.
struct Group {
    title: &'static str,
    bars: &'static [(&'static str, &'static str)],
}

const ENGINE: &[Group] = &[
    Group { title: "preview, 2,000 unchanged", bars: &[("Kusion", "0.20"), ("kubectl diff", "18.5")] },
    Group {
        title: "apply, 1,000 new",
        bars: &[("Kusion", "3.57"), ("kubectl apply", "9.62"), ("helm install", "10.2")],
    },
    Group {
        title: "apply, 1,000 unchanged",
        bars: &[("Kusion", "0.16"), ("kubectl apply", "5.23"), ("helm upgrade", "15.0")],
    },
];

const LANGUAGE: &[Group] = &[
    Group { title: "10,000-key dict comprehension", bars: &[("kcl run", "0.022"), ("reference", "0.245")] },
    Group { title: "1,000 Deployments by a lambda", bars: &[("kcl run", "0.048"), ("reference", "0.931")] },
    Group { title: "100,000 lines, 25,000 dicts", bars: &[("kcl run", "0.132"), ("reference", "2.304")] },
    Group {
        title: "import of 600 schemas, 60,000 lines",
        bars: &[("kcl run", "0.040"), ("reference", "0.876")],
    },
];

const LABEL: f64 = 130.0;
const ROOM: f64 = 460.0;

/// Bars of one scale: the longest fills the room.
fn plot(title: &str, groups: &[Group]) -> String {
    let value = |text: &str| text.parse::<f64>().unwrap();
    let all = groups.iter().flat_map(|group| group.bars);
    let longest = all.clone().map(|(_, text)| value(text)).fold(0.0, f64::max);
    let height = 40 + groups.len() * 40 + all.count() * 24;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"680\" height=\"{height}\" viewBox=\"0 0 680 {height}\" role=\"img\" \
         font-family=\"system-ui, sans-serif\" font-size=\"14\">\n<title>{title}</title>\n<rect width=\"680\" height=\"{height}\" \
         rx=\"10\" fill=\"#f6f7f9\"/>\n<text x=\"16\" y=\"26\" font-weight=\"600\" fill=\"#1c2128\">{title}</text>\n"
    );
    let mut y = 40;
    for group in groups {
        y += 28;
        let _ = writeln!(out, "<text x=\"16\" y=\"{}\" fill=\"#5a6472\">{}</text>", y - 4, group.title);
        for (at, (name, text)) in group.bars.iter().enumerate() {
            let width = (value(text) / longest * ROOM).max(1.5);
            let fill = if at == 0 { "#1f5fbf" } else { "#b4bcc8" };
            let _ = writeln!(
                out,
                "<text x=\"24\" y=\"{}\" fill=\"#1c2128\">{name}</text><rect x=\"{LABEL}\" y=\"{}\" width=\"{width:.1}\" \
                 height=\"16\" rx=\"3\" fill=\"{fill}\"/><text x=\"{:.1}\" y=\"{}\" fill=\"#1c2128\">{text} s</text>",
                y + 17,
                y + 4,
                LABEL + width + 8.0,
                y + 17
            );
            y += 24;
        }
        y += 12;
    }
    out.push_str("</svg>\n");
    out
}

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn drawn(name: &str, title: &str, groups: &[Group]) {
    let evidence = std::fs::read_to_string(root().join("docs/evidence.md")).unwrap();
    for group in groups {
        let row = evidence.lines().find(|line| line.starts_with(&format!("| {} |", group.title)));
        let row = row.unwrap_or_else(|| panic!("docs/evidence.md has no row `{}`", group.title));
        for (program, figure) in group.bars {
            assert!(row.contains(figure), "docs/evidence.md does not say {figure} for {program}: {row}");
        }
    }
    let path = root().join("docs/book/src/pictures").join(name);
    let picture = plot(title, groups);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, picture).unwrap();
        return;
    }
    assert!(
        std::fs::read_to_string(&path).unwrap_or_default() == picture,
        "{name} is not what the figures say: UPDATE=1 cargo test -p kusion-book plots"
    );
}

#[test]
fn plots_show_measured_figures() {
    drawn("engine.svg", "Wall time on one API server, in seconds (less is better)", ENGINE);
    drawn("language.svg", "CPU time of evaluating KCL, in seconds (less is better)", LANGUAGE);
}
