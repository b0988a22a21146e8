//! What goes well.

use std::os::unix::fs::PermissionsExt;

use tf_install::Kind;

use crate::lab::{Lab, left_in};
use crate::server::Reply;
use crate::sign::Publisher;
use crate::site::{DISCOVERY, DOWNLOAD, H1, SIGNATURE, SUMS, Site, VERSIONS, ZIP, package, sum};

#[test]
fn a_provider_is_found_fetched_proved_and_locked() {
    let server = Site::new().start();
    let mut lab = Lab::new(&server.pem);
    let found = lab.install(&format!("{}/acme/x", server.host), ">= 1.0").unwrap();
    assert_eq!(found.version.unwrap().to_string(), "1.0.0");
    assert_eq!(std::fs::read_to_string(&found.executable).unwrap(), "hello\n");
    assert_eq!(std::fs::metadata(&found.executable).unwrap().permissions().mode() & 0o777, 0o755);
    assert!(found.key.is_some());
    let asked: Vec<String> = server.asked().into_iter().map(|(path, _)| path).collect();
    assert_eq!(asked, [DISCOVERY, VERSIONS, DOWNLOAD, SUMS, SIGNATURE, ZIP]);
    let text = lab.lock.to_text();
    let wanted = format!(
        "provider \"{}/acme/x\" {{\n  version     = \"1.0.0\"\n  constraints = \">= 1.0.0\"\n  hashes = [\n    \"{H1}\",\n",
        server.host
    );
    assert!(text.contains(&wanted), "{text}");
    // The signed sums of all platforms.
    assert!(
        text.contains(&format!("zh:{}", sum(&package()))) && text.contains(&format!("zh:{}", sum(b"darwin"))),
        "{text}"
    );
    assert!(lab.warnings().is_empty());
}

#[test]
fn the_second_time_nothing_is_asked() {
    let server = Site::new().start();
    let mut lab = Lab::new(&server.pem);
    let address = format!("{}/acme/x", server.host);
    let first = lab.install(&address, ">= 1.0").unwrap();
    let asked = server.asked().len();
    lab.offline = true;
    assert_eq!(lab.install(&address, ">= 1.0").unwrap(), first);
    // Another project, whose lock is empty, gets the same hashes for an exact version.
    let lock = std::mem::take(&mut lab.lock);
    assert_eq!(lab.install(&address, "1.0.0").unwrap(), first);
    let hashes = |lock: &tf_install::Lock| lock.iter().next().unwrap().1.hashes.clone();
    assert_eq!(hashes(&lab.lock), hashes(&lock));
    assert_eq!(server.asked().len(), asked);
    // What is not there cannot be had without a network.
    assert_eq!(lab.install(&format!("{}/acme/y", server.host), "1.0.0").unwrap_err().kind, Kind::Unreachable);
}

#[test]
fn a_changed_package_is_noticed() {
    let server = Site::new().start();
    let mut lab = Lab::new(&server.pem);
    let address = format!("{}/acme/x", server.host);
    let found = lab.install(&address, "1.0.0").unwrap();
    // Times alone are no change.
    let file = std::fs::File::options().write(true).open(&found.executable).unwrap();
    file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    lab.install(&address, "1.0.0").unwrap();
    std::fs::write(&found.executable, "jello\n").unwrap();
    let error = lab.install(&address, "1.0.0").unwrap_err();
    assert_eq!(error.kind, Kind::Altered, "{error}");
    std::fs::remove_dir_all(&found.folder).unwrap();
    assert_eq!(
        std::fs::read_to_string(lab.install(&address, "1.0.0").unwrap().executable).unwrap(),
        "hello\n"
    );
    std::fs::write(found.folder.join("more"), "").unwrap();
    assert_eq!(lab.install(&address, "1.0.0").unwrap_err().kind, Kind::Altered);
}

#[test]
fn what_another_tool_has_cached_counts_if_the_lock_knows_it() {
    let server = Site::new().start();
    let mut lab = Lab::new(&server.pem);
    let address = format!("{}/acme/x", server.host);
    lab.install(&address, "1.0.0").unwrap();
    let note = left_in(&lab.cache()).into_iter().find(|path| path.ends_with(".hashes.json")).unwrap();
    std::fs::remove_file(&note).unwrap();
    lab.offline = true;
    lab.install(&address, "1.0.0").unwrap();
    // Without a lock it is compared with the real package.
    std::fs::remove_file(&note).unwrap();
    lab.offline = false;
    lab.lock = tf_install::Lock::default();
    let asked = server.asked().len();
    lab.install(&address, "1.0.0").unwrap();
    assert!(server.asked().len() > asked);
}

#[test]
fn a_token_goes_to_the_registry_and_not_to_downloads() {
    let mut site = Site::new();
    for path in [DISCOVERY, VERSIONS, DOWNLOAD] {
        let reply = site.replies[path].clone();
        site.set(path, Reply::Guarded("s3cr3t", Box::new(reply)));
    }
    let server = site.start();
    let mut lab = Lab::new(&server.pem);
    let error = lab.install(&format!("{}/acme/x", server.host), "").unwrap_err();
    assert_eq!(error.kind, Kind::Credentials);
    assert!(error.next.unwrap().contains("credentials"));
    lab.config = format!("credentials \"{}\" {{ token = \"s3cr3t\" }}", server.host);
    lab.install(&format!("{}/acme/x", server.host), "").unwrap();
    for (path, token) in server.asked().into_iter().rev().take(3) {
        assert!(path.starts_with("/files/") && token.is_none(), "{path}");
    }
}

#[test]
fn a_configured_service_is_not_asked_for() {
    let mut site = Site::new();
    site.replies.remove(DISCOVERY);
    let server = site.start();
    let mut lab = Lab::new(&server.pem);
    let base = format!("https://{}/v1/providers", server.host);
    lab.config = format!("host \"{}\" {{ services = {{ \"providers.v1\" = \"{base}\" }} }}", server.host);
    lab.install(&format!("{}/acme/x", server.host), "").unwrap();
}

#[test]
fn a_failure_of_a_host_and_a_good_redirect_are_survived() {
    let mut site = Site::new();
    for path in [VERSIONS, ZIP] {
        let reply = site.replies[path].clone();
        site.set(path, Reply::SecondTime(Box::new(reply)));
    }
    site.set("/files/elsewhere.sig", site.replies[SIGNATURE].clone());
    site.set(SIGNATURE, Reply::Redirect("/files/elsewhere.sig".into()));
    let server = site.start();
    Lab::new(&server.pem).install(&format!("{}/acme/x", server.host), "").unwrap();
}

#[test]
fn a_newer_version_comes_only_when_asked_for() {
    let mut site = Site::new();
    site.versions(&[("1.0.0", "5.0"), ("1.1.0", "6.0")]);
    site.publish("1.1.0", &package(), &Publisher::new(1), &Publisher::new(1));
    let server = site.start();
    let mut lab = Lab::new(&server.pem);
    let address = format!("{}/acme/x", server.host);
    let first = lab.install(&address, "~> 1.1.0").unwrap();
    assert_eq!(first.version.unwrap().to_string(), "1.1.0");
    let error = lab.install(&address, "1.0.0").unwrap_err();
    assert_eq!(error.kind, Kind::Locked, "{error}");
    lab.upgrade = true;
    assert_eq!(lab.install(&address, ">= 1.0").unwrap().version.unwrap().to_string(), "1.1.0");
}

#[test]
fn processes_that_want_the_same_share_one_download() {
    let server = Site::new().start();
    let lab = Lab::new(&server.pem);
    let address = format!("{}/acme/x", server.host);
    let installers: Vec<_> = (0..8).map(|_| lab.installer()).collect();
    std::thread::scope(|scope| {
        for installer in &installers {
            let address = tf_install::Address::parse(&address, "").unwrap();
            scope.spawn(move || {
                let constraints = tf_install::Constraints::parse("1.0.0").unwrap();
                let found = installer
                    .install(&address, &constraints, &mut tf_install::Lock::default(), &|_| {})
                    .unwrap();
                assert_eq!(std::fs::read_to_string(found.executable).unwrap(), "hello\n");
            });
        }
    });
    assert_eq!(server.asked().iter().filter(|(path, _)| path == ZIP).count(), 1);
}

#[test]
fn a_provider_in_development_is_taken_as_it_is() {
    let mut lab = Lab::new("");
    let folder = lab.folder.path().join("dev");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("terraform-provider-x"), "dev").unwrap();
    lab.config =
        format!("provider_installation {{ dev_overrides {{ \"acme/x\" = \"{}\" }} }}", folder.display());
    let found = lab.install("acme/x", "1.0.0").unwrap();
    assert_eq!((found.version, found.executable), (None, folder.join("terraform-provider-x")));
    assert_eq!(lab.lock.iter().count(), 0);
    assert!(lab.warnings()[0].contains("unverified"));
}
