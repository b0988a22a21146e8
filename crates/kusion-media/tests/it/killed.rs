//! A writing process that is killed: everything it was told is there, and the next writer goes on.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use kusion_store::{Plug, wait};

use crate::checker::Dice;
use crate::setup::{SERVERS, at, key, long, medium_at, release};

const ADDRESS: &str = "KUSION_TEST_WRITER";

/// What the child does: releases, one after the other, each told when it is acknowledged.
#[test]
fn child_that_writes() {
    let Ok(address) = std::env::var(ADDRESS) else { return };
    let medium = medium_at(&address, Plug::default());
    let mut session = medium.open().unwrap();
    for number in 0_u32.. {
        release(&mut session, &[&format!("m{number}")]).unwrap();
        if number % 7 == 6 {
            wait(session.compact(2)).unwrap();
        }
        writeln!(std::io::stderr(), "acknowledged {number}").unwrap();
    }
}

#[test]
fn killed_writer_loses_nothing_that_it_was_told() {
    let mut dice = Dice(7);
    for server in SERVERS {
        let Some(socket) = server.socket() else { continue };
        for _ in 0..if long() { 20 } else { 2 } {
            let address = server.corner(&socket);
            let mut child = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "killed::child_that_writes", "--nocapture"])
                .env(ADDRESS, &address)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            let told = BufReader::new(child.stderr.take().unwrap()).lines();
            let (mut last, enough) = (None, dice.roll(12));
            for line in told.map_while(Result::ok) {
                let Some(number) = line.strip_prefix("acknowledged ") else { continue };
                last = number.parse::<u32>().ok();
                if last.is_some_and(|last| u64::from(last) >= enough) {
                    std::thread::sleep(std::time::Duration::from_micros(dice.roll(20_000)));
                    // SIGKILL, wherever it is.
                    child.kill().unwrap();
                }
            }
            child.wait().unwrap();
            let last = last.expect("it wrote");
            let medium = medium_at(&address, Plug::default());
            let mut session = medium.open().unwrap();
            for number in 0..=last {
                let known = session.state().records.contains_key(&key(&format!("m{number}")));
                assert!(known, "{server:?}: m{number} of {last} is lost");
            }
            release(&mut session, &["next"]).unwrap();
            wait(session.close(at(2))).unwrap();
            assert!(medium.read().records.contains_key(&key("next")), "{server:?}");
        }
    }
}
