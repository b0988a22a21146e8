//! `UPDATE=1`: the expectations of a command that came out otherwise are written anew; read the diff.

use std::collections::BTreeMap;

/// The expectations of the commands to rewrite, by the line of the command (from 1).
pub(crate) type Blocks = BTreeMap<usize, Vec<String>>;

pub(crate) fn asked() -> bool {
    std::env::var_os("UPDATE").is_some_and(|value| value == "1")
}

/// What a command printed, as expectations: names and folders of the run are taken out, times and hashes become `*`.
pub(crate) fn block(code: i32, text: &str, absent: &[String], names: &[(String, &str)]) -> Vec<String> {
    let mut lines = Vec::new();
    if code != 0 {
        lines.push(format!("= {code}"));
    }
    for line in text.lines().map(str::trim_end).filter(|line| !line.trim().is_empty()) {
        let line = names.iter().fold(line.to_owned(), |line, (from, to)| line.replace(from.as_str(), to));
        lines.push(format!("  {}", steady(line.trim_start())));
    }
    lines.extend(absent.iter().map(|text| format!("  ! {text}")));
    lines
}

/// Words that differ from run to run become `*`: numbers before a unit of time, hashes, addresses with a port.
fn steady(line: &str) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    let mut out: Vec<String> = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let next = words.get(at + 1).map_or("", |next| next.trim_end_matches([',', ')', ':', ';']));
        let bare = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        let number = !bare.is_empty() && bare.chars().all(|c| c.is_ascii_digit() || c == '.');
        let time = number && matches!(next, "s" | "ms" | "min" | "h" | "days");
        let hash = bare.len() >= 6
            && bare.chars().all(|c| c.is_ascii_hexdigit())
            && bare.chars().any(|c| c.is_ascii_digit());
        let address = word.contains("127.0.0.1:");
        out.push(if time || hash || address { "*".to_owned() } else { (*word).to_owned() });
    }
    out.join(" ")
}

/// A scenario with some blocks of expectations replaced.
pub(crate) fn rewrite(text: &str, blocks: &Blocks) -> String {
    let mut out = String::new();
    let mut skipping = false;
    let mut script = true;
    for (at, line) in text.lines().enumerate() {
        script &= !(line.starts_with("-- ") && line.ends_with(" --"));
        let expectation = script && (line.starts_with("  ") || line.starts_with("= "));
        if skipping && expectation {
            continue;
        }
        skipping = false;
        out.push_str(line);
        out.push('\n');
        if let Some(block) = blocks.get(&(at + 1)) {
            block.iter().for_each(|line| {
                out.push_str(line);
                out.push('\n');
            });
            skipping = true;
        }
    }
    out
}

/// Checks itself: the runner has no test harness around it.
pub(crate) fn check() -> Result<(), String> {
    let text = "# x\n$ kusion a\n  old\n= 1\n$ kusion b\n  stays\n-- f --\n  text\n";
    let names = [("s12x1".to_owned(), "@P@")];
    let printed = "Plan 9f31c2: 1 create, took 3.2 s\n\nStack s12x1/dev\n";
    let blocks = Blocks::from([(2, block(4, printed, &["secret".to_owned()], &names))]);
    let found = rewrite(text, &blocks);
    let wanted = "# x\n$ kusion a\n= 4\n  Plan * 1 create, took * s\n  Stack @P@/dev\n  ! secret\n$ kusion b\n  stays\n-- f --\n  text\n";
    if found == wanted { Ok(()) } else { Err(format!("wanted\n{wanted}\nfound\n{found}")) }
}
