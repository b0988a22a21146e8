//! `kcl mod` with real servers: the registry of Debian's package `docker-registry` (TLS, passwords), repositories behind
//! `git http-backend`, a proxy, a network that is cut, servers that stand still, several processes at once.
#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use testenv::packages::{GitServer, RegistryOptions, RegistryServer};

/// User `team`, password `open sesame`, and the same user with another password, both bcrypt.
const OPEN_SESAME: &str = "team:$2b$05$abcdefghijklmnopqrstuupx2xBUC4954936wVIjyyPHmUBFu0wCW\n";
const ANOTHER: &str = "team:$2b$05$abcdefghijklmnopqrstuu5s2v8.iXieOjg/.AySBTTZIIVFJeBuO\n";

struct Lab {
    folder: tempfile::TempDir,
    variables: Vec<(String, String)>,
}

impl Lab {
    /// A module `web` that others use, and a module `shop` that uses it.
    fn new() -> Lab {
        let lab = Lab { folder: tempfile::tempdir().unwrap(), variables: Vec::new() };
        lab.write("web/kcl.mod", "[package]\nname = \"web\"\nversion = \"1.2.0\"\n");
        lab.write("web/web.k", "port = 8080\n");
        lab.write("shop/kcl.mod", "[package]\nname = \"shop\"\nversion = \"0.1.0\"\n");
        lab.write("shop/main.k", "import web\n\nport = web.port\n");
        lab
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.path(path)).unwrap_or_default()
    }

    fn set(&mut self, name: &str, value: impl Into<String>) {
        self.variables.retain(|(known, _)| known != name);
        self.variables.push((name.to_owned(), value.into()));
    }

    fn command(&self, program: &str, folder: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.path(folder)).env("HOME", self.path("home")).env("NO_COLOR", "1");
        for name in ["KCL_PKG_PATH", "DOCKER_CONFIG", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"] {
            command.env_remove(name).env_remove(name.to_lowercase());
        }
        command.envs(self.variables.iter().cloned());
        command
    }

    fn kcl(&self, folder: &str, words: &[&str]) -> Output {
        self.command(env!("CARGO_BIN_EXE_kcl"), folder).args(words).output().unwrap()
    }

    #[track_caller]
    fn says(&self, folder: &str, words: &[&str]) -> String {
        let output = self.kcl(folder, words);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{words:?}: {text}{}", String::from_utf8_lossy(&output.stderr));
        text.replace(&self.folder.path().display().to_string(), "LAB")
    }

    /// A call that is refused: with these words, and without a trace in module, store and locks.
    #[track_caller]
    fn refuses(&self, folder: &str, words: &[&str], says: &str) -> String {
        let files = ["kcl.mod", "kcl.mod.lock"].map(|name| format!("{folder}/{name}"));
        let before = files.clone().map(|file| self.read(&file));
        let kept = self.kept();
        let output = self.kcl(folder, words);
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{words:?}: {told}");
        assert!(told.contains(says), "{words:?}: {told}");
        assert_eq!(files.map(|file| self.read(&file)), before, "{words:?} changed the module");
        assert_eq!(self.kept(), kept, "{words:?} left something in the store");
        for entry in std::fs::read_dir(self.path("home/.kcl/kpm/locks")).into_iter().flatten().flatten() {
            std::fs::File::open(entry.path()).unwrap().try_lock().unwrap();
        }
        told
    }

    /// Names in the store, those of unfinished contents included.
    fn kept(&self) -> Vec<String> {
        let listed = std::fs::read_dir(self.path("home/.kcl/kpm/store")).into_iter().flatten().flatten();
        let mut names: Vec<String> = listed.map(|entry| entry.file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn git(&self, name: &str, words: &[&str]) {
        let who = ["-c", "user.name=t", "-c", "user.email=t@example.org"];
        let done = self.command("git", name).args(who).args(words).output().unwrap();
        assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
    }

    /// A certificate of its own for loopback; returns its file and that of its key.
    fn certificate(&self) -> (PathBuf, PathBuf) {
        let key = rcgen::KeyPair::generate().unwrap();
        let params = rcgen::CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
        self.write("registry.pem", &params.self_signed(&key).unwrap().pem());
        self.write("registry.key", &key.serialize_pem());
        (self.path("registry.pem"), self.path("registry.key"))
    }
}

#[test]
fn a_registry_with_tls_and_passwords() {
    let mut lab = Lab::new();
    lab.write("passwords", OPEN_SESAME);
    let (tls, passwords) = (Some(lab.certificate()), Some(lab.path("passwords")));
    let Some(server) = RegistryServer::start(&RegistryOptions { tls, passwords }) else { return };
    let (host, address) = (server.host.as_str(), format!("oci://{}/team/web", server.host));
    lab.set("OCI_REG_PLAIN_HTTP", "off");
    // A certificate that nobody vouches for is no certificate.
    lab.refuses("web", &["mod", "push", &address], "certificate");
    lab.set("SSL_CERT_FILE", lab.path("registry.pem").display().to_string());
    let told = lab.refuses("web", &["mod", "push", &address], "does not let strangers in");
    assert!(told.contains(&format!("kcl registry login {host}")), "{told}");
    lab.refuses(
        "web",
        &["registry", "login", host, "-u", "team", "-p", "no"],
        "does not take the credentials",
    );
    assert_eq!(lab.read("home/.docker/config.json"), "", "nothing is remembered that was refused");
    let login = ["registry", "login", host, "-u", "team", "-p", "open sesame"];
    assert!(lab.says("web", &login).contains("knows you"));
    assert!(
        lab.says("web", &["mod", "push", &address]).starts_with(&format!("pushed {host}/team/web:1.2.0"))
    );
    assert_eq!(lab.says("shop", &["mod", "add", &address]), "added web 1.2.0: `import web`\n");
    assert_eq!(lab.says("shop", &["run"]), "port: 8080\n");
    assert_eq!(lab.says("shop", &["mod", "verify"]), "1 package is what kcl.mod.lock says\n");
    assert_eq!(lab.says("shop", &["run", &format!("{address}:1.2.0")]), "port: 8080\n");
    assert_eq!(lab.says("shop", &["mod", "pull", &address]), "./web_1.2.0 (2 files)\n");
    // The password was changed: what is remembered has expired.
    std::thread::sleep(Duration::from_millis(1100));
    lab.write("passwords", ANOTHER);
    lab.says("shop", &["clean", "-y"]);
    let told = lab.refuses("shop", &["mod", "update"], "does not take the credentials it has of you");
    assert!(told.contains("they may have expired"), "{told}");
    assert!(lab.says("shop", &["registry", "logout", host]).contains("forgotten"));
    lab.refuses("shop", &["mod", "update"], "does not let strangers in");
}

#[test]
fn credentials_stay_in_the_helper_of_the_user() {
    let mut lab = Lab::new();
    lab.write("passwords", OPEN_SESAME);
    let options = RegistryOptions { passwords: Some(lab.path("passwords")), ..RegistryOptions::default() };
    let Some(server) = RegistryServer::start(&options) else { return };
    let vault = lab.path("vault.json");
    let script = format!(
        "#!/bin/sh\ncase $1 in\nstore) cat > {0};;\nget) cat > /dev/null; if [ -f {0} ]; then cat {0}; else echo 'credentials not found in native keychain'; exit 1; fi;;\nerase) cat > /dev/null; rm -f {0};;\nesac\n",
        vault.display()
    );
    lab.write("bin/docker-credential-lab", &script);
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(lab.path("bin/docker-credential-lab"), executable).unwrap();
    lab.write("home/.docker/config.json", "{\"credsStore\": \"lab\"}");
    lab.set("PATH", format!("{}:{}", lab.path("bin").display(), std::env::var("PATH").unwrap()));
    let (host, address) = (server.host.as_str(), format!("oci://{}/team/web", server.host));
    lab.refuses("web", &["mod", "push", &address], "does not let strangers in");
    let login = ["registry", "login", host, "-u", "team", "-p", "open sesame"];
    assert!(lab.says("web", &login).contains("remembered in docker-credential-lab"));
    lab.says("web", &["mod", "push", &address]);
    assert_eq!(lab.read("home/.docker/config.json"), "{\"credsStore\": \"lab\"}", "no password in the file");
    lab.says("web", &["registry", "logout", host]);
    assert!(!vault.exists());
}

#[test]
fn after_vendor_nothing_needs_a_network() {
    let mut lab = Lab::new();
    let Some(server) = RegistryServer::start(&RegistryOptions::default()) else { return };
    lab.set("KPM_REG", server.host.clone());
    lab.set("KPM_REPO", "team");
    // The default registry, a repository over HTTP, and a package that brings another one.
    lab.write("base/kcl.mod", "[package]\nname = \"base\"\nversion = \"0.3.0\"\n");
    lab.write("base/base.k", "level = 3\n");
    lab.git("base", &["init", "--quiet"]);
    lab.git("base", &["add", "-A"]);
    lab.git("base", &["commit", "--quiet", "-m", "first"]);
    lab.git("base", &["tag", "v0.3.0"]);
    let git = GitServer::start(&lab.path(""), None);
    let url = format!("http://{}/base/.git", git.host);
    lab.says("web", &["mod", "add", "--git", &url]);
    lab.write("web/web.k", "import base\n\nport = 8080 + base.level\n");
    assert!(lab.says("web", &["mod", "push"]).contains("/team/web:1.2.0"));
    assert_eq!(lab.says("shop", &["mod", "add", "web:1.2.0"]), "added web 1.2.0: `import web`\n");
    assert_eq!(lab.says("shop", &["mod", "vendor"]), "2 packages in LAB/shop/vendor\n");
    drop((server, git));
    std::fs::remove_dir_all(lab.path("home")).unwrap();
    let cut = |words: &[&str]| {
        let mut command = lab.command("unshare", "shop");
        command.args(["--net", "--map-root-user", env!("CARGO_BIN_EXE_kcl")]).args(words).output().unwrap()
    };
    let first = cut(&["run"]);
    if String::from_utf8_lossy(&first.stderr).contains("unshare") {
        testenv::skip("a cut network: this machine does not allow a network namespace");
        return;
    }
    assert_eq!(
        String::from_utf8_lossy(&first.stdout),
        "port: 8083\n",
        "{}",
        String::from_utf8_lossy(&first.stderr)
    );
    for (words, says) in [
        (&["mod", "verify"][..], "2 packages are what kcl.mod.lock says\n"),
        (&["mod", "tree"], "shop@0.1.0\n└─ web@1.2.0\n   └─ base@0.3.0\n"),
        (&["mod", "update", "--locked", "--offline"], "2 packages; kcl.mod.lock is as it was\n"),
    ] {
        let output = cut(words);
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(told, says, "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    // Without the copies it is told what is missing.
    std::fs::remove_dir_all(lab.path("shop/vendor")).unwrap();
    let output = cut(&["mod", "verify"]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(1) && told.contains("cannot reach"), "{told}");
}

/// Hands connections on to a server. While it is stopped, what comes is held back and nothing is answered.
struct Relay {
    host: String,
    stopped: Arc<AtomicBool>,
    waiting: Arc<AtomicUsize>,
}

fn relay(to: &str) -> Relay {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let (stopped, waiting) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let (to, stop, count) = (to.to_owned(), stopped.clone(), waiting.clone());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            if stop.load(Ordering::SeqCst) {
                count.fetch_add(1, Ordering::SeqCst);
                // Held open until the test ends.
                std::mem::forget(stream);
                continue;
            }
            let Ok(server) = TcpStream::connect(&to) else { continue };
            pair(stream, server);
        }
    });
    Relay { host, stopped, waiting }
}

/// Copies both ways, each in a thread of its own.
fn pair(one: TcpStream, other: TcpStream) {
    for (mut from, mut to) in [(one.try_clone().unwrap(), other.try_clone().unwrap()), (other, one)] {
        std::thread::spawn(move || {
            let _ = std::io::copy(&mut from, &mut to);
            let _ = to.shutdown(Shutdown::Write);
        });
    }
}

#[test]
fn servers_that_stand_still_are_given_up() {
    let mut lab = Lab::new();
    lab.set("KCL_FETCH_TIMEOUT", "1");
    let silent = relay("127.0.0.1:1");
    silent.stopped.store(true, Ordering::SeqCst);
    let begun = Instant::now();
    let (oci, git) =
        (format!("oci://{}/team/web:1.0.0", silent.host), format!("http://{}/web.git", silent.host));
    lab.refuses("shop", &["mod", "add", &oci], "does not answer in time");
    lab.refuses("shop", &["mod", "add", "--git", &git, "--tag", "v1"], "Operation too slow");
    assert!(begun.elapsed() < Duration::from_secs(120), "{:?}", begun.elapsed());
    // A body that begins and then stands still.
    let half = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = half.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for mut stream in half.incoming().flatten() {
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"schemaVersion\"");
            std::mem::forget(stream);
        }
    });
    lab.refuses("shop", &["mod", "add", &format!("oci://{host}/team/web:1.0.0")], "the answer stands still");
}

#[test]
fn processes_share_a_store_and_one_that_is_killed_holds_nobody_up() {
    let lab = Lab::new();
    let Some(server) = RegistryServer::start(&RegistryOptions::default()) else { return };
    lab.says("web", &["mod", "push", &format!("oci://{}/team/web", server.host)]);
    let relay = relay(&server.host);
    let modules: Vec<String> = (0..6).map(|number| format!("shop{number}")).collect();
    for module in &modules {
        let need = format!("web = {{ oci = \"oci://{}/team/web\", tag = \"1.2.0\" }}", relay.host);
        lab.write(
            &format!("{module}/kcl.mod"),
            &format!("[package]\nname = \"{module}\"\nversion = \"0.1.0\"\n[dependencies]\n{need}\n"),
        );
        lab.write(&format!("{module}/main.k"), "import web\n\nport = web.port\n");
    }
    // The first one holds the lock of the source and waits for the registry for ever.
    relay.stopped.store(true, Ordering::SeqCst);
    let update = |module: &str| {
        let mut command = lab.command(env!("CARGO_BIN_EXE_kcl"), module);
        command.args(["mod", "update"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let mut first = update(&modules[0]);
    let begun = Instant::now();
    while relay.waiting.load(Ordering::SeqCst) == 0 {
        assert!(begun.elapsed() < Duration::from_secs(60), "nobody asked the registry");
        std::thread::sleep(Duration::from_millis(5));
    }
    relay.stopped.store(false, Ordering::SeqCst);
    let others: Vec<_> = modules[1..].iter().map(|module| update(module)).collect();
    first.kill().unwrap();
    first.wait().unwrap();
    for child in others {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(lab.kept().len(), 1, "one content, and nothing unfinished: {:?}", lab.kept());
    for module in &modules[1..] {
        assert_eq!(lab.says(module, &["run"]), "port: 8080\n");
    }
}

#[test]
fn a_proxy_is_asked_and_hosts_that_need_none_are_not() {
    let mut lab = Lab::new();
    let Some(server) = RegistryServer::start(&RegistryOptions::default()) else { return };
    let address = format!("oci://{}/team/web", server.host);
    lab.says("web", &["mod", "push", &address]);
    let asked = Arc::new(AtomicUsize::new(0));
    lab.set("HTTP_PROXY", format!("http://{}", proxy(&server.host, asked.clone())));
    lab.says("shop", &["mod", "add", &address]);
    let by_proxy = asked.load(Ordering::SeqCst);
    assert!(by_proxy > 0, "the proxy was asked");
    lab.says("shop", &["clean", "-y"]);
    lab.set("NO_PROXY", "127.0.0.1");
    lab.says("shop", &["mod", "update"]);
    assert_eq!(asked.load(Ordering::SeqCst), by_proxy, "nobody asked it again");
}

/// A proxy of a few lines: `CONNECT HOST` opens a tunnel, a request with a whole address is handed on.
fn proxy(server: &str, asked: Arc<AtomicUsize>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let server = server.to_owned();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|n| n == 1) {
                head.push(byte[0]);
            }
            let head = String::from_utf8_lossy(&head).into_owned();
            asked.fetch_add(1, Ordering::SeqCst);
            let mut onward = TcpStream::connect(&server).unwrap();
            match head.starts_with("CONNECT") {
                true => stream.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").unwrap(),
                false => onward.write_all(head.replace(&format!("http://{server}"), "").as_bytes()).unwrap(),
            }
            pair(stream, onward);
        }
    });
    host
}

#[test]
fn a_content_that_is_not_what_the_lock_says_is_refused() {
    let lab = Lab::new();
    let Some(server) = RegistryServer::start(&RegistryOptions::default()) else { return };
    let address = format!("oci://{}/team/web", server.host);
    lab.says("web", &["mod", "push", &address]);
    lab.says("shop", &["mod", "add", &address]);
    // Somebody pushes something else under the same tag.
    lab.write("web/web.k", "port = 6666\n");
    lab.refuses("web", &["mod", "push", &address], "is there already and holds something else");
    lab.says("web", &["mod", "push", &address, "--force"]);
    lab.says("shop", &["clean", "-y"]);
    let told = lab.refuses("shop", &["mod", "update", "--locked"], "kcl.mod.lock says h1:");
    assert!(told.contains("somebody changed what stands there"), "{told}");
    let told = lab.refuses("shop", &["run"], "web");
    assert!(told.contains("kcl mod"), "a run fetches nothing: {told}");
    lab.refuses("shop", &["mod", "add", &format!("{address}:9.9.9")], "does not exist");
    // Whoever asks for what is there now gets it.
    lab.says("shop", &["mod", "update", "web"]);
    assert_eq!(lab.says("shop", &["run"]), "port: 6666\n");
}

#[test]
fn a_packed_module_is_pushed_as_it_is() {
    let lab = Lab::new();
    let Some(server) = RegistryServer::start(&RegistryOptions::default()) else { return };
    let address = format!("oci://{}/team/web", server.host);
    lab.says("web", &["mod", "pkg", "--target", ".."]);
    let push = ["mod", "push", &address, "--tar_path", "web_1.2.0.tar"];
    assert!(lab.says("", &push).starts_with("pushed "));
    assert_eq!(
        lab.says("", &["mod", "pull", &format!("{address}:1.2.0"), "--target", "out"]),
        "out/web_1.2.0 (2 files)\n"
    );
    assert_eq!(lab.read("out/web_1.2.0/web.k"), "port = 8080\n");
    lab.refuses("", &["mod", "pull", &address, "--target", "out"], "is there already");
    lab.write("x.tar", "no archive");
    lab.refuses("", &["mod", "push", &address, "--tar_path", "x.tar"], "x.tar");
    lab.refuses(
        "web",
        &["mod", "push", &format!("{address}:7.0.0")],
        "the tag is the version in kcl.mod: 1.2.0",
    );
}

#[test]
fn a_name_alone_is_the_greatest_version_of_the_default_registry() {
    let mut lab = Lab::new();
    let Some(server) = RegistryServer::start(&RegistryOptions::default()) else { return };
    lab.set("KPM_REG", server.host.as_str());
    lab.set("KPM_REPO", "team");
    for version in ["1.2.0", "1.10.0"] {
        lab.write("web/kcl.mod", &format!("[package]\nname = \"web\"\nversion = \"{version}\"\n"));
        lab.says("web", &["mod", "push"]);
    }
    assert_eq!(lab.says("shop", &["mod", "add", "web"]), "added web 1.10.0: `import web`\n");
    assert!(lab.read("shop/kcl.mod").ends_with("[dependencies]\nweb = \"1.10.0\"\n"));
    assert_eq!(lab.says("shop", &["run"]), "port: 8080\n");
    lab.refuses("shop", &["mod", "add", "nothing"], "does not exist");
    // A policy that comes later counts for what was taken before.
    lab.write("shop/cosign.pub", &rcgen::KeyPair::generate().unwrap().public_key_pem());
    let manifest = lab.read("shop/kcl.mod");
    lab.write("shop/kcl.mod", &format!("{manifest}\n[signatures]\nkeys = [\"cosign.pub\"]\n"));
    lab.refuses("shop", &["run"], "asks for a signature");
    for words in [&["mod", "verify"][..], &["mod", "update", "--locked"]] {
        lab.refuses("shop", words, "it is not signed");
    }
    let lock = lab.read("shop/kcl.mod.lock");
    lab.write("shop/kcl.mod.lock", &lock.replace("    reg = ", "    signed_by = \"me\"\n    reg = "));
    lab.refuses("shop", &["run"], "asks for a signature");
    lab.refuses("shop", &["mod", "verify"], "it is not signed");
    lab.set("KCL_FETCH_TIMEOUT", "soon");
    lab.refuses("shop", &["mod", "update"], "KCL_FETCH_TIMEOUT: `soon`");
}

#[test]
fn a_registry_in_tls_on_this_machine_and_names_that_docker_writes() {
    let mut lab = Lab::new();
    let (certificate, key) = lab.certificate();
    let options = RegistryOptions { tls: Some((certificate, key)), ..RegistryOptions::default() };
    let Some(server) = RegistryServer::start(&options) else { return };
    let address = format!("oci://{}/team/web", server.host);
    lab.refuses("web", &["mod", "push", &address], "OCI_REG_PLAIN_HTTP=off");
    lab.set("DOCKER_CONFIG", lab.path("docker").display().to_string());
    lab.write(
        "docker/config.json",
        "{\"auths\": {\"https://reg.example.org\": {\"auth\": \"YTpi\"}, \"other\": {}}}",
    );
    assert_eq!(lab.says("", &["registry", "logout", "reg.example.org"]), "reg.example.org: forgotten\n");
    assert!(!lab.read("docker/config.json").contains("reg.example.org"));
    assert!(lab.read("docker/config.json").contains("other"));
}
