//! Histories of clients that talk to a real server at the same time, each checked for linearizability.

use std::sync::atomic::{AtomicU64, Ordering};

use kusion_store::{Plug, Store, wait};

use crate::checker::{Deed, Dice, Log, Op, client, linearizable, look};
use crate::setup::{SERVERS, Server, long, medium_at, scope};

/// Four clients, each with a connection of its own; some of them die in the middle, some lose answers.
fn history(server: Server, socket: &str, seed: u64) -> Vec<Op> {
    let corner = server.corner(socket);
    let (mut dice, log) = (Dice(seed), Log::default());
    std::thread::scope(|threads| {
        for number in 1..=4 {
            let plug = Plug::default();
            if dice.roll(3) == 0 {
                plug.kill_after(5 + dice.roll(60));
            }
            if dice.roll(3) == 0 {
                plug.lose_answers(Some(3 + dice.roll(9)));
            }
            let (own, log, corner) = (Dice(dice.roll(u64::MAX)), Log::clone(&log), corner.clone());
            threads.spawn(move || {
                let medium = medium_at(&corner, plug);
                let store = Store::new(medium.backend.clone()).stack(&scope());
                wait(client(store, log, number, own)).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            });
        }
    });
    let medium = medium_at(&corner, Plug::default());
    wait(look(&medium.store(), &log)).unwrap_or_else(|error| panic!("seed {seed}, at the end: {error}"));
    let ops = log.lock().unwrap().1.clone();
    ops.into_iter().filter(|op| op.ret.is_some() || matches!(op.deed, Deed::Append { .. })).collect()
}

fn check(server: Server) {
    let Some(socket) = server.socket() else { return };
    let (appends, unknown) = (AtomicU64::new(0), AtomicU64::new(0));
    let n_histories = if long() { 200 } else { 20 };
    for seed in 0..n_histories {
        let ops = history(server, &socket, seed);
        assert!(linearizable(&ops), "{server:?}, seed {seed}: no order explains {ops:#?}");
        let told = |op: &&Op| matches!(op.deed, Deed::Append { told: Some(_), .. });
        appends.fetch_add(ops.iter().filter(told).count() as u64, Ordering::Relaxed);
        unknown.fetch_add(ops.iter().filter(|op| op.ret.is_none()).count() as u64, Ordering::Relaxed);
    }
    let (appends, unknown) = (appends.into_inner(), unknown.into_inner());
    assert!(appends > n_histories, "{server:?}: only {appends} appends ({unknown} without an answer)");
}

#[test]
fn every_history_on_postgres_is_linearizable() {
    check(SERVERS[0]);
}

#[test]
fn every_history_on_s3_is_linearizable() {
    check(SERVERS[1]);
}

#[test]
fn every_history_on_kubernetes_is_linearizable() {
    check(SERVERS[2]);
}

#[test]
fn every_history_on_google_is_linearizable() {
    check(SERVERS[3]);
}

#[test]
fn every_history_on_azure_is_linearizable() {
    check(SERVERS[4]);
}
