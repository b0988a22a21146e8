//! `kusion release export|verify|key`: a release as a signed document that others can check without us.

use std::path::{Path, PathBuf};

use base_file::How;
use kusion::{git, source_of};
use kusion_model::{Release, ReleaseNo, ResourceRecord};
use kusion_store::{PublicKey, State, wait};
use serde_json::{Value, json};

use crate::commands::release::find;
use crate::input::chosen::ChosenStack;
use crate::input::flags::Given;
use crate::views::failure::{Exit, Failure};
use crate::views::output::{Format, format_of, print, print_data, print_json};
use crate::views::style::Style;

const SCHEMA: &str = "kusion.io/release-export/v1";
const SIGNATURE: &str = "sig";
const KEY_FILE: &str = "key.pem";

/// The document of a release: what is signed. Secrets are digests in it.
fn document(state: &State, release: &Release, records: &[&ResourceRecord]) -> Value {
    json!({
        "schema": SCHEMA, "stack": state.scope, "lineage": state.lineage, "release": release, "resources": records,
    })
}

fn text_of(chosen: &ChosenStack, state: &State, release: &Release) -> Result<String, Failure> {
    let records = wait(chosen.target.store.state_at(release.no))?;
    let records: Vec<&ResourceRecord> = records.values().collect();
    let text = serde_json::to_string_pretty(&document(state, release, &records)).unwrap_or_default();
    Ok(format!("{text}\n"))
}

/// Prints the public key of the stack, for those who will check its exports.
pub(crate) fn key(given: &Given, chosen: &ChosenStack) -> Result<(), Failure> {
    let key = wait(chosen.target.store.public_key())?;
    if format_of(given)? == Format::Json {
        let schema = "kusion.io/release-key/v1";
        return print_json(&json!({
            "schema": schema, "stack": chosen.target.scope, "algorithm": "ed25519", "pem": key.to_pem(),
            "sha256": key.fingerprint(),
        }));
    }
    print_data(&key.to_pem())
}

/// Writes document, signature and public key into a folder.
pub(crate) fn export(given: &Given, chosen: &ChosenStack, no: Option<ReleaseNo>) -> Result<(), Failure> {
    let state = wait(chosen.target.store.read())?;
    let release = find(&state, no)?;
    let text = text_of(chosen, &state, release)?;
    let signed = wait(chosen.target.store.sign(text.as_bytes()))?;
    let folder = PathBuf::from(given.last("to").unwrap_or_else(|| ".".to_owned()));
    let unwritable = |e: std::io::Error| {
        Failure::usage("the export cannot be written")
            .cause(e.to_string())
            .place(folder.display().to_string())
    };
    std::fs::create_dir_all(&folder).map_err(unwritable)?;
    let write = |path: &Path, bytes: &[u8]| base_file::replace(path, bytes, How::Private);
    let scope = &state.scope;
    let file = folder.join(format!("{}-{}-release-{}.json", scope.project, scope.stack, release.no));
    let signature = with_ending(&file);
    write(&folder.join(KEY_FILE), signed.key.to_pem().as_bytes()).map_err(unwritable)?;
    write(&signature, &signed.signature).map_err(unwritable)?;
    write(&file, text.as_bytes()).map_err(unwritable)?;
    if format_of(given)? == Format::Json {
        return print_json(&json!({
            "schema": "kusion.io/release-exported/v1", "file": file, "signature": signature,
            "key": folder.join(KEY_FILE), "keySha256": signed.key.fingerprint(),
        }));
    }
    print(&format!(
        "{}\n\nTo check it without kusion, with a key that you trust:\n  \
         openssl pkeyutl -verify -pubin -inkey {KEY_FILE} -rawin -in {} -sigfile {}\n\
         The key's SHA-256 is {}.\n",
        file.display(),
        file.file_name().unwrap_or_default().to_string_lossy(),
        signature.file_name().unwrap_or_default().to_string_lossy(),
        signed.key.fingerprint(),
    ))
}

/// `release-3.json.sig` beside `release-3.json`.
fn with_ending(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(format!(".{SIGNATURE}"));
    PathBuf::from(name)
}

/// One thing that was looked at; `None`: nobody can tell.
struct Check {
    what: String,
    holds: Option<bool>,
}

impl Check {
    fn new(what: impl Into<String>, holds: impl Into<Option<bool>>) -> Self {
        Check { what: what.into(), holds: holds.into() }
    }
}

fn tell(given: &Given, checks: &[Check]) -> Result<(), Failure> {
    if format_of(given)? == Format::Json {
        let list: Vec<Value> =
            checks.iter().map(|check| json!({"what": check.what, "holds": check.holds})).collect();
        let ok = checks.iter().all(|check| check.holds != Some(false));
        print_json(&json!({"schema": "kusion.io/release-verify/v1", "ok": ok, "checks": list}))?;
    } else {
        let style = Style::stdout();
        let mut out = String::new();
        for check in checks {
            let mark = match check.holds {
                Some(true) => style.green(style.glyph("✔", "ok")),
                Some(false) => style.red(style.glyph("✘", "no")),
                None => style.yellow("?"),
            };
            out.push_str(&format!("{mark} {}\n", check.what));
        }
        print(&out)?;
    }
    match checks.iter().any(|check| check.holds == Some(false)) {
        true => Err(Failure::told(Exit::Usage)),
        false => Ok(()),
    }
}

/// Checks a release of the state: the log, the plan, the source.
pub(crate) fn verify(given: &Given, chosen: &ChosenStack, no: Option<ReleaseNo>) -> Result<(), Failure> {
    // Reading proves every seal, the chain from the first entry to the head, and the head.
    let state = wait(chosen.target.store.read())?;
    let release = find(&state, no)?;
    let records = wait(chosen.target.store.state_at(release.no))?;
    let mut checks = vec![
        Check::new(
            format!("the log of {} is whole: {} entries, sealed and chained", state.scope, state.serial),
            true,
        ),
        Check::new(
            format!("release {}: {}, {} resources after it", release.no, release.word(), records.len()),
            true,
        ),
    ];
    let approved = release.approvals.iter().all(|approval| approval.plan_hash == release.plan_hash);
    if !release.approvals.is_empty() {
        checks.push(Check::new("what was approved is the plan that was carried out", approved));
    }
    checks.extend(source_checks(chosen, release));
    tell(given, &checks)
}

/// Whether the source of a release is here, and is what it was.
fn source_checks(chosen: &ChosenStack, release: &Release) -> Vec<Check> {
    let folder = &chosen.folder.stack_dir;
    let Some(source) = &release.source else {
        return vec![Check::new("nothing is recorded about the source", None)];
    };
    let commit: String = source.commit.chars().take(12).collect();
    let known = git(folder, &["cat-file", "-e", &format!("{}^{{commit}}", source.commit)]).is_some();
    let mut checks = vec![match known {
        true => Check::new(format!("its commit {commit} is in this repository"), true),
        false => Check::new(format!("its commit {commit} is not in this repository"), None),
    }];
    if !source.clean {
        checks.push(Check::new("files were changed beside that commit", None));
    }
    let here = source_of(folder);
    let same = here.as_ref().is_some_and(|here| here.commit == source.commit && here.clean && source.clean);
    match same {
        false => {
            checks.push(Check::new("another source is checked out now: its digests are not compared", None))
        }
        true => {
            let now = chosen.generate("", false).map(|generated| generated.models).unwrap_or_default();
            let what = "the packages and models of that commit have the digests that are recorded";
            checks.push(Check::new(what, now == release.models));
        }
    }
    checks
}

/// Checks an export: its signature, the key, and whether the state says the same.
pub(crate) fn verify_file(given: &Given, file: &str, chosen: Option<&ChosenStack>) -> Result<(), Failure> {
    let path = Path::new(file);
    let read = |path: &Path| {
        std::fs::read(path).map_err(|e| {
            Failure::usage("the export cannot be read").cause(e.to_string()).place(path.display().to_string())
        })
    };
    let (text, signature) = (read(path)?, read(&with_ending(path))?);
    let beside = path.with_file_name(KEY_FILE);
    let (key_file, trusted) = match given.last("public-key") {
        Some(file) => (PathBuf::from(file), true),
        None => (beside, false),
    };
    let pem = String::from_utf8_lossy(&read(&key_file)?).into_owned();
    let key = PublicKey::from_pem(&pem).ok_or_else(|| {
        Failure::usage("this is no public key of kusion").place(key_file.display().to_string())
    })?;
    let fits = key.verifies(&text, &signature);
    let (file, words) = (key_file.display(), if fits { "fits" } else { "does not fit" });
    let mut checks =
        vec![Check::new(format!("the signature {words} {file} (SHA-256 {})", key.fingerprint()), fits)];
    let own = chosen.map(|chosen| wait(chosen.target.store.public_key())).transpose()?;
    match own {
        Some(own) => checks.push(Check::new("the key is that of the stack", own == key)),
        None if trusted => {}
        None => checks.push(Check::new(
            "the key lies beside the export: compare its SHA-256 with one that you trust",
            None,
        )),
    }
    if let Some(chosen) = chosen {
        checks.push(Check::new("the state of the stack says the same", same_in_state(chosen, &text)?));
    }
    tell(given, &checks)
}

fn same_in_state(chosen: &ChosenStack, text: &[u8]) -> Result<bool, Failure> {
    let state = wait(chosen.target.store.read())?;
    let value: Value = serde_json::from_slice(text).unwrap_or_default();
    let no = value["release"]["no"].as_u64().map(ReleaseNo);
    let Some(release) = no.and_then(|no| state.releases.get(&no)) else { return Ok(false) };
    Ok(text_of(chosen, &state, release)?.as_bytes() == text)
}
