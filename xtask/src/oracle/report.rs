//! Runs the comparison and tells people.

use super::explain::{BROKEN, explain};
use super::sources::{self, Named};
use super::{DONE, Wish, aliasing, neutral, parameters, shrink};
use crate::ChoreResult;
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Instant;
use testkit::verdict::{Difference, difference};
use testkit::{Program, Runner, Verdict};

/// Prints the programs instead of running them.
pub(super) fn print_programs(wish: &Wish) -> ChoreResult {
    for named in sources::all(wish)? {
        println!("=== {}\n{}", named.name, text_of(&named.program));
    }
    Ok(DONE)
}

/// Holds the expectations of the spec files (or rewrites them) against the wheel.
pub(super) fn self_check(wish: &Wish, oracle: &mut dyn Runner) -> ChoreResult {
    let mut bad = 0;
    let mut count = 0;
    for file in testkit::spec::load(&sources::root().join("spec"))? {
        if !file.name.contains(&wish.filter) || sources::MEANT.contains(&file.name.as_str()) {
            continue;
        }
        if wish.update {
            let text = std::fs::read_to_string(&file.path).map_err(|e| e.to_string())?;
            let new = testkit::spec::rewrite(&text, oracle)?;
            if new != text {
                println!("rewritten: {}", file.path.display());
                std::fs::write(&file.path, new).map_err(|e| e.to_string())?;
            }
            continue;
        }
        for case in &file.cases {
            count += 1;
            let verdict = oracle.run(&case.program);
            if let Err(message) = testkit::spec::check(case, &verdict) {
                bad += 1;
                println!("== {}:{} {}\n{message}\n", file.path.display(), case.line, case.name);
            }
        }
    }
    println!("{count} cases, {bad} where the wheel says otherwise");
    Ok(if bad == 0 { DONE } else { ExitCode::FAILURE })
}

/// Runs generated programs with the wheel alone: what share evaluates, and why those that should do not.
pub(super) fn statistics(wish: &Wish, oracle: &mut dyn Runner) -> ChoreResult {
    let mut counts = [0u64; 4];
    let mut reasons: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for seed in wish.seed..wish.seed + wish.generated {
        let verdict = oracle.run(&testkit::generate::program(seed));
        let (slot, reason) = match &verdict {
            Verdict::Output(_) => (0, String::new()),
            Verdict::Fault(fault) if fault.code == "E3M38" => (2, fault.headline().to_string()),
            Verdict::Fault(fault) => (1, fault.headline().to_string()),
            Verdict::Broken(why) => (3, why.clone()),
        };
        counts[slot] += 1;
        if slot > 0 && testkit::generate::is_meant_to_evaluate(seed) {
            let short: String = reason.chars().filter(|c| !c.is_ascii_digit()).take(60).collect();
            reasons.entry(short).or_insert((0, seed)).0 += 1;
        }
    }
    println!("evaluate {}, compile {}, run time {}, broken {}", counts[0], counts[1], counts[2], counts[3]);
    let mut sorted: Vec<_> = reasons.into_iter().collect();
    sorted.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
    for (reason, (count, seed)) in sorted.into_iter().take(60) {
        println!("{count:>5} seed {seed:<8} {reason}");
    }
    Ok(DONE)
}

#[derive(Default)]
struct Tally {
    programs: u64,
    evaluated: u64,
    compile: u64,
    run_time: u64,
    explained: BTreeMap<&'static str, u64>,
    unexplained: u64,
    /// How often a difference of this look was seen.
    signatures: BTreeMap<String, u64>,
}

/// The look of a difference before it is shrunk: messages, or the first lines that differ, without what varies by chance.
fn signature(kind: &Difference, ours: &Verdict, theirs: &Verdict) -> String {
    let shape = |text: &str| -> String {
        let mut out = String::new();
        let mut quoted = false;
        for c in text.chars().take(80) {
            if c == '\'' {
                quoted = !quoted;
            }
            if !quoted && !c.is_ascii_digit() {
                out.push(c);
            }
        }
        out
    };
    let words = |verdict: &Verdict| match verdict {
        Verdict::Output(_) => String::new(),
        Verdict::Fault(fault) => shape(fault.headline()),
        Verdict::Broken(why) => shape(why),
    };
    if let (Verdict::Output(a), Verdict::Output(b)) = (ours, theirs) {
        let lines = a.yaml.lines().zip(b.yaml.lines()).find(|(x, y)| x != y);
        let (x, y) = lines.unwrap_or(("(longer)", ""));
        let value = |line: &str| shape(line.rsplit(": ").next().unwrap_or("").trim());
        return format!("{kind:?} {} / {}", value(x), value(y));
    }
    format!("{kind:?} {} / {}", words(ours), words(theirs))
}

/// Compares ours with the oracle.
pub(super) fn differential(wish: &Wish, oracle: &mut dyn Runner, ours: &mut dyn Runner) -> ChoreResult {
    std::fs::create_dir_all(&wish.out).map_err(|e| format!("{}: {e}", wish.out.display()))?;
    let start = Instant::now();
    let mut tally = Tally::default();
    for named in sources::all(wish)? {
        tally.programs += 1;
        let theirs = oracle.run(&named.program);
        match &theirs {
            Verdict::Output(_) => tally.evaluated += 1,
            Verdict::Fault(fault) if fault.code == "E3M38" => tally.run_time += 1,
            _ => tally.compile += 1,
        }
        let our = ours.run(&named.program);
        if wish.both {
            println!(
                "=== {}\n{}--- ours\n{our}\n--- oracle\n{theirs}\n",
                named.name,
                text_of(&named.program)
            );
        }
        let Some(kind) = difference(&our, &theirs) else { continue };
        let key = key_of(&named.program, &kind, &our, &theirs, oracle, ours);
        if let Some(key) = key {
            let seen = tally.explained.entry(key).or_default();
            *seen += 1;
            if *seen <= wish.each {
                println!("explained by {key}: {}", named.name);
            }
            continue;
        }
        tally.unexplained += 1;
        let seen = tally.signatures.entry(signature(&kind, &our, &theirs)).or_default();
        *seen += 1;
        if *seen <= wish.each {
            one_difference(wish, &named, kind, oracle, ours)?;
        }
        if tally.unexplained as usize >= wish.limit {
            println!("stopped after {} differences (--limit)", wish.limit);
            break;
        }
        if tally.programs % 1000 == 0 {
            eprintln!("{} programs, {} unexplained", tally.programs, tally.unexplained);
        }
    }
    print_tally(&tally, start.elapsed().as_secs_f64());
    let broken: u64 = BROKEN.iter().filter_map(|key| tally.explained.get(key)).sum();
    if broken > wish.broken {
        println!("the wheel broke {broken} times, {} are allowed (--broken)", wish.broken);
    }
    let agrees = tally.programs > 0 && tally.unexplained <= wish.allow && broken <= wish.broken;
    Ok(if agrees { DONE } else { ExitCode::FAILURE })
}

/// How many divergences may meet in one program.
const MAX_MEETING: usize = 4;

/// The divergence that explains a difference: from the verdicts alone, or by the experiments.
fn key_of(
    program: &Program,
    kind: &Difference,
    our: &Verdict,
    theirs: &Verdict,
    oracle: &mut dyn Runner,
    ours: &mut dyn Runner,
) -> Option<&'static str> {
    let mut program = program.clone();
    let (mut kind, mut our, mut theirs) = (kind.clone(), our.clone(), theirs.clone());
    let mut done = Vec::new();
    for _ in 0..MAX_MEETING {
        if let Some(key) = explain(&program, &our, &theirs) {
            return Some(key);
        }
        if kind == Difference::Bytes && aliasing::explains(&program, &our, oracle, ours) {
            return Some("aliasing");
        }
        if clashes(&program, &our, oracle, ours) {
            return Some("parameter-names-end");
        }
        let (key, neutral) = neutral::without(&program, &our, &done)?;
        done.push(key);
        program = neutral;
        (our, theirs) = (ours.run(&program), oracle.run(&program));
        match difference(&our, &theirs) {
            None => return Some(key),
            Some(next) => kind = next,
        }
    }
    None
}

/// Whether the wheel agrees once the parameters of lambdas have names of their own, which change nothing here.
fn clashes(program: &Program, our: &Verdict, oracle: &mut dyn Runner, ours: &mut dyn Runner) -> bool {
    let Some(renamed) = parameters::renamed(program) else { return false };
    difference(&ours.run(&renamed), our).is_none() && difference(our, &oracle.run(&renamed)).is_none()
}

fn print_tally(tally: &Tally, seconds: f64) {
    println!(
        "{} programs in {seconds:.1} s: {} evaluate, {} fail at compile time, {} at run time",
        tally.programs, tally.evaluated, tally.compile, tally.run_time
    );
    for (key, count) in &tally.explained {
        println!("  explained by {key}: {count}");
    }
    let mut looks: Vec<_> = tally.signatures.iter().collect();
    looks.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    for (look, count) in looks.into_iter().take(60) {
        println!("  {count:>5} {look}");
    }
    println!("{} unexplained differences", tally.unexplained);
}

fn one_difference(
    wish: &Wish,
    named: &Named,
    kind: Difference,
    oracle: &mut dyn Runner,
    ours: &mut dyn Runner,
) -> Result<(), String> {
    let small = if wish.no_shrink {
        named.program.clone()
    } else {
        shrink::shrink(&named.program, 1500, &mut |candidate| {
            let theirs = oracle.run(candidate);
            let our = ours.run(candidate);
            difference(&our, &theirs).as_ref() == Some(&kind)
                && explain(candidate, &our, &theirs).is_none()
                && neutral::without(candidate, &our, &[]).is_none()
        })
    };
    let (our, theirs) = (ours.run(&small), oracle.run(&small));
    let text =
        format!("=== {} {kind:?}\n{}\n--- ours\n{our}\n--- oracle\n{theirs}\n", named.name, text_of(&small));
    println!("{text}");
    let file: String = named.name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let path = wish.out.join(format!("{file}.txt"));
    std::fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))
}

/// All files of a program, each after a line with its name if there are several.
fn text_of(program: &Program) -> String {
    let mut text = String::new();
    let words = program.flags.words();
    if !words.is_empty() {
        text.push_str(&format!("args: {}\n", words.join(" ")));
    }
    for file in &program.files {
        if program.files.len() > 1 {
            text.push_str(&format!("--- {}{}\n", file.path, if file.entry { "" } else { " (import)" }));
        }
        text.push_str(&file.text);
        if !file.text.ends_with('\n') {
            text.push('\n');
        }
    }
    text
}
