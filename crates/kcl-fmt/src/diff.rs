//! Two texts as a unified diff.

use std::fmt::Write as _;

/// Lines of context around a change.
const CONTEXT: usize = 3;
/// Beyond so many differences the middle of the texts is shown as one change: finding the shortest would take too long.
const MAX_EDITS: usize = 1_000;

/// A run of lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    Same,
    Old,
    New,
}

/// Returns the unified diff of two texts, empty if they are equal. The names stand in its head.
pub fn unified(old_name: &str, new_name: &str, old: &str, new: &str) -> String {
    if old == new {
        return String::new();
    }
    let (a, b): (Vec<&str>, Vec<&str>) = (lines(old), lines(new));
    let steps = script(&a, &b);
    let mut out = format!("--- {old_name}\n+++ {new_name}\n");
    for hunk in hunks(&steps) {
        write_hunk(&mut out, &a, &b, &steps, hunk);
    }
    out
}

/// Lines with their line ends.
fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// The steps from one list of lines to another: what both begin and end with is found first.
fn script(a: &[&str], b: &[&str]) -> Vec<Step> {
    let head = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[head..], &b[head..]);
    let tail = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[..a.len() - tail], &b[..b.len() - tail]);
    let mut steps = vec![Step::Same; head];
    steps.extend(middle(a, b));
    steps.extend(vec![Step::Same; tail]);
    steps
}

/// The shortest script (Myers): for each number of edits, how far each diagonal can be followed.
fn middle(a: &[&str], b: &[&str]) -> Vec<Step> {
    let (n, m) = (a.len() as isize, b.len() as isize);
    let limit = (a.len() + b.len()).min(MAX_EDITS) as isize;
    let at = |k: isize| (k + limit + 1) as usize;
    let mut reach = vec![0isize; 2 * limit as usize + 3];
    let mut trace = Vec::new();
    for edits in 0..=limit {
        trace.push(reach.clone());
        for k in (-edits..=edits).step_by(2) {
            let down = k == -edits || (k != edits && reach[at(k - 1)] < reach[at(k + 1)]);
            let mut x = if down { reach[at(k + 1)] } else { reach[at(k - 1)] + 1 };
            while x < n && x - k < m && a[x as usize] == b[(x - k) as usize] {
                x += 1;
            }
            reach[at(k)] = x;
            if x >= n && x - k >= m {
                return walk_back(&trace, n, m, at);
            }
        }
    }
    let mut steps = vec![Step::Old; a.len()];
    steps.extend(vec![Step::New; b.len()]);
    steps
}

fn walk_back(trace: &[Vec<isize>], n: isize, m: isize, at: impl Fn(isize) -> usize) -> Vec<Step> {
    let (mut x, mut y) = (n, m);
    let mut steps = Vec::new();
    for (edits, reach) in trace.iter().enumerate().rev() {
        let (edits, k) = (edits as isize, x - y);
        let down = k == -edits || (k != edits && reach[at(k - 1)] < reach[at(k + 1)]);
        let before = if down { k + 1 } else { k - 1 };
        let from_x = if edits == 0 { 0 } else { reach[at(before)] };
        let from_y = if edits == 0 { 0 } else { from_x - before };
        while x > from_x && y > from_y {
            steps.push(Step::Same);
            (x, y) = (x - 1, y - 1);
        }
        if edits > 0 {
            steps.push(if down { Step::New } else { Step::Old });
            (x, y) = (from_x, from_y);
        }
    }
    steps.reverse();
    steps
}

/// Ranges of steps with changes and their context.
fn hunks(steps: &[Step]) -> Vec<(usize, usize)> {
    let mut out: Vec<(usize, usize)> = Vec::new();
    for (i, step) in steps.iter().enumerate() {
        if *step == Step::Same {
            continue;
        }
        let (from, to) = (i.saturating_sub(CONTEXT), (i + 1 + CONTEXT).min(steps.len()));
        match out.last_mut() {
            Some(last) if from <= last.1 => last.1 = to,
            _ => out.push((from, to)),
        }
    }
    out
}

fn write_hunk(out: &mut String, a: &[&str], b: &[&str], steps: &[Step], (from, to): (usize, usize)) {
    let count = |steps: &[Step], other: Step| steps.iter().filter(|s| **s != other).count();
    let (mut x, mut y) = (count(&steps[..from], Step::New), count(&steps[..from], Step::Old));
    let hunk = &steps[from..to];
    let (old, new) = (count(hunk, Step::New), count(hunk, Step::Old));
    // A range of no lines names the line before it.
    let start = |at: usize, len: usize| if len == 0 { at } else { at + 1 };
    let _ = writeln!(out, "@@ -{},{old} +{},{new} @@", start(x, old), start(y, new));
    for step in hunk {
        let (sign, line) = match step {
            Step::New => ('+', b[y]),
            Step::Old => ('-', a[x]),
            Step::Same => (' ', a[x]),
        };
        x += usize::from(*step != Step::New);
        y += usize::from(*step != Step::Old);
        out.push(sign);
        out.push_str(line);
        if !line.ends_with('\n') {
            out.push_str("\n\\ No newline at end of file\n");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::unified;

    #[test]
    fn changes_come_with_context() {
        assert_eq!(unified("a", "b", "x\n", "x\n"), "");
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let new = "1\n2\n3\n4\nfive\n6\n7\n8\n9\nten";
        assert_eq!(
            unified("a", "b", old, new),
            "--- a\n+++ b\n@@ -2,8 +2,9 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n 9\n+ten\n\\ No newline at end of file\n"
        );
        assert_eq!(unified("a", "b", "", "x\n"), "--- a\n+++ b\n@@ -0,0 +1,1 @@\n+x\n");
    }

    #[test]
    fn every_diff_leads_from_one_text_to_the_other() {
        let words = ["a\n", "b\n", "c\n"];
        let mut state = 7u64;
        let mut next = |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % n
        };
        for _ in 0..500 {
            let mut text = || (0..next(12)).map(|_| words[next(3) as usize]).collect::<String>();
            let (old, new) = (text(), text());
            let diff = unified("a", "b", &old, &new);
            let body = diff.lines().skip(2).filter(|line| !line.starts_with("@@"));
            // Short texts are all context, so a diff holds both.
            if old != new {
                let side = |sign: char| -> String {
                    let keep = |line: &&str| line.starts_with(' ') || line.starts_with(sign);
                    body.clone().filter(keep).map(|line| format!("{}\n", &line[1..])).collect()
                };
                let inside = |whole: &str, part: &str| whole.contains(part);
                assert!(inside(&old, &side('-')) && inside(&new, &side('+')), "{diff}");
            }
        }
    }
}
