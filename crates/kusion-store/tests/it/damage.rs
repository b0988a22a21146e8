//! Every way to damage a state is told from every other, or does no harm; what can be saved is saved on demand only.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kusion_model::{Action, Head};
use kusion_store::{Claim, Damage, Fault, Liveness, State, StoreError, wait};

use crate::setup::{Medium, at, owner, plan, release, scope, step};

/// A state as files, and the states before it.
pub(crate) struct Subject {
    pub(crate) medium: Medium,
    pub(crate) whole: State,
    /// Copies of the folder after each release before the last, the oldest first.
    pub(crate) older: Vec<BTreeMap<String, Vec<u8>>>,
}

pub(crate) type Files = BTreeMap<String, Vec<u8>>;

pub(crate) fn files(folder: &Path) -> Files {
    let named = |entry: std::io::Result<std::fs::DirEntry>| {
        let path = entry.unwrap().path();
        (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(path).unwrap())
    };
    std::fs::read_dir(folder).unwrap().map(named).collect()
}

impl Subject {
    /// Releases one after the other; then what the kind of log asks for.
    pub(crate) fn new(n_releases: usize, compacted: bool, interrupted: bool) -> Subject {
        let medium = Medium::local();
        wait(medium.store().digest_key()).unwrap();
        let mut older = Vec::new();
        let mut session = medium.open().unwrap();
        for number in 0..n_releases {
            release(&mut session, &["a", &format!("m{number}")]).unwrap();
            older.push(files(&medium.store().place()));
        }
        older.pop();
        if compacted {
            wait(session.compact(2)).unwrap();
        }
        if interrupted {
            let plan = plan(session.state(), vec![step("open", Action::Create)]);
            wait(session.begin(&plan, Default::default(), at(1))).unwrap();
        }
        wait(session.close(at(2))).unwrap();
        let whole = medium.read();
        Subject { medium, whole, older }
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.medium.store().place()
    }

    pub(crate) fn put(&self, files: &Files) {
        for name in self::files(&self.folder()).into_keys() {
            std::fs::remove_file(self.folder().join(name)).unwrap();
        }
        for (name, bytes) in files {
            std::fs::write(self.folder().join(name), bytes).unwrap();
        }
    }
}

/// The logs that can be made of one by damaging it, with a name for each.
fn damaged_logs(log: &[u8]) -> Vec<(String, Option<Vec<u8>>)> {
    let lines: Vec<&[u8]> = log.split_inclusive(|&byte| byte == b'\n').collect();
    let start = |line: usize| lines[..line].iter().map(|line| line.len()).sum::<usize>();
    let mut logs: Vec<(String, Option<Vec<u8>>)> = vec![
        ("emptied".into(), Some(Vec::new())),
        ("zeroed".into(), Some(vec![0; log.len()])),
        ("removed".into(), None),
    ];
    for at in 0..lines.len() {
        let mut without = lines.clone();
        without.remove(at);
        let mut twice = lines.clone();
        twice.insert(at, lines[at]);
        let mut flipped = log.to_vec();
        flipped[start(at) + lines[at].len() / 2] ^= 4;
        let mut zeros = log.to_vec();
        zeros[start(at)..].fill(0);
        let middle = start(at) + lines[at].len() / 2;
        logs.push((format!("line {at} taken out"), Some(without.concat())));
        logs.push((format!("line {at} twice"), Some(twice.concat())));
        logs.push((format!("byte flipped in line {at}"), Some(flipped)));
        logs.push((format!("zeros from line {at} on"), Some(zeros)));
        logs.push((format!("cut in the middle of line {at}"), Some(log[..middle].to_vec())));
        if at > 0 {
            let mut swapped = lines.clone();
            swapped.swap(at - 1, at);
            logs.push((format!("lines {} and {at} swapped", at - 1), Some(swapped.concat())));
            logs.push((format!("cut before line {at}"), Some(log[..start(at)].to_vec())));
        }
    }
    logs
}

/// All damaged folders of a subject, with a name for each.
fn damaged_folders(subject: &Subject, foreign: &Files) -> Vec<(String, Files)> {
    let whole = files(&subject.folder());
    let with = |name: &str, bytes: Option<Vec<u8>>| {
        let mut files = whole.clone();
        match bytes {
            Some(bytes) => files.insert(name.to_owned(), bytes),
            None => files.remove(name),
        };
        files
    };
    let mut all: Vec<(String, Files)> =
        damaged_logs(&whole["log"]).into_iter().map(|(name, log)| (name, with("log", log))).collect();
    for (at, older) in subject.older.iter().enumerate() {
        all.push((format!("log of release {at}"), with("log", Some(older["log"].clone()))));
        all.push((format!("head of release {at}"), with("head", Some(older["head"].clone()))));
        all.push((format!("lease of release {at}"), with("lease", Some(older["lease"].clone()))));
    }
    all.push(("log of another history".into(), with("log", Some(foreign["log"].clone()))));
    for name in ["head", "lease", "key"] {
        let bytes = &whole[name];
        all.push((format!("{name} removed"), with(name, None)));
        all.push((format!("{name} emptied"), with(name, Some(Vec::new()))));
        all.push((format!("{name} zeroed"), with(name, Some(vec![0; bytes.len()]))));
        all.push((format!("{name} cut"), with(name, Some(bytes[..bytes.len() / 2].to_vec()))));
    }
    let mut altered = whole["key"].clone();
    altered[7] ^= 1;
    all.push(("key altered".into(), with("key", Some(altered))));
    all.push(("ring removed".into(), with("ring.1", None)));
    all.push(("ring of another history".into(), with("ring.1", Some(foreign["ring.1"].clone()))));
    all.push(("key of another history".into(), with("key", Some(foreign["key"].clone()))));
    all
}

/// The kind of a damage, for counting.
fn kind(error: &StoreError) -> String {
    match error {
        StoreError::Damaged { damage, .. } => {
            format!("{damage:?}").split([' ', '{', '(']).next().unwrap().to_owned()
        }
        StoreError::LeaseGarbled { .. } => "LeaseGarbled".to_owned(),
        other => panic!("neither told as damage nor harmless: {other}"),
    }
}

pub(crate) fn foreign() -> Files {
    let other = Subject::new(2, false, false);
    files(&other.folder())
}

#[test]
fn every_damaged_state_is_told_or_harmless() {
    let (foreign, mut kinds, mut count) = (foreign(), BTreeMap::<String, usize>::new(), 0);
    for (n, compacted, interrupted) in [(3, false, false), (4, true, false), (2, false, true)] {
        let subject = Subject::new(n, compacted, interrupted);
        for (name, folder) in damaged_folders(&subject, &foreign) {
            subject.put(&folder);
            count += 1;
            // Reading, and opening for a release with its key, must agree.
            let store = subject.medium.store();
            let opened = wait(store.digest_key()).and_then(|_| subject.medium.open());
            let verdict = match wait(store.read()).and_then(|state| opened.map(|_| state)) {
                Ok(state) => {
                    assert_eq!(state, subject.whole, "{name}: not noticed, and not the same state");
                    let mut session = subject.medium.open().unwrap();
                    release(&mut session, &["next"]).unwrap_or_else(|e| panic!("{name}: {e}"));
                    assert!(wait(store.read()).unwrap().serial > subject.whole.serial, "{name}");
                    "harmless".to_owned()
                }
                Err(error) => {
                    let kind = kind(&error);
                    let left = files(&subject.folder());
                    for file in ["log", "head"] {
                        assert_eq!(
                            left.get(file),
                            folder.get(file),
                            "{name}: a damaged folder is left as it is"
                        );
                    }
                    kind
                }
            };
            *kinds.entry(verdict).or_default() += 1;
        }
    }
    assert!(count >= 145, "{count} states");
    let told: Vec<&str> = kinds.keys().map(String::as_str).collect();
    let expected = [
        "Behind",
        "Emptied",
        "Foreign",
        "Garbled",
        "HeadGarbled",
        "Key",
        "LeaseGarbled",
        "Missing",
        "NoHead",
        "NoHeader",
        "NoKey",
        "Removed",
        "Swapped",
        "WrongKey",
        "Zeroed",
        "harmless",
    ];
    assert_eq!(told, expected, "{count} states: {kinds:?}");
}

#[test]
fn each_kind_of_damage_has_its_own_message() {
    let subject = Subject::new(3, false, false);
    let whole = files(&subject.folder());
    let text = |files: &Files, change: &dyn Fn(&mut Files)| {
        let mut files = files.clone();
        change(&mut files);
        subject.put(&files);
        wait(subject.medium.store().read()).unwrap_err().to_string()
    };
    let foreign = foreign();
    let log = |change: &dyn Fn(&mut Vec<Vec<u8>>)| {
        let mut lines = lines(&whole);
        change(&mut lines);
        let bytes = lines.concat();
        text(&whole, &|files| drop(files.insert("log".into(), bytes.clone())))
    };
    let told = |what: &str| format!("the state is damaged: {what}");
    assert_eq!(log(&Vec::clear), told("the log is empty, but 12 entries were written"));
    assert_eq!(
        log(&|l| l.truncate(9)),
        told(
            "the log ends at entry 8, but 12 were written (up to release 3): it was cut, or an older copy was put in its place"
        )
    );
    assert_eq!(log(&|l| drop(l.remove(5))), told("entry 5 is missing before line 6 of the log"));
    assert_eq!(
        log(&|l| drop(l.drain(5..8))),
        told("the entries 5 to 7 are missing before line 6 of the log")
    );
    assert_eq!(
        log(&|l| l.swap(4, 5)),
        told("the entries are not in order: line 5 of the log has number 5, not 4")
    );
    assert_eq!(
        log(&|l| l[3][99] ^= 1),
        told("line 4 of the log is damaged: it was changed since it was sealed")
    );
    assert_eq!(log(&|l| l[12].truncate(50)), told("line 13 of the log is damaged: it is cut in the middle"));
    assert_eq!(log(&|l| l[12].fill(0)), told("line 13 of the log is damaged: its bytes are zeros"));
    assert_eq!(log(&|l| drop(l.remove(0))), told("the log has lost its first line"));
    let foreign_lines = lines(&foreign);
    assert_eq!(
        log(&|l| l[2] = foreign_lines[2].clone()),
        told("line 3 of the log is damaged: it is sealed with another key")
    );
    assert!(log(&|l| *l = foreign_lines.clone()).contains("is of another history"));
    let removed = text(&whole, &|files| drop(files.remove("log")));
    assert_eq!(removed, told("the log is gone, but 12 entries were written"));
    let relabel = |line: usize, from: &str, to: &str| {
        log(&|l| l[line] = String::from_utf8(l[line].clone()).unwrap().replacen(from, to, 1).into_bytes())
    };
    assert_eq!(
        relabel(5, "x1 5 ", "x1 4 "),
        told("line 6 of the log is damaged: it is entry 5, put in the place of another")
    );
    assert_eq!(
        relabel(5, "x1 ", "x0 "),
        told("line 6 of the log is damaged: it is sealed by an algorithm that is not known here")
    );
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let clear = files(&fixtures.join("format-2"));
    assert_eq!(
        log(&|l| l[5] = self::lines(&clear)[5].clone()),
        told("line 6 of the log is damaged: it is in clear, and everything here is sealed")
    );
    assert_eq!(
        log(&|l| *l = self::lines(&clear)),
        told("the log is in clear, but it was sealed: another log was put in its place")
    );
    let key = |bytes: Option<Vec<u8>>| {
        text(&whole, &|files| {
            drop(match &bytes {
                Some(bytes) => files.insert("key".into(), bytes.clone()),
                None => files.remove("key"),
            })
        })
    };
    let wrong = "the key is not the one that the state is sealed with: it is locked by the key file `key`";
    assert_eq!(key(Some(foreign["key"].clone())), told(wrong));
    assert_eq!(key(None), told("the key is gone: the state is locked by the key file `key`"));
    let no_head = text(&whole, &|files| drop(files.remove("head")));
    assert!(no_head.contains("the head of the log is gone"), "{no_head}");
}

pub(crate) fn lines(files: &Files) -> Vec<Vec<u8>> {
    files["log"].split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect()
}

#[test]
fn log_of_another_stack_and_one_that_was_written_on_are_told() {
    let subject = Subject::new(3, false, false);
    let whole = files(&subject.folder());
    // An older copy of the folder, written on, then the head of the real one.
    subject.put(&subject.older[0]);
    let mut session = subject.medium.open().unwrap();
    for name in ["x", "y", "z"] {
        release(&mut session, &[name, "w"]).unwrap();
    }
    std::fs::write(subject.folder().join("head"), &whole["head"]).unwrap();
    let Err(StoreError::Damaged { damage, .. }) = wait(subject.medium.store().read()) else {
        panic!("not noticed")
    };
    assert_eq!(damage, Damage::Forked { serial: 12 });
    let other = kusion_model::Scope { stack: "prod".into(), ..scope() };
    let store = kusion_store::Store::new(subject.medium.backend.clone()).stack(&other);
    std::fs::create_dir_all(store.place()).unwrap();
    for (name, bytes) in &whole {
        std::fs::write(store.place().join(name), bytes).unwrap();
    }
    let Err(StoreError::Damaged { damage, .. }) = wait(store.read()) else { panic!("not noticed") };
    assert_eq!(damage, Damage::OtherStack { found: Box::new(scope()) });
}

#[test]
fn older_folder_is_told_by_the_witness() {
    for (n, compacted) in [(4, false), (5, true)] {
        let subject = Subject::new(n, compacted, false);
        let witness = subject.whole.head().unwrap();
        assert_eq!(subject.whole.agrees_with(&witness), Ok(()));
        for (at, older) in subject.older.iter().enumerate() {
            subject.put(older);
            let state = subject.medium.read();
            let ends = 4 * (at as u64 + 1);
            let release = witness.release;
            assert_eq!(
                state.agrees_with(&witness),
                Err(Damage::Old { ends, witness: 4 * n as u64, release })
            );
            // Written on until it is as long as it was: another entry has that number.
            let mut session = subject.medium.open().unwrap();
            while session.state().serial < witness.serial {
                crate::setup::release(&mut session, &["x", "y"]).unwrap();
            }
            assert_eq!(session.state().agrees_with(&witness), Err(Damage::Unlike { serial: witness.serial }));
        }
        let empty = Medium::local().read();
        assert!(matches!(empty.agrees_with(&witness), Err(Damage::Lost { .. })));
        let stranger = Head { lineage: "another".into(), ..witness };
        assert!(matches!(subject.whole.agrees_with(&stranger), Err(Damage::Stranger { .. })));
    }
}

#[test]
fn logs_of_format_1_are_checked_as_far_as_they_can_be() {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/format-1");
    let whole = files(&fixture);
    let medium = Medium::local();
    std::fs::create_dir_all(medium.store().place()).unwrap();
    for (name, log) in damaged_logs(&whole["log"]) {
        for (file, bytes) in &whole {
            std::fs::write(medium.store().place().join(file), bytes).unwrap();
        }
        let path = medium.store().place().join("log");
        match log {
            Some(bytes) => std::fs::write(path, bytes).unwrap(),
            None => std::fs::remove_file(path).unwrap(),
        }
        let cut = name.starts_with("cut") || name.starts_with("zeros") || name.ends_with("line 14 taken out");
        let last = name.ends_with("line 14") && name.starts_with("byte");
        let read = wait(medium.store().read());
        // That format has no head: its end cannot be proved, everything else can.
        if name == "cut in the middle of line 0" || !(cut || last) {
            assert!(matches!(read, Err(StoreError::Damaged { .. })), "{name}: {read:?}");
        }
    }
}

fn repair(medium: &Medium, witness: Option<&Head>) -> Result<kusion_store::Findings, StoreError> {
    let claim =
        Claim { owner: owner("li"), now: at(50), elapsed: Duration::ZERO, alive: &|_| Liveness::Dead };
    wait(medium.store().repair(&claim, witness, true))
}

#[test]
fn repair_says_what_it_saves_then_saves_it_and_uses_no_number_again() {
    let foreign = foreign();
    for (n, compacted, interrupted) in [(3, false, false), (4, true, true)] {
        let subject = Subject::new(n, compacted, interrupted);
        let witness = subject.whole.head().unwrap();
        for (name, folder) in damaged_folders(&subject, &foreign) {
            subject.put(&folder);
            let store = subject.medium.store();
            let Err(StoreError::Damaged { damage, .. }) = wait(store.read()) else { continue };
            let found = wait(store.examine(Some(&witness))).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert_eq!(found.damage, Some(damage), "{name}");
            assert_eq!(files(&subject.folder()), folder, "{name}: looking touches nothing");
            let unlocked = !name.starts_with("lease");
            let repaired = repair(&subject.medium, Some(&witness));
            assert_eq!(repaired.is_ok(), unlocked, "{name}");
            let state = subject.medium.read();
            assert_eq!(state.records, found.saved.records, "{name}");
            assert!(state.records.keys().all(|key| subject.whole.records.contains_key(key)), "{name}");
            assert!(state.serial >= subject.whole.serial, "{name}");
            assert_eq!(state.agrees_with(&witness), Ok(()), "{name}");
            assert!(state.next_release() > witness.release, "{name}");
            assert!(state.releases.values().all(|r| r.phase.is_final() || found.whole), "{name}");
            let mut session = subject.medium.open().unwrap();
            release(&mut session, &["after"]).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert!(repair(&subject.medium, None).unwrap().damage.is_none(), "{name}: whole again");
        }
    }
}

#[test]
fn entries_behind_a_damaged_one_are_saved_too() {
    let subject = Subject::new(3, false, false);
    let mut folder = files(&subject.folder());
    let mut lines = lines(&folder);
    lines[6][99] ^= 1;
    folder.insert("log".into(), lines.concat());
    subject.put(&folder);
    let found = repair(&subject.medium, None).unwrap();
    assert_eq!(found.damage, Some(Damage::Garbled { line: 7, what: Fault::Seal }));
    assert_eq!(found.missing, [(6, 6)]);
    let state = subject.medium.read();
    assert_eq!((state.records.len(), state.releases.len()), (4, 3));
    let copy =
        files(&subject.folder()).into_iter().find(|(name, _)| name.starts_with("log.damaged-")).unwrap();
    assert_eq!(copy.1, folder["log"], "the damaged log is kept");
}

#[test]
fn lost_state_starts_again_behind_what_the_cluster_knows() {
    let witness = Subject::new(3, false, false).whole.head().unwrap();
    let medium = Medium::local();
    let found = repair(&medium, Some(&witness)).unwrap();
    assert!(matches!(found.damage, Some(Damage::Lost { .. })));
    let state = medium.read();
    assert_eq!((&state.lineage, state.serial, state.next_release().0), (&witness.lineage, 13, 4));
    assert_eq!(state.agrees_with(&witness), Ok(()));
}

#[test]
fn repair_killed_at_every_step_can_be_done_again() {
    for steps in 0..100 {
        let subject = Subject::new(2, false, false);
        let mut folder = files(&subject.folder());
        let mut lines = lines(&folder);
        lines.remove(3);
        folder.insert("log".into(), lines.concat());
        subject.put(&folder);
        subject.medium.plug.kill_after(steps);
        let done = repair(&subject.medium, None).is_ok();
        subject.medium.plug.revive();
        repair(&subject.medium, None).unwrap_or_else(|e| panic!("after {steps} steps: {e}"));
        let state = subject.medium.read();
        assert!(state.serial > subject.whole.serial && state.next_release().0 == 3, "after {steps} steps");
        if done {
            return;
        }
    }
    panic!("it never ran to its end");
}
