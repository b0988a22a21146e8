//! tofu as the judge: it accepts our lock files and mirrors, and writes the same bytes. Runs where tofu is built.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::lab::Lab;
use crate::server::Server;
use crate::site::Site;

/// A registry that tofu can ask, too: its certificate is trusted by a file.
struct Bench {
    lab: Lab,
    server: Server,
    tofu: PathBuf,
}

impl Bench {
    fn new(site: Site) -> Option<Bench> {
        let tofu = testenv::peer("tofu")?;
        let server = site.start();
        let lab = Lab::new(&server.pem);
        std::fs::write(lab.folder.path().join("ca.pem"), &server.pem).unwrap();
        std::fs::write(lab.folder.path().join("rc"), "disable_checkpoint = true\n").unwrap();
        Some(Bench { lab, server, tofu })
    }

    fn name(&self) -> String {
        format!("{}/acme/x", self.server.host)
    }

    /// A folder with a configuration that asks for the provider.
    fn project(&self, name: &str, constraint: &str) -> PathBuf {
        let folder = self.lab.folder.path().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let text = serde_json::json!({"terraform": {"required_providers": {"x": {"source": self.name(), "version": constraint}}}});
        std::fs::write(folder.join("main.tf.json"), text.to_string()).unwrap();
        folder
    }

    fn run(&self, folder: &Path, words: &[&str]) -> Result<String, String> {
        let home = self.lab.folder.path();
        let output = Command::new(&self.tofu)
            .args(words)
            .current_dir(folder)
            .env("HOME", home)
            .env("SSL_CERT_FILE", home.join("ca.pem"))
            .env("TF_CLI_CONFIG_FILE", home.join("rc"))
            .output()
            .unwrap();
        let text =
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        if output.status.success() { Ok(text) } else { Err(text) }
    }
}

#[test]
fn both_write_the_same_lock_file_and_accept_each_others() {
    for constraint in ["1.0.0", "~> 1", ">= 1.0, < 2.0.0", "!= 1.5.0, >= 0.5, < 2"] {
        let Some(mut bench) = Bench::new(Site::new()) else { return };
        let theirs = bench.project("theirs", constraint);
        bench.run(&theirs, &["init", "-input=false"]).unwrap();
        let their_lock = std::fs::read_to_string(theirs.join(".terraform.lock.hcl")).unwrap();
        bench.lab.install(&bench.name(), constraint).unwrap();
        let our_lock = bench.lab.lock.to_text();
        assert_eq!(our_lock, their_lock, "{constraint}");
        // tofu takes our lock as it is, and does not write it anew.
        let ours = bench.project("ours", constraint);
        std::fs::write(ours.join(".terraform.lock.hcl"), &our_lock).unwrap();
        bench.run(&ours, &["init", "-input=false", "-lockfile=readonly"]).unwrap();
        // We take theirs.
        bench.lab.lock = tf_install::Lock::parse(&their_lock).unwrap();
        bench.lab.install(&bench.name(), constraint).unwrap();
        assert_eq!(bench.lab.lock.to_text(), their_lock);
    }
}

#[test]
fn tofu_installs_from_our_mirrors_and_from_our_cache() {
    let Some(bench) = Bench::new(Site::new()) else { return };
    let address = tf_install::Address::parse(&bench.name(), "").unwrap();
    let wanted = tf_install::Constraints::parse("1.0.0").unwrap();
    let home = bench.lab.folder.path();
    let mut lock = tf_install::Lock::default();
    bench.lab.installer().mirror(&address, &wanted, &mut lock, &home.join("mirror"), &|_| {}).unwrap();
    let project = bench.project("mirrored", "1.0.0");
    std::fs::write(project.join(".terraform.lock.hcl"), lock.to_text()).unwrap();
    let rc = format!(
        "provider_installation {{ filesystem_mirror {{ path = \"{}\" }} }}",
        home.join("mirror").display()
    );
    std::fs::write(home.join("rc"), rc).unwrap();
    let before = bench.server.asked().len();
    bench.run(&project, &["init", "-input=false"]).unwrap();
    assert_eq!(bench.server.asked().len(), before);
    assert_eq!(std::fs::read_to_string(project.join(".terraform.lock.hcl")).unwrap(), lock.to_text());

    // The layout of our cache is that of theirs.
    bench.lab.installer().install(&address, &wanted, &mut lock, &|_| {}).unwrap();
    std::fs::write(home.join("rc"), format!("plugin_cache_dir = \"{}\"", bench.lab.cache().display()))
        .unwrap();
    let project = bench.project("cached", "1.0.0");
    std::fs::write(project.join(".terraform.lock.hcl"), lock.to_text()).unwrap();
    bench.run(&project, &["init", "-input=false"]).unwrap();
    let zips = bench.server.asked().iter().filter(|(path, _)| path.ends_with(".zip")).count();
    assert_eq!(zips, 2, "one for the mirror, one for the cache, none for tofu");
}

#[test]
fn the_same_versions_are_chosen_and_the_same_constraints_refused() {
    let mut site = Site::new();
    let versions = ["1.0.1", "1.1.0", "1.9.0", "2.0.0", "2.1.0-beta1"];
    site.versions(&versions.map(|version| (version, "5.0")));
    let Some(bench) = Bench::new(site) else { return };
    for constraint in [
        "~> 1.0.0",
        "~> 1.0",
        "~> 1",
        ">= 1.0, < 2.0.0",
        "!= 2.0.0",
        "2.1.0-beta1",
        ">= 2.1.0-beta1",
        "1",
        "> 5",
        "v1.0.1",
        "1.x",
    ] {
        let project = bench.project("versions", constraint);
        // Only some versions can be downloaded: which one is asked for says which one was chosen.
        let before = bench.server.asked().len();
        let _ = bench.run(&project, &["init", "-input=false"]).unwrap_err();
        let asked = bench.server.asked();
        let theirs = asked[before..].iter().find_map(|(path, _)| {
            Some(path.strip_prefix("/v1/providers/acme/x/")?.split_once("/download/")?.0.to_owned())
        });
        let offered: Vec<tf_install::Version> =
            versions.iter().map(|v| tf_install::Version::parse(v).unwrap()).collect();
        let ours = tf_install::Constraints::parse(constraint).ok();
        let ours = ours.and_then(|constraints| Some(constraints.newest(&offered)?.to_string()));
        assert_eq!(ours, theirs, "{constraint}");
    }
}
