//! What each medium promises about single objects, at every edge: condition, order, size, names.

use kusion_media::{Address, objects};
use kusion_store::{ObjectError, Objects, Plug, When, wait};

use crate::setup::{SERVERS, around};

#[test]
fn put_compares_and_lists_are_in_order() {
    for server in SERVERS {
        let Some(socket) = server.socket() else { continue };
        let address = Address::parse(&server.corner(&socket)).unwrap();
        let medium = objects(&address, &around(&Plug::default())).unwrap();
        let put = |name: &str, text: &str, when| wait(medium.put(name, text.as_bytes(), when)).unwrap();
        assert_eq!(wait(medium.get("a/b")).unwrap(), None, "{server:?}");
        assert_eq!(wait(medium.list("a/")).unwrap(), Vec::<String>::new(), "{server:?}");
        assert_eq!(put("a/b", "0", When::Version("17")), None, "{server:?}: nothing is there to replace");
        let first = put("a/b", "1", When::Absent).unwrap();
        assert_eq!(put("a/b", "2", When::Absent), None, "{server:?}");
        let second = put("a/b", "3", When::Version(&first)).unwrap();
        assert_eq!(put("a/b", "4", When::Version(&first)), None, "{server:?}: the version is old");
        let now = wait(medium.get("a/b")).unwrap().unwrap();
        assert_eq!((now.bytes.as_slice(), &now.version), (b"3".as_slice(), &second), "{server:?}");
        for name in ["a/c", "a/a", "ab", "b/x", "a/b0"] {
            put(name, name, When::Absent).unwrap();
        }
        assert_eq!(wait(medium.list("a/")).unwrap(), ["a/a", "a/b", "a/b0", "a/c"], "{server:?}");
        let all = wait(medium.get_chosen("a/", "a/a", &<[String]>::to_vec)).unwrap();
        let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["a/b", "a/b0", "a/c"], "{server:?}");
        assert_eq!(all[2].1, b"a/c", "{server:?}");
        wait(medium.remove(&["a/b".to_owned(), "a/nothing".to_owned()])).unwrap();
        assert_eq!(wait(medium.list("a/")).unwrap().len(), 3, "{server:?}");
    }
}

#[test]
fn large_objects_come_back_whole() {
    for server in SERVERS {
        let Some(socket) = server.socket() else { continue };
        let address = Address::parse(&server.corner(&socket)).unwrap();
        let medium = objects(&address, &around(&Plug::default())).unwrap();
        // Longer than two Secrets, and not the same everywhere.
        let large: Vec<u8> = (0..2_000_000_u32).flat_map(|n| [(n / 7) as u8]).collect();
        wait(medium.put("log/0", &large, When::Absent)).unwrap().unwrap();
        assert_eq!(wait(medium.put("log/0", b"other", When::Absent)).unwrap(), None, "{server:?}");
        assert!(wait(medium.get("log/0")).unwrap().unwrap().bytes == large, "{server:?}");
        assert!(
            wait(medium.get_chosen("log/", "", &<[String]>::to_vec)).unwrap()[0].1 == large,
            "{server:?}"
        );
        assert_eq!(wait(medium.list("log/")).unwrap(), ["log/0"], "{server:?}: parts are no objects");
        wait(medium.remove(&["log/0".to_owned()])).unwrap();
        assert_eq!(wait(medium.get("log/0")).unwrap(), None, "{server:?}");
    }
}

#[test]
fn one_of_many_that_race_for_a_name_gets_it() {
    for server in SERVERS {
        let Some(socket) = server.socket() else { continue };
        let corner = server.corner(&socket);
        let race = |round: u32| {
            let winners: usize = std::thread::scope(|threads| {
                let one = |n: u32| {
                    let address = Address::parse(&corner).unwrap();
                    move || {
                        let medium = objects(&address, &around(&Plug::default())).unwrap();
                        let text = format!("{round}-{n}");
                        let put = medium.put("name", text.as_bytes(), When::Absent);
                        usize::from(wait(put).unwrap().is_some())
                    }
                };
                let all: Vec<_> = (0..8).map(|n| threads.spawn(one(n))).collect();
                all.into_iter().map(|one| one.join().unwrap()).sum()
            });
            assert_eq!(winners, 1, "{server:?}, round {round}");
        };
        for round in 0..3 {
            race(round);
            let address = Address::parse(&corner).unwrap();
            wait(objects(&address, &around(&Plug::default())).unwrap().remove(&["name".to_owned()])).unwrap();
        }
    }
}

#[test]
fn wrong_credentials_and_places_are_refused_at_once_and_show_no_secret() {
    let mut around = around(&Plug::default());
    around.variables = vec![
        ("AWS_ACCESS_KEY_ID".to_owned(), testenv::services::S3_LOGIN.0.to_owned()),
        ("AWS_SECRET_ACCESS_KEY".to_owned(), "canary-secret".to_owned()),
        ("PGPASSWORD".to_owned(), "canary-secret".to_owned()),
    ];
    let told = |text: &str| {
        let medium = objects(&Address::parse(text).unwrap(), &around).unwrap();
        match wait(medium.get("state/x")) {
            Err(ObjectError::Refused(why)) => why,
            other => panic!("{text}: {other:?}"),
        }
    };
    if let Some(server) = testenv::services::s3() {
        let why = told(&format!("s3://state/x?endpoint={}&region=us-east-1", server.endpoint));
        assert!(why.contains("credentials") && !why.contains("canary"), "{why}");
    }
    if let Some(server) = testenv::services::postgres() {
        let why = told(&format!("postgres://test@127.0.0.1:{}/nowhere", server.port));
        assert!(why.contains("nowhere") && !why.contains("canary"), "{why}");
    }
}

#[test]
fn missing_bucket_is_not_an_empty_one() {
    let Some(server) = testenv::services::s3() else { return };
    let address = format!("s3://no-such-bucket/x?endpoint={}&region=us-east-1", server.endpoint);
    let medium = objects(&Address::parse(&address).unwrap(), &around(&Plug::default())).unwrap();
    let told = wait(medium.get("state/x")).unwrap_err();
    assert!(matches!(&told, ObjectError::Refused(why) if why.contains("no such bucket")), "{told:?}");
}
