//! Copies that a medium of objects has of one log: a bad one is passed by, and a repair saves what any of them has.

use std::sync::Arc;
use std::time::Duration;

use kusion_store::{
    Backend as _, Claim, Damage, Findings, Liveness, ObjectLog, Objects as _, SimObjects, StackStore, State,
    Store, StoreError, wait,
};

use crate::setup::{Medium, at, owner, release, scope};

const LOG: &str = "state/shop/dev/default/log/";

/// A log of several objects and a pack, as it lies after everybody has gone.
fn filled() -> (SimObjects, State) {
    let medium = Medium::objects();
    for names in [["a", "b"], ["c", "d"], ["a", "e"]] {
        let mut session = medium.open().unwrap();
        release(&mut session, &names).unwrap();
        wait(session.close(at(2))).unwrap();
    }
    (medium.objects.clone().unwrap(), medium.read())
}

/// Another process on the same objects.
fn opened(objects: &SimObjects) -> StackStore {
    Store::new(Arc::new(ObjectLog::new(objects.clone()))).stack(&scope())
}

fn claim() -> Claim<'static> {
    Claim { owner: owner("li"), now: at(50), elapsed: Duration::ZERO, alive: &|_| Liveness::Dead }
}

fn repair(objects: &SimObjects) -> Findings {
    wait(opened(objects).repair(&claim(), None, false)).unwrap()
}

fn names(objects: &SimObjects, prefix: &str) -> Vec<String> {
    wait(objects.list(prefix)).unwrap()
}

fn bytes(objects: &SimObjects, name: &str) -> Vec<u8> {
    wait(objects.get(name)).unwrap().unwrap().bytes
}

fn pack(objects: &SimObjects) -> String {
    let packs = names(objects, &format!("{LOG}00000001/pack-"));
    assert_eq!(packs.len(), 1, "{packs:?}");
    packs.into_iter().next().unwrap()
}

fn flipped(objects: &SimObjects, name: &str) -> Vec<u8> {
    let mut all = bytes(objects, name);
    let middle = all.len() / 2;
    all[middle] ^= 1;
    all
}

#[test]
fn a_bad_pack_is_passed_by_and_made_anew() {
    let foreign = filled().0;
    let kinds: [fn(&SimObjects, &SimObjects) -> Vec<u8>; 3] =
        [|_, _| Vec::new(), |own, _| flipped(own, &pack(own)), |_, foreign| bytes(foreign, &pack(foreign))];
    for (at_kind, damage) in kinds.into_iter().enumerate() {
        let (objects, before) = filled();
        let bad = damage(&objects, &foreign);
        objects.tamper(&pack(&objects), &bad);
        assert_eq!(wait(opened(&objects).read()).unwrap(), before, "kind {at_kind}");
        assert!(repair_finds_all(&objects, &before), "kind {at_kind}");
        let mut session = wait(opened(&objects).acquire(owner("li"), at(3), &|_| Liveness::Dead)).unwrap();
        release(&mut session, &["f"]).unwrap();
        wait(session.close(at(4))).unwrap();
        assert_ne!(bytes(&objects, &pack(&objects)), bad, "kind {at_kind}");
        assert_eq!(wait(opened(&objects).examine(None)).unwrap().damage, None, "kind {at_kind}");
    }
}

/// A look tells that something is wrong and nothing is lost.
fn repair_finds_all(objects: &SimObjects, before: &State) -> bool {
    let found = wait(opened(objects).examine(None)).unwrap();
    found.damage.is_some() && found.whole && found.missing.is_empty() && found.saved == *before
}

#[test]
fn an_object_in_a_higher_generation_costs_nothing() {
    let (objects, before) = filled();
    let originals = names(&objects, LOG).into_iter().map(|name| bytes(&objects, &name));
    // A place that somebody has held has no record.
    let originals: Vec<Vec<u8>> = originals.filter(|bytes| !bytes.starts_with(b"held ")).collect();
    objects.tamper(&format!("{LOG}00000099/00000000"), b"anything");
    let told = wait(opened(&objects).read()).unwrap_err();
    assert!(matches!(told, StoreError::Damaged { .. }), "{told}");
    assert!(repair_finds_all(&objects, &before));
    repair(&objects);
    let after = wait(opened(&objects).read()).unwrap();
    assert_eq!((&after.records, &after.releases), (&before.records, &before.releases));
    let kept = names(&objects, "state/shop/dev/default/kept/log.damaged-");
    let kept = bytes(&objects, &kept[0]);
    for line in originals.iter().flat_map(|all| all.split(|&byte| byte == b'\n')).filter(|l| !l.is_empty()) {
        assert!(kept.windows(line.len()).any(|part| part == line), "a record is not kept");
    }
    assert_eq!(wait(opened(&objects).examine(None)).unwrap().damage, None);
}

#[test]
fn what_one_copy_has_lost_the_other_may_have() {
    let (objects, before) = filled();
    let all = names(&objects, &format!("{LOG}00000001/0"));
    let (third, last) = (&all[2], all.last().unwrap());
    let cut = {
        let pack = bytes(&objects, &pack(&objects));
        let lines: Vec<&[u8]> = pack.split(|&byte| byte == b'\n').collect();
        lines[..lines.len() - 3].join(&b'\n')
    };
    objects.tamper(&pack(&objects), &cut);
    objects.tamper(third, &flipped(&objects, third));
    assert!(matches!(wait(opened(&objects).read()), Err(StoreError::Damaged { .. })));
    let found = repair(&objects);
    assert_eq!(found.missing, [], "the pack has the third, the objects have the last: {last}");
    assert_eq!(wait(opened(&objects).read()).unwrap().records, before.records);
}

#[test]
fn single_objects_are_looked_at_behind_a_whole_pack() {
    let (objects, before) = filled();
    let third = names(&objects, &format!("{LOG}00000001/0"))[2].clone();
    objects.tamper(&third, &flipped(&objects, &third));
    assert_eq!(wait(opened(&objects).read()).unwrap(), before);
    let found = wait(opened(&objects).examine(None)).unwrap();
    assert_eq!((found.damage, found.missing), (Some(Damage::Unequal), vec![]));
    repair(&objects);
    assert_eq!(wait(opened(&objects).read()).unwrap().records, before.records);
    assert_eq!(wait(opened(&objects).examine(None)).unwrap().damage, None);
}

#[test]
fn a_stack_with_a_log_is_always_listed() {
    for steps in 0..60 {
        let medium = Medium::objects();
        medium.plug.kill_after(steps);
        let done = medium.open().is_ok();
        medium.plug.revive();
        let log = wait(medium.backend.read(&scope(), 0)).unwrap().log;
        let listed = wait(medium.backend.list()).unwrap();
        assert!(log.is_none() || listed == [scope()], "after {steps} steps");
        if done {
            let name = names(medium.objects.as_ref().unwrap(), "stacks/");
            wait(medium.objects.as_ref().unwrap().remove(&name)).unwrap();
            assert_eq!(wait(medium.backend.list()).unwrap(), []);
            medium.open().unwrap();
            assert_eq!(
                wait(medium.backend.list()).unwrap(),
                [scope()],
                "whoever takes the lock names it anew"
            );
            return;
        }
    }
    panic!("it never gets done");
}
