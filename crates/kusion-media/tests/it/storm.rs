//! Many writers, each with a connection of its own, race for one stack: no release is lost, no number used twice.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use kusion_store::{Liveness, Plug, StoreError, wait};

use crate::checker::Dice;
use crate::setup::{SERVERS, Server, at, long, medium_at, release};

fn storm(server: Server) {
    let Some(socket) = server.socket() else { return };
    let (writers, commits) = if long() { (50, 200) } else { (8, 4) };
    let corner = server.corner(&socket);
    let fenced = AtomicU64::new(0);
    let write = |writer: u64| {
        let (medium, mut dice) = (medium_at(&corner, Plug::default()), Dice(writer));
        let mut number = 0;
        while number < commits {
            let mut session = loop {
                match medium.acquire(&format!("u{writer}"), Liveness::Alive) {
                    Ok(session) => break session,
                    Err(StoreError::Locked { .. } | StoreError::Fenced { .. }) => {
                        std::thread::sleep(Duration::from_millis(1 + dice.roll(4 * writers)));
                    }
                    Err(error) => panic!("{server:?}, writer {writer}: {error}"),
                }
            };
            // Who was told that it is written finds it at the end; who was fenced is told so, and commits again.
            let name = format!("m{writer}-{number}");
            let done = release(&mut session, &[&name]).and_then(|_| wait(session.close(at(2))));
            match done {
                Ok(()) => number += 1,
                Err(StoreError::Fenced { .. } | StoreError::Stale { .. } | StoreError::NotOpen { .. }) => {
                    fenced.fetch_add(1, Ordering::Relaxed);
                }
                Err(error) => panic!("{server:?}, writer {writer}: {error}"),
            }
        }
    };
    std::thread::scope(|threads| {
        for writer in 0..writers {
            let write = &write;
            threads.spawn(move || write(writer));
        }
    });
    let state = medium_at(&corner, Plug::default()).read();
    assert_eq!(state.records.len() as u64, writers * commits, "{server:?}: nothing that was told is lost");
    // Nobody takes a lease from one who lives.
    assert_eq!(fenced.load(Ordering::Relaxed), 0, "{server:?}");
    assert_eq!(state.releases.len() as u64, writers * commits, "{server:?}");
    assert_eq!(state.serial, 3 * writers * commits, "{server:?}: no number is used twice or left out");
}

#[test]
fn storm_of_writers_on_postgres_loses_nothing() {
    storm(SERVERS[0]);
}

#[test]
fn storm_of_writers_on_s3_loses_nothing() {
    storm(SERVERS[1]);
}

#[test]
fn storm_of_writers_on_kubernetes_loses_nothing() {
    storm(SERVERS[2]);
}

#[test]
fn storm_of_writers_on_google_loses_nothing() {
    storm(SERVERS[3]);
}

#[test]
fn storm_of_writers_on_azure_loses_nothing() {
    storm(SERVERS[4]);
}
