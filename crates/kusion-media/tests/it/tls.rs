//! Secret connections to PostgreSQL: a certificate is always checked, and one that does not fit is refused at once.

use std::path::Path;

use kusion_media::{Address, objects, open};
use kusion_store::{ObjectError, Plug, wait};

use crate::setup::{Medium, around, at, key, release};

#[test]
fn postgres_is_spoken_to_in_secret() {
    let Some(secret) = testenv::tls::secret_postgres() else { return };
    let port = secret.server.port;
    for mode in ["require", "verify-ca", "verify-full"] {
        let authority = secret.authority.display();
        let address = format!(
            "postgres://test@127.0.0.1:{port}/postgres?schema=s{}&sslmode={mode}&sslrootcert={authority}",
            mode.replace('-', "_")
        );
        let backend = open(&Address::parse(&address).unwrap(), &around(&Plug::default())).unwrap();
        let medium = Medium::on(backend, Plug::default(), || {});
        let mut session = medium.open().unwrap();
        release(&mut session, &["a"]).unwrap();
        wait(session.close(at(1))).unwrap();
        assert!(medium.read().records.contains_key(&key("a")), "{mode}");
    }
    let log = secret.server.log();
    assert!(log.contains("SSL enabled (protocol=TLSv1.3"), "{log}");
}

#[test]
fn certificate_that_does_not_fit_is_refused_at_once() {
    let Some(secret) = testenv::tls::secret_postgres() else { return };
    let port = secret.server.port;
    let told = |host: &str, settings: &str| {
        let address = format!("postgres://test@{host}:{port}/postgres?{settings}");
        let medium = objects(&Address::parse(&address).unwrap(), &around(&Plug::default())).unwrap();
        match wait(medium.get("state/x")) {
            Err(ObjectError::Refused(why)) => why,
            other => panic!("{address}: {other:?}"),
        }
    };
    let by = |file: &Path| format!("sslrootcert={}", file.display());
    for mode in ["require", "verify-full"] {
        let why = told("127.0.0.1", &format!("sslmode={mode}&{}", by(&secret.stranger)));
        assert!(why.contains("certificate") && why.contains("sslrootcert=FILE"), "{mode}: {why}");
        // Of the authorities of this machine none has signed it.
        let why = told("127.0.0.1", &format!("sslmode={mode}"));
        assert!(why.contains("certificate"), "{mode}: {why}");
        // The right authority, for another name.
        let why = told("localhost", &format!("sslmode={mode}&{}", by(&secret.authority)));
        assert!(why.contains("certificate"), "{mode}: {why}");
    }
    // In clear the server does not talk to anybody.
    let why = told("127.0.0.1", "sslmode=disable");
    assert!(why.contains("no encryption"), "{why}");
    // And one that has no certificate is not talked to in clear by who asked for a secret.
    if let Some(plain) = testenv::services::postgres() {
        let address = format!("postgres://test@127.0.0.1:{}/postgres?sslmode=require", plain.port);
        let medium = objects(&Address::parse(&address).unwrap(), &around(&Plug::default())).unwrap();
        let why = wait(medium.get("state/x")).unwrap_err();
        assert!(matches!(&why, ObjectError::Refused(why) if why.contains("does not support TLS")), "{why:?}");
    }
}
