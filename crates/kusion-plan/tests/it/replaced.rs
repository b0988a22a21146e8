//! When old objects go: no old object goes while an old dependent is there, nothing is made before what it needs.

use std::collections::{BTreeMap, BTreeSet};

use kusion_model::{Deposed, FieldPath, Plan, Proposal, Proposed, Wait};
use kusion_plan::moved_since;

use crate::world::{Situation, key};

/// What becomes of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Same,
    Update,
    New,
    Gone,
    /// Replaced, the old object first.
    DeleteFirst,
    /// Replaced, the new object first.
    CreateFirst,
    /// Equal, and an old object of it is still there.
    LeftBehind,
}

use Fate::{CreateFirst, DeleteFirst, Gone, LeftBehind, New, Same, Update};

impl Fate {
    fn is_wanted(self) -> bool {
        self != Gone
    }

    fn was_there(self) -> bool {
        self != New
    }

    /// Something of it goes.
    fn goes(self) -> bool {
        matches!(self, Gone | DeleteFirst | CreateFirst | LeftBehind)
    }

    /// It is made, or changed.
    fn is_made(self) -> bool {
        !matches!(self, Same | Gone)
    }
}

/// Resources with their fates and what they depend on, now and before.
type Stack<'a> = [(&'a str, Fate, &'a [&'a str])];

fn situation(now: &Stack<'_>, before: &Stack<'_>) -> Situation {
    let mut situation = Situation::default();
    for &(name, fate, on) in now {
        if fate.is_wanted() {
            let on: Vec<&str> = on
                .iter()
                .copied()
                .filter(|on| now.iter().any(|(n, f, _)| n == on && f.is_wanted()))
                .collect();
            situation = situation.want(name, if fate == Update { 2 } else { 1 }, &on);
        }
        if matches!(fate, DeleteFirst | CreateFirst) {
            let because = vec![FieldPath::keys(["data"])];
            let what = Proposed::Replace { because, lost: None, create_first: fate == CreateFirst };
            situation.proposals.insert(key(name), Proposal::of(what));
        }
    }
    for &(name, fate, on) in before.iter().filter(|(_, fate, _)| fate.was_there()) {
        let on: Vec<&str> =
            on.iter().copied().filter(|on| before.iter().any(|(n, f, _)| n == on && f.was_there())).collect();
        situation = situation.record(name, 1, &on).live(name, 1);
        if fate == LeftBehind {
            let records = std::sync::Arc::make_mut(&mut situation.prior.records);
            records.get_mut(&key(name)).unwrap().deposed =
                vec![Deposed { uid: Some(format!("old-{name}")), ..Deposed::default() }];
        }
    }
    situation
}

/// What happens before what, by names: `new x` and `old x`.
struct Walk {
    before: BTreeMap<String, BTreeSet<String>>,
}

impl Walk {
    fn of(plan: &Plan) -> Walk {
        let mut before: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let leaves = |on: &kusion_model::ResourceKey| plan.step(on).unwrap().action.is_leaving();
        for step in plan.steps.iter().filter(|step| step.is_change()) {
            let name = step.key.id.parts().pop().unwrap();
            let (new, old) = (format!("new {name}"), format!("old {name}"));
            let main = if step.action.is_leaving() { old.clone() } else { new.clone() };
            before.entry(main.clone()).or_default();
            if step.has_old() {
                let (first, last) = if step.old_goes_first() { (&old, &new) } else { (&new, &old) };
                before.entry(last.clone()).or_default().insert(first.clone());
                before.entry(first.clone()).or_default();
            }
            for (part, edges) in [(&main, &step.after), (&old, &step.old_after)] {
                for edge in edges {
                    let on = edge.on.id.parts().pop().unwrap();
                    let gone = edge.wait == Wait::Gone || leaves(&edge.on);
                    let on = if gone { format!("old {on}") } else { format!("new {on}") };
                    before.entry(part.clone()).or_default().insert(on);
                }
            }
        }
        Walk { before }
    }

    /// One at a time, whatever may happen; by name where several may.
    fn order(&self) -> Vec<String> {
        let mut done: Vec<String> = Vec::new();
        while let Some((next, _)) = self
            .before
            .iter()
            .find(|(part, on)| !done.contains(part) && on.iter().all(|on| done.contains(on)))
        {
            done.push(next.clone());
        }
        assert_eq!(done.len(), self.before.len(), "a circle, or an edge to nothing: {:?}", self.before);
        done
    }

    fn is_before(&self, first: &str, then: &str) -> bool {
        let mut stack = vec![then];
        let mut seen = BTreeSet::new();
        while let Some(part) = stack.pop() {
            let on = self.before.get(part).into_iter().flatten().map(String::as_str);
            for on in on.filter(|on| seen.insert((*on).to_owned())).collect::<Vec<_>>() {
                if on == first {
                    return true;
                }
                stack.push(self.before.get_key_value(on).map_or("", |(known, _)| known));
            }
        }
        false
    }
}

fn walk(stack: &Stack<'_>) -> Vec<String> {
    Walk::of(&situation(stack, stack).plan()).order()
}

const CHAIN: [(&str, &[&str]); 3] = [("base", &[]), ("nap", &["base"]), ("top", &["nap"])];

fn chain(fates: [Fate; 3]) -> Vec<String> {
    let stack: Vec<_> = CHAIN.iter().zip(fates).map(|(&(name, on), fate)| (name, fate, on)).collect();
    walk(&stack)
}

#[test]
fn delete_first_takes_the_chain_down_and_builds_it_up() {
    let order = chain([DeleteFirst; 3]);
    assert_eq!(order, ["old top", "old nap", "old base", "new base", "new nap", "new top"]);
}

#[test]
fn create_first_builds_the_new_chain_and_then_takes_the_old_one_down() {
    let order = chain([CreateFirst; 3]);
    assert_eq!(order, ["new base", "new nap", "new top", "old top", "old nap", "old base"]);
}

#[test]
fn a_dependent_that_goes_first_goes_between_the_new_and_the_old_of_what_it_needs() {
    let order = chain([CreateFirst, DeleteFirst, DeleteFirst]);
    assert_eq!(order, ["new base", "old top", "old nap", "new nap", "new top", "old base"]);
}

#[test]
fn who_is_changed_in_place_moves_on_before_the_old_one_goes() {
    assert_eq!(chain([CreateFirst, Update, Same]), ["new base", "new nap", "old base"]);
    // What it hands on has to arrive, too.
    assert_eq!(chain([CreateFirst, Update, Update]), ["new base", "new nap", "new top", "old base"]);
    assert_eq!(chain([CreateFirst, Same, Update]), ["new base", "new top", "old base"]);
    assert_eq!(chain([LeftBehind, Update, Same]), ["new base", "new nap", "old base"]);
    // Its own delete is first: there is nothing that could be moved on to.
    assert_eq!(chain([DeleteFirst, Update, Same]), ["old base", "new base", "new nap"]);
}

#[test]
fn the_ends_are_ordered_through_what_does_not_go() {
    assert_eq!(
        chain([DeleteFirst, Update, DeleteFirst]),
        ["old top", "old base", "new base", "new nap", "new top"]
    );
    assert_eq!(chain([DeleteFirst, Same, Gone]), ["old top", "old base", "new base"]);
    assert_eq!(chain([CreateFirst, Same, Gone]), ["new base", "old top", "old base"]);
}

#[test]
fn nothing_is_deleted_first_before_what_it_needs_is_there() {
    assert_eq!(chain([Update, DeleteFirst, Same]), ["new base", "old nap", "new nap"]);
    let plan = situation(&[("a", Update, &[]), ("b", DeleteFirst, &["a"])], &[("b", Same, &[])]).plan();
    let step = plan.step(&key("b")).unwrap();
    assert_eq!(step.old_after[0].wait, Wait::Ready, "as the new one would have waited");
}

#[test]
fn old_objects_that_were_left_behind_know_what_they_needed() {
    // Since then the order has turned round: only the old objects say what they were made with.
    let (now, before) = (
        [("a", LeftBehind, &["b"] as &[&str]), ("b", LeftBehind, &[])],
        [("a", LeftBehind, &["b"] as &[&str]), ("b", LeftBehind, &[])],
    );
    let mut situation = situation(&now, &before);
    let records = std::sync::Arc::make_mut(&mut situation.prior.records);
    records.get_mut(&key("a")).unwrap().depends_on = Vec::new();
    records.get_mut(&key("a")).unwrap().deposed[0].depends_on = vec![key("b")];
    assert!(Walk::of(&situation.plan()).is_before("old a", "old b"));
}

#[test]
fn a_new_one_first_on_one_that_must_go_first_is_carried_out_all_the_same() {
    // No order is right: a name that is taken cannot be given to the new one. What is wanted wins.
    assert_eq!(chain([DeleteFirst, CreateFirst, Same]), ["old base", "new base", "new nap", "old nap"]);
}

struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }
}

const NAMES: [&str; 7] = ["a", "b", "c", "d", "e", "f", "g"];
const FATES: [Fate; 7] = [Same, Update, New, Gone, DeleteFirst, CreateFirst, LeftBehind];

/// Who depends on whom: always on an earlier one of `names`.
fn edges(dice: &mut Dice, names: &[&'static str]) -> Needs {
    let mut all = BTreeMap::new();
    for (at, &name) in names.iter().enumerate() {
        let on = (0..at).filter(|_| dice.roll(3) == 0).map(|on| names[on]).collect();
        all.insert(name, on);
    }
    all
}

type Needs = BTreeMap<&'static str, Vec<&'static str>>;

/// A new one that comes first makes what it needs come first, as platforms see to.
fn settled(mut fates: BTreeMap<&'static str, Fate>, on: &Needs) -> BTreeMap<&'static str, Fate> {
    for name in NAMES.into_iter().rev() {
        // Also through those that are not replaced.
        let goes_last = matches!(fates[name], CreateFirst | LeftBehind);
        let mut stack = if goes_last { on[name].clone() } else { Vec::new() };
        while let Some(needed) = stack.pop() {
            if fates[needed] == DeleteFirst {
                fates.insert(needed, CreateFirst);
            }
            stack.extend(&on[needed]);
        }
    }
    fates
}

fn stack_of<'a>(fates: &BTreeMap<&'static str, Fate>, on: &'a Needs) -> Vec<(&'a str, Fate, &'a [&'a str])> {
    NAMES.iter().map(|&name| (name, fates[name], &on[name][..])).collect()
}

#[test]
fn whatever_is_replaced_in_whatever_graph() {
    let mut dice = Dice(7);
    for round in 0..3000 {
        let on = edges(&mut dice, &NAMES);
        let fates = NAMES.iter().map(|&name| (name, FATES[dice.roll(FATES.len())])).collect();
        let fates = settled(fates, &on);
        let stack = stack_of(&fates, &on);
        let walk = Walk::of(&situation(&stack, &stack).plan());
        walk.order();
        let told = format!("round {round}: {stack:?}\n{:?}", walk.before);
        for (&name, needs) in &on {
            for &needed in needs {
                let (dependent, need) = (fates[name], fates[needed]);
                let before = |first: &str, a: &str, then: &str, b: &str| {
                    assert!(
                        walk.is_before(&format!("{first} {a}"), &format!("{then} {b}")),
                        "{first} {a} before {then} {b}, {told}"
                    );
                };
                if dependent.goes() && need.goes() && dependent.was_there() && need.was_there() {
                    before("old", name, "old", needed);
                }
                if dependent.is_made() && need.is_made() {
                    before("new", needed, "new", name);
                }
                let moves_on = dependent.is_made() && dependent.was_there();
                if moves_on && matches!(need, CreateFirst | LeftBehind) {
                    before("new", name, "old", needed);
                }
            }
        }
    }
}

#[test]
fn a_graph_that_turned_into_another_is_carried_out_all_the_same() {
    let mut dice = Dice(11);
    for _ in 0..3000 {
        let now = edges(&mut dice, &NAMES);
        let mut names = NAMES;
        (0..NAMES.len()).for_each(|at| names.swap(at, dice.roll(NAMES.len())));
        let then = edges(&mut dice, &names);
        let fates = NAMES.iter().map(|&name| (name, FATES[dice.roll(FATES.len())])).collect();
        let walk = Walk::of(&situation(&stack_of(&fates, &now), &stack_of(&fates, &then)).plan());
        walk.order();
        for (name, needs) in now {
            for &needed in needs.iter().filter(|on| fates[name].is_made() && fates[*on].is_made()) {
                assert!(walk.is_before(&format!("new {needed}"), &format!("new {name}")));
            }
        }
    }
}

#[test]
fn a_saved_plan_does_not_change_which_object_comes_first() {
    let plan = |fate: Fate| {
        let stack: &Stack<'_> = &[("a", fate, &[])];
        situation(stack, stack).plan()
    };
    assert!(moved_since(&plan(CreateFirst), &plan(CreateFirst)).is_empty());
    let moved = moved_since(&plan(CreateFirst), &plan(DeleteFirst));
    assert_eq!(moved.len(), 1);
    assert!(moved[0].what.contains("with the old object first"), "{moved:?}");
    assert!(
        moved_since(&plan(DeleteFirst), &plan(CreateFirst))[0].what.contains("with the new object first")
    );
}
