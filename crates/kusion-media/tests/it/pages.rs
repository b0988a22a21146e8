//! The addresses of the user's page work, on the servers of the tests.

use kusion_media::{Address, open};
use kusion_store::{Plug, Store, wait};

use crate::setup::{Medium, Server, around, at, cluster, release, scope};

#[test]
fn addresses_of_the_page_work() {
    let pages = [
        include_str!("../../../../docs/backends.md"),
        include_str!("../../../../docs/book/src/backends/s3.md"),
        include_str!("../../../../docs/book/src/backends/postgres.md"),
        include_str!("../../../../docs/book/src/backends/kubernetes.md"),
    ];
    let blocks =
        |page: &'static str| page.split("```text\n").skip(1).filter_map(|rest| rest.split("\n```").next());
    let mut tried = 0;
    for example in pages.into_iter().flat_map(blocks) {
        let server = match example.split("://").next().unwrap() {
            "s3" => Server::S3,
            "postgres" => Server::Postgres,
            "kubernetes" => Server::Kubernetes,
            other => panic!("no server for {other}"),
        };
        tried += 1;
        let Some(socket) = server.socket() else { continue };
        let address = match server {
            Server::Kubernetes => format!("{example}?kubeconfig={}", cluster().0),
            _ => example.replace("127.0.0.1:9000", &socket).replace("127.0.0.1:5432", &socket),
        };
        let backend = open(&Address::parse(&address).unwrap(), &around(&Plug::default())).unwrap();
        let medium = Medium::on(backend, Plug::default(), || {});
        let mut session = medium.open().unwrap();
        let before = session.state().releases.len();
        release(&mut session, &["a"]).unwrap();
        wait(session.close(at(1))).unwrap();
        assert_eq!(medium.read().releases.len(), before + 1, "{example}");
        assert_eq!(wait(Store::new(medium.backend.clone()).list()).unwrap(), [scope()], "{example}");
    }
    assert_eq!(tried, 6, "an example for each, on both pages");
}

#[test]
fn corpus_of_the_fuzz_target_holds() {
    testkit::replay_corpora(&[("backend", kusion_media::fuzz_address)]);
}
