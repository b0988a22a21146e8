//! What the fuzz targets of the state do with a heap of bytes: logs, heads, leases, rings, keys, sealed records, plans.
//!
//! In: any bytes. Out: nothing; a panic is a finding, and so is a change to a sealed state that nobody tells.

use std::sync::{Arc, LazyLock};

use kusion_model::{PLAN_SCHEMA, Phase, Plan, PlanDraft, Release, Scope, Tally, Timestamp};
use kusion_store::{
    Liveness, Owner, PublicKey, ReleaseDraft, ReleaseEnd, SimMedium, SimStack, Snapshot, StackStore, State,
    Store, UpstreamState, wait,
};

/// Name and body of every target.
pub const TARGETS: &[crate::FuzzTarget] =
    &[("state", state), ("sealed", sealed), ("plan", plan), ("release", release), ("upstream", upstream)];

fn scope() -> Scope {
    Scope { project: "shop".into(), stack: "dev".into(), workspace: "default".into() }
}

fn store_of(stack: SimStack) -> StackStore {
    let medium = SimMedium::default();
    medium.tamper(&scope(), |place| *place = stack);
    Store::new(Arc::new(medium)).stack(&scope())
}

/// Any bytes as each thing that a medium keeps: always an answer, and the same from reading and examining.
pub fn state(bytes: &[u8]) {
    let (which, bytes) = bytes.split_first().map_or((0, bytes), |(first, rest)| (*first, rest));
    let mut stack = if which & 1 == 0 { SimStack::default() } else { WHOLE.0.clone() };
    let lines = || bytes.split(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
    match which / 2 % 5 {
        0 => stack.records = Some(lines()),
        1 => stack.head = Some(bytes.to_vec()),
        2 => stack.lease = Some((1, bytes.to_vec())),
        3 => drop(stack.kept.insert("ring.1".to_owned(), bytes.to_vec())),
        _ => drop(stack.kept.insert("key".to_owned(), bytes.to_vec())),
    }
    let store = store_of(stack);
    let read = wait(store.read());
    let found = wait(store.examine(None));
    // A lease or a key that is none may be told by one of the two only; damage of the log by both.
    if let (Ok(_), Ok(found)) = (&read, &found) {
        assert!(found.damage.is_none(), "read without a word, and damaged: {:?}", found.damage);
    }
}

/// Any bytes as a state or a release of upstream's, and as a snapshot: read or refused; what is read has ids.
pub fn upstream(bytes: &[u8]) {
    let Ok(document) = serde_json::from_slice::<serde_json::Value>(bytes) else { return };
    if let Ok(state) = UpstreamState::read(document.clone()) {
        assert!(state.resources.iter().all(|resource| resource["id"].is_string()));
    }
    if let Ok(snapshot) = serde_json::from_value::<Snapshot>(document)
        && snapshot.fits(&WHOLE.1).is_ok()
    {
        assert_eq!(snapshot.lineage, WHOLE.1.lineage, "another history");
    }
}

/// A sealed state in which some bits are flipped: told, or the same state.
pub fn sealed(bytes: &[u8]) {
    let (mut stack, whole) = (WHOLE.0.clone(), &WHOLE.1);
    for edit in bytes.chunks_exact(4).take(16) {
        let at = usize::from(edit[1]) << 8 | usize::from(edit[2]);
        let records = stack.records.get_or_insert_default();
        let n = records.len();
        let target = match usize::from(edit[0]) % (n + 2) {
            part if part < n => &mut records[part],
            part if part == n => stack.head.get_or_insert_default(),
            _ => stack.kept.entry("key".to_owned()).or_default(),
        };
        let len = target.len().max(1);
        if let Some(byte) = target.get_mut(at % len) {
            *byte ^= edit[3];
        }
    }
    if let Ok(state) = wait(store_of(stack).read()) {
        assert_eq!(&state, whole, "a change that nobody tells");
    }
}

/// Any text as a plan: an answer, and what is read is written as it was.
pub fn plan(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(plan) = Plan::from_json(&text) {
        let again = Plan::from_json(&plan.to_json());
        assert!(again.is_ok_and(|again| again.to_json() == plan.to_json()), "a plan does not read back");
    }
}

/// A sealed state with two releases, and what it tells.
static WHOLE: LazyLock<(SimStack, State)> = LazyLock::new(|| {
    let medium = SimMedium::default();
    let store = Store::new(Arc::new(medium.clone())).stack(&scope());
    let now = Timestamp::from_millis(1_700_000_000_000);
    let owner = Owner { user: "li".into(), host: "h".into(), pid: 1, started: 0, command: String::new() };
    if let Ok(mut session) = wait(store.acquire(owner, now, &|_| Liveness::Dead)) {
        for _ in 0..2 {
            let state = session.state();
            let plan = PlanDraft {
                schema: PLAN_SCHEMA.into(),
                engine: "fuzz".into(),
                scope: scope(),
                lineage: state.lineage.clone(),
                serial: state.serial,
                spec_digest: String::new(),
                rules: Vec::new(),
                steps: Vec::new(),
                hash: String::new(),
            };
            let plan = plan.sealed().expect("nothing is touched twice");
            let end = ReleaseEnd {
                phase: Phase::Succeeded,
                ended: now,
                tally: Tally::default(),
                message: None,
                outputs: Default::default(),
            };
            if let Ok(no) = wait(session.begin(&plan, ReleaseDraft::default(), now)) {
                let _ = wait(session.end(no, Vec::new(), end));
            }
        }
    }
    let mut whole = SimStack::default();
    medium.tamper(&scope(), |stack| whole = stack.clone());
    let state = wait(store.read());
    assert!(
        state.as_ref().is_ok_and(|state| state.releases.len() == 2),
        "the subject is not there: {state:?}"
    );
    (whole, state.unwrap_or_else(|_| unreachable!()))
});

/// Any text as the record of a release and as a public key: always an answer, and what is read is written back the same.
pub fn release(bytes: &[u8]) {
    if let Ok(release) = serde_json::from_slice::<Release>(bytes) {
        let text = serde_json::to_string(&release).unwrap_or_default();
        let again: Result<Release, _> = serde_json::from_str(&text);
        assert_eq!(again.ok(), Some(release), "{text}");
    }
    if let Some(key) = std::str::from_utf8(bytes).ok().and_then(PublicKey::from_pem) {
        assert_eq!(PublicKey::from_pem(&key.to_pem()), Some(key));
        assert!(!key.verifies(bytes, &[0; 64]));
    }
}
