//! What a module says about trust: whose signatures packages need, and where registries are copied.

use data_encoding::HEXLOWER;
use globset::Glob;
use sha2::{Digest, Sha256};
use toml::{Table, Value};

/// The table `[signatures]` of `kcl.mod`: packages of registries that must be signed, and by whom.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Policy {
    /// Patterns of `HOST/PATH` that must be signed; none means nothing must.
    pub require: Vec<String>,
    /// Public keys: files from the module's folder, or the text of a key itself.
    pub keys: Vec<String>,
    /// Owners of certificates.
    pub identities: Vec<Identity>,
    /// Files with the certificates of those who may vouch for owners.
    pub roots: Vec<String>,
}

/// The owner of a certificate, and who vouches for them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Identity {
    /// An address of mail or a URI that stands in the certificate.
    pub subject: String,
    /// Who knew the owner; none means anybody that the roots trust.
    pub issuer: Option<String>,
}

impl Policy {
    /// Reads `[signatures]`.
    ///
    /// # Errors
    /// A sentence about what is not understood: a policy that is misread is none.
    pub fn read(manifest: &Table) -> Result<Policy, String> {
        let table = match manifest.get("signatures") {
            None => return Ok(Policy::default()),
            Some(Value::Table(table)) => table,
            Some(_) => return Err("kcl.mod: `signatures` must be a table".to_owned()),
        };
        const KEYS: &[&str] = &["require", "keys", "identities", "roots"];
        if let Some(key) = table.keys().find(|key| !KEYS.contains(&key.as_str())) {
            return Err(format!("kcl.mod: [signatures] has no `{key}`; it has {}", KEYS.join(", ")));
        }
        let identities = match table.get("identities") {
            None => Vec::new(),
            Some(Value::Array(all)) => all.iter().map(identity).collect::<Result<_, _>>()?,
            Some(_) => return Err("kcl.mod: [signatures] identities must be a list of tables".to_owned()),
        };
        let (keys, roots) = (texts(table, "keys")?, texts(table, "roots")?);
        let mut require = texts(table, "require")?;
        if !table.contains_key("require") {
            require.push("**".to_owned());
        }
        for pattern in &require {
            Glob::new(pattern)
                .map_err(|e| format!("kcl.mod: [signatures] `{pattern}` is not a pattern: {}", e.kind()))?;
        }
        if keys.is_empty() && identities.is_empty() {
            return Err(
                "kcl.mod: [signatures] names neither keys nor identities: nobody could sign".to_owned()
            );
        }
        if !identities.is_empty() && roots.is_empty() {
            return Err(
                "kcl.mod: [signatures] identities need roots: files with certificates to trust".to_owned()
            );
        }
        Ok(Policy { require, keys, identities, roots })
    }

    /// Returns a text that is another one for everybody else who is trusted: what was looked at under another policy is looked at again.
    /// `load` gives the text of a file that the policy names.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn print(&self, load: &dyn Fn(&str) -> Result<String, String>) -> Result<String, String> {
        let mut all = Sha256::new();
        let mut add = |kind: &str, text: &str| {
            all.update(format!("{kind} {}\n", text.len()));
            all.update(text);
        };
        for key in &self.keys {
            add("key", &if key.contains("-----BEGIN") { key.clone() } else { load(key)? });
        }
        for identity in &self.identities {
            add("subject", &identity.subject);
            add("issuer", identity.issuer.as_deref().unwrap_or_default());
        }
        for root in &self.roots {
            add("root", &load(root)?);
        }
        Ok(HEXLOWER.encode(&all.finalize()[..16]))
    }

    /// Whether a repository's packages must be signed.
    pub fn requires(&self, repository: &str) -> bool {
        let matches = |pattern: &String| {
            Glob::new(pattern).is_ok_and(|glob| glob.compile_matcher().is_match(repository))
        };
        self.require.iter().any(matches)
    }
}

/// The file of a package store that says who signed a content; none if the sum is not one of ours.
pub fn signed_file(sum: &str) -> Option<String> {
    Some(format!("signed/{}", crate::folder_name(sum)?))
}

/// The file of a package store with the proof of that; none if the sum is not one of ours.
pub fn proof_file(sum: &str) -> Option<String> {
    Some(format!("{}.proof", signed_file(sum)?))
}

/// The file of a module with the proof of a package in its `vendor`, by the full name of that.
pub fn vendored_proof(full_name: &str) -> String {
    format!("vendor/{full_name}.proof")
}

/// The line in [`signed_file`]: what was found under a policy.
pub fn signed_note(print: &str, who: &str) -> String {
    format!("{print} {}", who.replace('\n', " "))
}

fn identity(value: &Value) -> Result<Identity, String> {
    let wrong = || "kcl.mod: [signatures] an identity is { subject = \"…\", issuer = \"…\" }".to_owned();
    let table = value.as_table().ok_or_else(wrong)?;
    if table.keys().any(|key| key != "subject" && key != "issuer") {
        return Err(wrong());
    }
    let text = |key: &str| match table.get(key) {
        None => Ok(None),
        Some(Value::String(text)) if !text.is_empty() => Ok(Some(text.clone())),
        Some(_) => Err(wrong()),
    };
    Ok(Identity { subject: text("subject")?.ok_or_else(wrong)?, issuer: text("issuer")? })
}

fn texts(table: &Table, key: &str) -> Result<Vec<String>, String> {
    let wrong = || format!("kcl.mod: [signatures] {key} must be a list of texts");
    match table.get(key) {
        None => Ok(Vec::new()),
        Some(Value::Array(items)) => {
            items.iter().map(|item| item.as_str().map(str::to_owned).ok_or_else(wrong)).collect()
        }
        Some(_) => Err(wrong()),
    }
}

/// Reads `[mirrors]`: a registry, or a path in it, and where its copy is.
///
/// # Errors
/// A sentence about an entry that is no text.
pub fn mirrors(manifest: &Table) -> Result<Vec<(String, String)>, String> {
    let table = match manifest.get("mirrors") {
        None => return Ok(Vec::new()),
        Some(Value::Table(table)) => table,
        Some(_) => return Err("kcl.mod: `mirrors` must be a table".to_owned()),
    };
    let entry = |(from, to): (&String, &Value)| {
        let to = to.as_str().filter(|to| !to.is_empty());
        let to = to.ok_or_else(|| format!("kcl.mod: [mirrors] `{from}` must be HOST or HOST/PATH"))?;
        let plain = |text: &str| text.trim_start_matches("oci://").trim_end_matches('/').to_owned();
        Ok((plain(from), plain(to)))
    };
    table.iter().map(entry).collect()
}

/// Where a repository is fetched from: the longest mirror that is a part of its address decides.
pub fn mirrored(mirrors: &[(String, String)], repository: &str) -> String {
    let inside = |from: &str| {
        repository
            .strip_prefix(from)
            .filter(|rest| rest.is_empty() || rest.starts_with('/'))
            .map(str::to_owned)
    };
    let found = mirrors.iter().filter_map(|(from, to)| Some((from.len(), to, inside(from)?)));
    match found.max_by_key(|(length, ..)| *length) {
        Some((_, to, rest)) => format!("{to}{rest}"),
        None => repository.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Policy, String> {
        Policy::read(&text.parse().unwrap())
    }

    #[test]
    fn a_policy_is_read_completely_or_not_at_all() {
        let policy =
            read("[signatures]\nrequire = [\"reg.example.org/team/**\"]\nkeys = [\"cosign.pub\"]\n").unwrap();
        assert!(policy.requires("reg.example.org/team/web") && !policy.requires("ghcr.io/team/web"));
        assert!(read("[signatures]\nkeys = [\"k\"]").unwrap().requires("anything/at/all"));
        assert!(!read("").unwrap().requires("anything"));
        for (text, says) in [
            ("signatures = 1", "must be a table"),
            ("[signatures]\n", "nobody could sign"),
            ("[signatures]\nkey = [\"k\"]", "has no `key`"),
            ("[signatures]\nkeys = \"k\"", "list of texts"),
            ("[signatures]\nkeys = [\"k\"]\nrequire = [\"[\"]", "not a pattern"),
            ("[signatures]\nidentities = [{ subject = \"a\" }]", "need roots"),
            ("[signatures]\nroots = [\"r\"]\nidentities = [{ issuer = \"a\" }]", "an identity is"),
        ] {
            assert!(read(text).unwrap_err().contains(says), "{text}");
        }
    }

    #[test]
    fn another_policy_has_another_print() {
        let print = |text: &str| read(text).unwrap().print(&|name| Ok(format!("<{name}>"))).unwrap();
        let own = print("[signatures]\nkeys = [\"a\"]\n");
        assert_eq!(own, print("[signatures]\nrequire = [\"x/**\"]\nkeys = [\"a\"]\n"));
        let of = |issuer: &str| {
            print(&format!(
                "[signatures]\nroots = [\"r\"]\nidentities = [{{ subject = \"s\", issuer = \"{issuer}\" }}]\n"
            ))
        };
        assert!(own != print("[signatures]\nkeys = [\"b\"]\n") && of("x") != of("y"));
        assert!(read("[signatures]\nkeys = [\"a\"]\n").unwrap().print(&|_| Err("gone".to_owned())).is_err());
        assert_eq!(signed_file("tF1q="), None);
    }

    #[test]
    fn the_longest_mirror_decides() {
        let table = "[mirrors]\n\"ghcr.io\" = \"mirror.example.org/ghcr\"\n\"ghcr.io/team\" = \"oci://team.example.org/\"\n";
        let mirrors = mirrors(&table.parse().unwrap()).unwrap();
        assert_eq!(mirrored(&mirrors, "ghcr.io/kcl-lang/k8s"), "mirror.example.org/ghcr/kcl-lang/k8s");
        assert_eq!(mirrored(&mirrors, "ghcr.io/team/web"), "team.example.org/web");
        assert_eq!(mirrored(&mirrors, "ghcr.iox/team/web"), "ghcr.iox/team/web");
        assert!(super::mirrors(&"[mirrors]\na = 1".parse().unwrap()).is_err());
    }
}
