//! A network that fails at one step of lock, commit, heartbeat, snapshot, unlock, rotation or migration: the run goes on as if nothing had
//! been, nothing that was acknowledged is lost, and nothing is written twice.

use std::time::Duration;

use kusion_media::{Address, open};
use kusion_store::{Claim, Liveness, Owner, Places, Plug, StoreError, wait};

use crate::crash::{scenario, tells_the_truth};
use crate::proxy::{FAULTS, Fault, Proxy};
use crate::sealed::rotate;
use crate::setup::{Medium, SERVERS, Server, around, at, long, medium_at, owner};

/// A client behind the proxy that gives a request up before the proxy does.
fn behind(proxy: &Proxy, server: Server) -> (Medium, String) {
    let corner = server.corner(&proxy.socket);
    let mut around = around(&Plug::default());
    around.patience.limit = Duration::from_millis(1500);
    let backend = open(&Address::parse(&corner).unwrap(), &around).unwrap();
    (Medium::on(backend, Plug::default(), || {}), corner)
}

fn at_every_step(server: Server) {
    let Some(socket) = server.socket() else { return };
    let proxy = Proxy::start(&socket);
    for (offset, fault) in FAULTS.into_iter().enumerate() {
        let stride = if long() { 1 } else { 37 };
        let mut steps = if long() { 0 } else { i64::try_from(offset).unwrap() * 5 };
        loop {
            let (medium, corner) = behind(&proxy, server);
            proxy.arm(steps, fault);
            let context = format!("{server:?}, {fault:?} at request {steps}");
            let mut done = Vec::new();
            scenario(&medium, &mut done).unwrap_or_else(|error| panic!("{context}: {error}"));
            assert_eq!(medium.read().serial, 8, "{context}: written twice, or not at all");
            rotate(&medium.store(), None).unwrap_or_else(|error| panic!("{context}, rotating: {error}"));
            assert_eq!(medium.read().serial, 9, "{context}");
            migrates(&medium, &behind(&proxy, server).0, &context);
            let struck = proxy.has_struck();
            proxy.arm(i64::MAX, Fault::Drop);
            // Somebody else, who talks to the server directly, sees the same.
            let own = corner.replace(&proxy.socket, &socket);
            let own = if server == Server::Kubernetes { crate_kubeconfig(&own) } else { own };
            let left = wait(medium_at(&own, Plug::default()).store().read());
            assert!(matches!(left, Err(StoreError::Moved { .. })), "{context}: the old place is closed");
            assert!(done.contains(&"end"), "{context}");
            if !struck {
                break;
            }
            steps += stride;
        }
    }
    assert!(proxy.n_requests() > 100, "{server:?}");
}

/// The state goes on to another corner of the same server.
fn migrates(from: &Medium, to: &Medium, context: &str) {
    let places = Places { from: "here".to_owned(), to: "there".to_owned() };
    let (elapsed, alive) = (Duration::ZERO, &|_: &Owner| Liveness::Dead);
    let claim = Claim { owner: owner("li"), now: at(60), elapsed, alive };
    let before = from.read();
    wait(from.store().migrate(&to.store(), &claim, &places))
        .unwrap_or_else(|error| panic!("{context}, moving: {error}"));
    let after = to.read();
    assert_eq!((&after.records, after.serial), (&before.records, before.serial + 2), "{context}");
    tells_the_truth(to, &["first", "begin", "a", "b", "end"], context);
}

/// The address with the kubeconfig of the cluster itself.
fn crate_kubeconfig(address: &str) -> String {
    let (before, _) = address.split_once("?kubeconfig=").unwrap();
    format!("{before}?kubeconfig={}", crate::setup::cluster().0)
}

#[test]
fn network_that_fails_at_any_step_does_no_harm_on_postgres() {
    at_every_step(SERVERS[0]);
}

#[test]
fn network_that_fails_at_any_step_does_no_harm_on_s3() {
    at_every_step(SERVERS[1]);
}

#[test]
fn network_that_fails_at_any_step_does_no_harm_on_kubernetes() {
    at_every_step(SERVERS[2]);
}

#[test]
fn network_that_fails_at_any_step_does_no_harm_on_google() {
    at_every_step(SERVERS[3]);
}

#[test]
fn network_that_fails_at_any_step_does_no_harm_on_azure() {
    at_every_step(SERVERS[4]);
}
