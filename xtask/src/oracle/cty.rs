//! `cargo xtask oracle cty N [SEED]`: random values through go-cty and through tf-value; what is written must be the same bytes.
//!
//! The values come as a careless writer would write them, so both sides read, put in order and write again: MessagePack,
//! JSON, and MessagePack of what comes back from JSON.

use std::io::{BufRead, BufReader, BufWriter, Write};
use std::process::{Command, ExitCode, Stdio};

use testkit::terraform::{Sample, sample};
use tf_value::{Type, ValueError, json, msgpack};

use crate::ChoreResult;

/// So many values are on their way at once: fewer than a pipe holds would make both sides wait.
const BATCH: u64 = 100;

pub(super) fn main(words: &[String]) -> ChoreResult {
    let usage = "usage: cargo xtask oracle cty N [SEED]";
    let number = |word: &String| word.parse::<u64>().map_err(|_| usage.to_owned());
    let (n, first) = match words {
        [n] => (number(n)?, 0),
        [n, seed] => (number(n)?, number(seed)?),
        _ => return Err(usage.into()),
    };
    let program = testenv::build_program("cty").map_err(|error| error.to_string())?;
    let mut child = Command::new(&program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("starting {}: {error}", program.display()))?;
    let (Some(to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
        return Err("the pipes of the child are not there".into());
    };
    let compared = compare(first, n, BufWriter::new(to), BufReader::new(from));
    let ended = child.wait().map_err(|error| error.to_string())?;
    let differences = compared?;
    println!("cty: {n} values, {differences} differences");
    Ok(if differences == 0 && ended.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Sends values, reads the answers, counts differences and shows the first few.
fn compare(first: u64, n: u64, mut to: impl Write, mut from: impl BufRead) -> Result<u64, String> {
    let mut differences = 0;
    for begin in (first..first + n).step_by(BATCH as usize) {
        let batch: Vec<(u64, Sample)> =
            (begin..(begin + BATCH).min(first + n)).map(|seed| (seed, sample(seed))).collect();
        for (_, sample) in &batch {
            writeln!(to, "{}\t{}", sample.ty, hex(&sample.bytes)).map_err(|error| error.to_string())?;
        }
        // An empty line asks for the answers.
        writeln!(to).and_then(|()| to.flush()).map_err(|error| error.to_string())?;
        for (seed, sample) in batch {
            let mut theirs = String::new();
            from.read_line(&mut theirs).map_err(|error| error.to_string())?;
            let theirs = theirs.trim_end_matches('\n');
            let ours = ours(&sample).unwrap_or_else(|error| format!("!{error}"));
            // Both refuse, each in its own words.
            let refused = ours.starts_with('!') && theirs.starts_with('!') && theirs != "!panic";
            if ours != theirs && !refused {
                differences += 1;
                if differences <= 5 {
                    println!(
                        "seed {seed}: {} {}\n  ours {ours}\n  cty  {theirs}",
                        sample.ty,
                        hex(&sample.bytes)
                    );
                }
            }
        }
    }
    Ok(differences)
}

fn ours(sample: &Sample) -> Result<String, ValueError> {
    let ty: Type = sample.ty.parse()?;
    let value = msgpack::decode(&sample.bytes, &ty)?;
    let written = hex(&msgpack::encode(&value, &ty)?);
    // Unknown and infinite values have no JSON form.
    let Ok(text) = json::encode(&value, &ty) else { return Ok(format!("{written}\t")) };
    let again = json::decode(text.as_bytes(), &ty)?;
    Ok(format!("{written}\t{text}\t{}", hex(&msgpack::encode(&again, &ty)?)))
}

fn hex(bytes: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(bytes)
}
