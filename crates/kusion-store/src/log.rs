//! From what is written to the state: hashes, chain, head, then the fold. The first thing that does not fit is the damage.
//!
//! Reading costs one pass over the newest attributes of each resource: a release writes down what it is going to do and what
//! came of it, and where the second is complete the first is not read again.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;

use kusion_model::Scope;
use serde_json::Value;

use crate::backend::{Kept, Records, Written};
use crate::chain::{self, Record};
use crate::damage::{Damage, Fault};
use crate::entry::{Entry, FORMAT, Outcome, SEALED};
use crate::fold::{Link, Read, Source, Unsettled};
use crate::line::{Line, StepKey, Tag};
use crate::ring::{Keys, Preamble};
use crate::{State, StoreError, upgrade};

/// What is needed to read a log.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'a> {
    pub(crate) scope: &'a Scope,
    pub(crate) place: &'a Path,
    /// Those of a sealed log.
    pub(crate) keys: Option<&'a Keys>,
}

impl Reader<'_> {
    fn damaged(&self, damage: Damage) -> StoreError {
        StoreError::Damaged { place: self.place.to_owned(), damage }
    }
}

/// The records of a log in the current format.
pub(crate) struct Text<'a> {
    records: Vec<Result<Cow<'a, [u8]>, Fault>>,
    /// The last record has no end.
    unfinished: bool,
    /// The format it stands in on the medium.
    pub(crate) format: u32,
    /// A torn record of an older format was left out.
    torn: bool,
}

/// A log whose hashes and chain are whole, up to a last record that may be bad.
struct Checked<'a> {
    lineage: String,
    records: Vec<Record<'a>>,
    lines: Vec<Line<StepKey>>,
    links: Vec<Link>,
    bad: Option<(usize, Fault)>,
}

/// Reads the state of a stack; `None` if it was never written.
pub(crate) fn open(written: &Written, by: &Reader<'_>) -> Result<Option<State>, StoreError> {
    let damaged = |damage| by.damaged(damage);
    let Some(log) = present(written).map_err(damaged)? else { return Ok(None) };
    downgraded(written, by).map_err(damaged)?;
    let text = text(log, by)?;
    let checked = check(&text, by.scope).map_err(damaged)?;
    let torn = judge(&checked, &written.head, text.format).map_err(damaged)? || text.torn;
    let mut state = State::new(checked.lineage.clone(), by.scope.clone());
    state.torn_tail = torn;
    let (links, n_good) = (checked.links.clone(), checked.records.len());
    let n_releases = fold(checked, &mut state).map_err(damaged)?;
    // A torn record is cut off; what is no record at the end of a log is not.
    let end = if n_good == log.bounds.len() { Some(log.end) } else { log.ends.get(n_good - 1).copied() };
    let end = end.unwrap_or_default();
    // A crash came between sealing the log and telling its head.
    let untold = matches!(&written.head, Kept::Head(head) if head.seal.is_none());
    let wrong = torn || untold || log.scattered || text.format < SEALED;
    let headless = written.head == Kept::Absent;
    let unsettled = match (wrong, headless) {
        (false, false) => Unsettled::No,
        (false, true) if log.bounds.len() == 1 => Unsettled::New,
        _ => Unsettled::Yes,
    };
    let keys = by.keys.cloned();
    state.read = Source(Some(Read { end, n_releases, links, unsettled, keys }));
    Ok(Some(state))
}

/// The same for a log whose head is gone: for a repair.
pub(crate) fn open_without_head(written: &Written, by: &Reader<'_>) -> Result<Option<State>, StoreError> {
    let Some(log) = &written.log else { return Ok(None) };
    let damaged = |damage| by.damaged(damage);
    let text = text(log, by)?;
    let checked = check(&text, by.scope).map_err(damaged)?;
    let mut state = State::new(checked.lineage.clone(), by.scope.clone());
    let links = checked.links.clone();
    let n_releases = fold(checked, &mut state).map_err(damaged)?;
    let keys = by.keys.cloned();
    state.read = Source(Some(Read { end: log.end, n_releases, links, unsettled: Unsettled::Yes, keys }));
    Ok(Some(state))
}

/// Returns the format in which a log stands on the medium.
pub(crate) fn format(log: &Records, by: &Reader<'_>) -> Result<u32, StoreError> {
    Ok(text(log, by)?.format)
}

/// Returns the records of a log that was found whole, and every entry in full.
pub(crate) fn entries(log: &Records, by: &Reader<'_>) -> Result<(Vec<String>, Vec<Entry>), StoreError> {
    let text = text(log, by)?;
    let (good, _) = good(&text);
    let mut found = (Vec::with_capacity(good.len()), Vec::with_capacity(good.len()));
    for (at, record) in good.into_iter().enumerate() {
        let damage = Damage::Garbled { line: at + 1, what: Fault::Unknown };
        let entry = full(record.json).ok_or_else(|| by.damaged(damage))?;
        found.0.push(format!("{} {} {}", record.hash, record.prev, record.json));
        found.1.push(entry);
    }
    Ok(found)
}

/// Reads every entry whose own hash fits, whatever stands around it and in whatever format: for a repair.
pub(crate) fn salvage(log: &Records, by: &Reader<'_>, lineages: &[String]) -> Vec<Entry> {
    let read = |bytes: &[u8]| match chain::read(bytes) {
        Ok(record) => full(record.json),
        Err(_) => {
            let opens = |lineage: &String| by.keys?.unseal_record(by.scope, lineage, bytes).ok();
            match lineages.iter().find_map(opens) {
                Some(plain) => full(chain::read(&plain).ok()?.json),
                None => full(&upgrade::salvage(bytes)?),
            }
        }
    };
    log.iter().filter_map(read).collect()
}

/// Refuses a log in clear whose head knows that it was sealed.
fn downgraded(written: &Written, by: &Reader<'_>) -> Result<(), Damage> {
    let Kept::Head(head) = &written.head else { return Ok(()) };
    match (&head.seal, by.keys) {
        (Some(_), None) => Err(Damage::Downgraded),
        (Some(seal), Some(keys)) if *seal != keys.mark() => Err(Damage::OtherKeys),
        _ => Ok(()),
    }
}

fn full(json: &str) -> Option<Entry> {
    serde_json::from_str::<Line<_>>(json).ok()?.into_entry(|steps| steps)
}

/// The log, if there is one or there never was.
fn present(written: &Written) -> Result<Option<&Records>, Damage> {
    let head = match &written.head {
        Kept::Head(head) => Some(head.serial),
        Kept::Absent | Kept::Garbled => None,
    };
    match &written.log {
        None if written.leased || written.head != Kept::Absent => Err(Damage::Removed { head }),
        None => Ok(None),
        Some(log) if log.bytes.is_empty() => Err(Damage::Emptied { head }),
        Some(log) if log.bytes.iter().all(|&byte| byte == 0) => Err(Damage::Zeroed { head }),
        Some(log) => Ok(Some(log)),
    }
}

/// Brings the records to the current format.
fn text<'a>(log: &'a Records, by: &Reader<'_>) -> Result<Text<'a>, StoreError> {
    let damaged = |damage| by.damaged(damage);
    let first = log.iter().next().ok_or_else(|| by.damaged(Damage::NoHeader))?;
    let format = format_of(first).map_err(damaged)?;
    if format > SEALED {
        return Err(StoreError::Newer { place: by.place.to_owned(), found: format, known: SEALED });
    }
    if let (SEALED, Some(keys), Some(preamble)) = (format, by.keys, Preamble::read(first)) {
        let lineage = preamble.map_err(damaged)?.lineage;
        let open = |bytes| keys.unseal_record(by.scope, &lineage, bytes).map(Cow::Owned);
        let records = log.iter().map(open).collect();
        return Ok(Text { records, unfinished: log.unfinished, format, torn: false });
    }
    if format == SEALED {
        return Err(by.damaged(Damage::Garbled { line: 1, what: Fault::Seal }));
    }
    if format == FORMAT {
        let records = log.iter().map(|bytes| Ok(Cow::Borrowed(bytes))).collect();
        return Ok(Text { records, unfinished: log.unfinished, format, torn: false });
    }
    let (records, torn) = upgrade::records(log, format).map_err(damaged)?;
    let records = records.into_iter().map(|record| Ok(Cow::Owned(record.into_bytes()))).collect();
    Ok(Text { records, unfinished: false, format, torn })
}

/// The format that a header tells, whatever stands before its text.
fn format_of(first: &[u8]) -> Result<u32, Damage> {
    let garbled = Damage::Garbled { line: 1, what: Fault::Hash };
    let start = first.iter().position(|&byte| byte == b'{').ok_or(garbled.clone())?;
    let header: Value = serde_json::from_slice(&first[start..]).map_err(|_| garbled)?;
    if header.get("entry").and_then(Value::as_str) != Some("header") {
        return Err(Damage::NoHeader);
    }
    let format = header.get("format").and_then(Value::as_u64).unwrap_or(0);
    Ok(u32::try_from(format).unwrap_or(u32::MAX))
}

/// The records up to the first that is bad, and that one.
fn good<'t>(text: &'t Text<'_>) -> (Vec<Record<'t>>, Option<(usize, Fault)>) {
    let mut good = Vec::with_capacity(text.records.len());
    for (at, bytes) in text.records.iter().enumerate() {
        let cut = text.unfinished && at + 1 == text.records.len();
        match bytes.as_ref().map_err(|fault| *fault).and_then(|bytes| chain::read(bytes)) {
            Ok(record) if !cut => good.push(record),
            Err(Fault::Zeros) => return (good, Some((at + 1, Fault::Zeros))),
            Ok(_) => return (good, Some((at + 1, Fault::Cut))),
            Err(_) if cut => return (good, Some((at + 1, Fault::Cut))),
            Err(fault) => return (good, Some((at + 1, fault))),
        }
    }
    (good, None)
}

/// Checks hashes, serials and chain.
fn check<'t>(text: &'t Text<'_>, scope: &Scope) -> Result<Checked<'t>, Damage> {
    let (records, bad) = good(text);
    if let Some((line, what)) = bad.filter(|&(line, _)| line < text.records.len() || line == 1) {
        return Err(Damage::Garbled { line, what });
    }
    let mut lines = Vec::with_capacity(records.len());
    for (at, record) in records.iter().enumerate() {
        let line: Result<Line<StepKey>, _> = serde_json::from_str(record.json);
        lines.push(line.map_err(|_| Damage::Garbled { line: at + 1, what: Fault::Unknown })?);
    }
    let links = links(&records, &lines)?;
    let header = full(records[0].json).ok_or(Damage::Garbled { line: 1, what: Fault::Unknown })?;
    let Entry::Header { lineage, scope: found, .. } = header else { return Err(Damage::NoHeader) };
    if found != *scope {
        return Err(Damage::OtherStack { found: Box::new(found) });
    }
    Ok(Checked { lineage, records, lines, links, bad })
}

/// Follows the chain from the header to the end.
fn links(records: &[Record<'_>], lines: &[Line<StepKey>]) -> Result<Vec<Link>, Damage> {
    let mut links: Vec<Link> = Vec::with_capacity(lines.len());
    for (at, (record, line)) in records.iter().zip(lines).enumerate() {
        let own = record.hash.to_owned();
        let Some(before) = links.last() else {
            links.push(Link { serial: 0, hash: own });
            continue;
        };
        let (number, serial, expected) = (at + 1, line.serial, before.serial + 1);
        // A base stands for all before it, and only the header can come before it.
        let jumps = line.entry == Tag::Base && at == 1;
        if serial != expected && !jumps {
            let elsewhere = lines.iter().any(|other| other.serial == expected && other.entry != Tag::Header);
            return Err(if serial > expected && !elsewhere {
                Damage::Missing { line: number, from: expected, to: serial - 1 }
            } else {
                Damage::Swapped { line: number, found: serial, expected }
            });
        }
        if record.prev != before.hash {
            return Err(Damage::Unchained { line: number, serial });
        }
        links.push(Link { serial, hash: line.folded.clone().unwrap_or(own) });
    }
    Ok(links)
}

/// Compares the log with its head. Returns whether its last record was never finished.
fn judge(checked: &Checked<'_>, head: &Kept, format: u32) -> Result<bool, Damage> {
    let last = checked.links.last().map_or(0, |link| link.serial);
    let torn = checked.bad.is_some();
    let head = match head {
        Kept::Head(head) => head,
        Kept::Garbled => return Err(Damage::HeadGarbled),
        Kept::Absent if format < FORMAT || last == 0 => return Ok(torn),
        Kept::Absent => return Err(Damage::NoHead),
    };
    if head.lineage != checked.lineage {
        return Err(Damage::Foreign { found: checked.lineage.clone(), expected: head.lineage.clone() });
    }
    if head.serial > last {
        return Err(match checked.bad {
            Some((line, what)) if head.serial == last + 1 => Damage::Garbled { line, what },
            _ => Damage::Behind { ends: last, head: head.serial, release: head.release },
        });
    }
    match checked.links.iter().find(|link| link.serial == head.serial) {
        Some(link) if link.hash != head.hash => Err(Damage::Forked { serial: head.serial }),
        _ => Ok(torn),
    }
}

/// Folds everything into the state; returns how many releases can be rebuilt.
fn fold(checked: Checked<'_>, state: &mut State) -> Result<usize, Damage> {
    let settled = settled(&checked.lines);
    let mut n_releases = 0;
    for (at, (line, settled)) in checked.lines.into_iter().zip(settled).enumerate() {
        let entry = if line.entry == Tag::Begin && !settled {
            full(checked.records[at].json)
        } else {
            line.into_entry(|_| Vec::new())
        };
        let entry = entry.ok_or(Damage::Garbled { line: at + 1, what: Fault::Unknown })?;
        n_releases += usize::from(matches!(entry, Entry::Begin { .. }));
        state.fold(entry);
    }
    Ok(n_releases)
}

/// Tells for each line whether it begins a release of which every step is known to have been done: what it intended is then
/// of no interest any more.
fn settled(lines: &[Line<StepKey>]) -> Vec<bool> {
    let mut done = BTreeSet::new();
    let mut settled = vec![false; lines.len()];
    for (at, line) in lines.iter().enumerate().rev() {
        match line.entry {
            Tag::Begin => {
                settled[at] = line.steps.iter().all(|step| done.contains(&step.key));
                done.clear();
            }
            _ => done.extend(line.outcomes.iter().filter_map(|outcome| match outcome {
                Outcome::Recorded(record) => Some(&record.key),
                Outcome::Forgotten(key) => Some(key),
                Outcome::Tried(_) | Outcome::Failed { .. } => None,
            })),
        }
    }
    settled
}

/// Returns the JSON of an entry.
pub(crate) fn json(entry: &Entry) -> String {
    serde_json::to_string(entry).unwrap_or_default()
}
