//! The address of a backend: `s3://bucket/prefix?endpoint=…`, `postgres://host/database`, `kubernetes://namespace`, …
//!
//! Shown to people it never holds a password.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use url::Url;

/// The kinds of media.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    File,
    S3,
    Google,
    Azure,
    Postgres,
    Kubernetes,
}

/// What an address of each kind looks like and may say.
struct Form {
    schemes: &'static [&'static str],
    kind: Kind,
    options: &'static [&'static str],
    example: &'static str,
}

const FORMS: &[Form] = &[
    Form { schemes: &["file"], kind: Kind::File, options: &[], example: "file:///var/lib/kusion" },
    Form {
        schemes: &["s3"],
        kind: Kind::S3,
        options: &["endpoint", "region", "path-style", "profile"],
        example: "s3://bucket/prefix?endpoint=https://minio.example:9000",
    },
    Form { schemes: &["gs"], kind: Kind::Google, options: &["endpoint"], example: "gs://bucket/prefix" },
    Form {
        schemes: &["az"],
        kind: Kind::Azure,
        options: &["account", "endpoint"],
        example: "az://container/prefix?account=NAME",
    },
    Form {
        schemes: &["postgres", "postgresql"],
        kind: Kind::Postgres,
        options: &["schema", "sslmode", "sslrootcert", "application_name", "connect_timeout"],
        example: "postgres://user@host:5432/database?schema=kusion",
    },
    Form {
        schemes: &["kubernetes"],
        kind: Kind::Kubernetes,
        options: &["context", "kubeconfig"],
        example: "kubernetes://namespace?context=NAME",
    },
];

/// Where state is kept.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    pub(crate) kind: Kind,
    /// Bucket, container, namespace or folder; for PostgreSQL host and database.
    pub(crate) root: String,
    pub(crate) prefix: String,
    pub(crate) options: BTreeMap<String, String>,
    /// Never shown.
    pub(crate) login: Login,
}

/// What opens a medium, where an address or a configuration file says it.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Login {
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
}

/// A text that is no address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct AddressError {
    pub why: String,
    /// What would be one.
    pub next: String,
}

fn wrong(why: impl Into<String>, next: impl Into<String>) -> AddressError {
    AddressError { why: why.into(), next: next.into() }
}

impl Address {
    /// Reads an address.
    ///
    /// # Errors
    /// What is wrong with it, never quoting it whole: it may hold a password.
    pub fn parse(text: &str) -> Result<Address, AddressError> {
        let schemes: Vec<&str> = FORMS.iter().map(|form| form.schemes[0]).collect();
        let known = format!("one of {}://", schemes.join("://, "));
        let Some((scheme, _)) = text.split_once("://") else {
            return Err(wrong("an address of a backend begins with its kind", known));
        };
        let Some(form) = FORMS.iter().find(|form| form.schemes.contains(&scheme)) else {
            return Err(wrong(format!("there is no backend of the kind `{scheme}`"), known));
        };
        let example = || format!("for example {}", form.example);
        if form.kind == Kind::File {
            let path = text.trim_start_matches("file://");
            let given = !path.is_empty();
            return given
                .then(|| Address::of(Kind::File, path))
                .ok_or_else(|| wrong("no folder is named", example()));
        }
        let url = Url::parse(text)
            .map_err(|error| wrong(format!("the address cannot be read: {error}"), example()))?;
        let mut address = Address::of(form.kind, url.host_str().unwrap_or_default());
        if address.root.is_empty() && form.kind != Kind::Postgres {
            return Err(wrong(format!("the address names nothing behind {scheme}://"), example()));
        }
        address.prefix = url.path().trim_matches('/').to_owned();
        for (key, value) in url.query_pairs() {
            if !form.options.contains(&&*key) {
                let all = form.options.join(", ");
                return Err(wrong(
                    format!("`{key}` is nothing that {scheme}:// can be told"),
                    format!("it can be told {all}"),
                ));
            }
            address.options.insert(key.into_owned(), value.into_owned());
        }
        address.finish(&url, form)
    }

    fn finish(mut self, url: &Url, form: &Form) -> Result<Address, AddressError> {
        let example = || format!("for example {}", form.example);
        let decoded = |text: &str| {
            url::form_urlencoded::parse(format!("x={}", text.replace('+', "%2B")).as_bytes())
                .next()
                .map(|(_, value)| value.into_owned())
        };
        self.login.user = (!url.username().is_empty()).then(|| decoded(url.username())).flatten();
        self.login.password = url.password().and_then(decoded);
        if self.kind != Kind::Postgres {
            if self.login != Login::default() {
                return Err(wrong(
                    "an address has no place for credentials",
                    "they come from the environment and the files of the service",
                ));
            }
            return Ok(self);
        }
        if let Some(port) = url.port() {
            self.root = format!("{}:{port}", self.root);
        }
        if self.prefix.is_empty() || self.prefix.contains('/') {
            return Err(wrong("the address names no database", example()));
        }
        let schema = self.options.get("schema").map_or("kusion", String::as_str);
        let plain = schema.len() <= 63
            && !schema.is_empty()
            && schema.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
        if !plain || schema.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(wrong(
                format!("`{schema}` cannot be the name of a schema here"),
                "lower-case letters, digits and `_`",
            ));
        }
        Ok(self)
    }

    fn of(kind: Kind, root: &str) -> Address {
        let (prefix, options, login) = (String::new(), BTreeMap::new(), Login::default());
        Address { kind, root: root.to_owned(), prefix, options, login }
    }

    /// The folder of this machine that it names, if it names one.
    #[must_use]
    pub fn folder(&self) -> Option<PathBuf> {
        (self.kind == Kind::File).then(|| PathBuf::from(&self.root))
    }

    /// Whether it holds a password, which then should not be written to a file.
    #[must_use]
    pub fn has_password(&self) -> bool {
        self.login.password.is_some()
    }

    /// The address of a backend as upstream's configuration files say it: a type, and settings by name.
    ///
    /// # Errors
    /// A type or a setting that is not known, or one that is missing.
    pub fn of_settings(kind: &str, settings: &BTreeMap<String, String>) -> Result<Address, AddressError> {
        let (kind, known): (Kind, &[&str]) = match kind {
            "local" => (Kind::File, &["path"]),
            "s3" | "oss" => (
                Kind::S3,
                &[
                    "bucket",
                    "prefix",
                    "region",
                    "endpoint",
                    "forcePathStyle",
                    "accessKeyID",
                    "accessKeySecret",
                ],
            ),
            "google" => (Kind::Google, &["bucket", "prefix", "endpoint"]),
            "http" => {
                return Err(wrong(
                    "the HTTP backend has neither a lock nor a comparison, so nothing is kept there",
                    "`kusion state import` reads from it",
                ));
            }
            other => {
                return Err(wrong(
                    format!("there is no backend of the type `{other}`"),
                    "local, s3, oss or google; or an address",
                ));
            }
        };
        if let Some(strange) = settings.keys().find(|key| !known.contains(&key.as_str())) {
            return Err(wrong(
                format!("`{strange}` is no setting of this backend"),
                format!("it has {}", known.join(", ")),
            ));
        }
        let root = if kind == Kind::File { "path" } else { "bucket" };
        let Some(value) = settings.get(root).filter(|value| !value.is_empty()) else {
            return Err(wrong(format!("the backend has no `{root}`"), format!("set `{root}`")));
        };
        let mut address = Address::of(kind, value);
        let mut option = |from: &str, to: &str| {
            settings.get(from).map(|value| address.options.insert(to.to_owned(), value.clone()))
        };
        option("endpoint", "endpoint");
        option("region", "region");
        option("forcePathStyle", "path-style");
        address.prefix =
            settings.get("prefix").map(|prefix| prefix.trim_matches('/').to_owned()).unwrap_or_default();
        address.login = Login {
            user: settings.get("accessKeyID").cloned(),
            password: settings.get("accessKeySecret").cloned(),
        };
        Ok(address)
    }
}

impl fmt::Display for Address {
    /// Without a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = FORMS.iter().find(|form| form.kind == self.kind).map_or("", |form| form.schemes[0]);
        write!(f, "{scheme}://{}", self.root)?;
        if !self.prefix.is_empty() {
            write!(f, "/{}", self.prefix)?;
        }
        for (at, (key, value)) in self.options.iter().enumerate() {
            write!(f, "{}{key}={value}", if at == 0 { '?' } else { '&' })?;
        }
        Ok(())
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What the fuzz target does with a heap of bytes: an address, or a type and settings in lines. What is read is shown without its
/// password, and what is shown can be read again.
#[doc(hidden)]
pub fn fuzz_address(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let mut lines = text.lines();
    let kind = lines.next().unwrap_or_default();
    let settings = lines.filter_map(|line| line.split_once('='));
    let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    for address in [Address::parse(text), Address::of_settings(kind, &settings)].into_iter().flatten() {
        let shown = address.to_string();
        let secret = address.login.password.as_deref().filter(|secret| secret.len() > 8);
        let elsewhere = [&address.root, &address.prefix];
        let public = |secret: &str| {
            elsewhere.iter().any(|part| part.contains(secret))
                || address.options.values().any(|value| value.contains(secret))
        };
        assert!(secret.is_none_or(|secret| public(secret) || !shown.contains(secret)), "a password is shown");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_shown_without_passwords() {
        for (text, shown) in [
            (
                "s3://b/p/q?endpoint=http://127.0.0.1:9&region=x",
                "s3://b/p/q?endpoint=http://127.0.0.1:9&region=x",
            ),
            ("gs://bucket", "gs://bucket"),
            ("az://c/p?account=a", "az://c/p?account=a"),
            ("postgresql://li:s%20cret@db:5433/state", "postgres://db:5433/state"),
            ("kubernetes://ops?context=prod", "kubernetes://ops?context=prod"),
            ("file:///var/lib/kusion", "file:///var/lib/kusion"),
        ] {
            let address = Address::parse(text).unwrap();
            assert_eq!(address.to_string(), shown);
            assert!(!format!("{address:?}").contains("cret"));
        }
        let login = Address::parse("postgres://li:s%20c+@db/x").unwrap().login;
        assert_eq!((login.user.as_deref(), login.password.as_deref()), (Some("li"), Some("s c+")));
    }

    #[test]
    fn wrong_addresses_say_what_would_be_right() {
        for (text, why) in [
            ("bucket", "begins with its kind"),
            ("ftp://x", "no backend of the kind `ftp`"),
            ("s3://", "names nothing"),
            ("s3://b?secret=1", "`secret` is nothing"),
            ("s3://key:word@b", "no place for credentials"),
            ("postgres://host", "names no database"),
            ("postgres://host/db?schema=x;drop", "cannot be the name of a schema"),
            ("file://", "no folder"),
        ] {
            let error = Address::parse(text).unwrap_err();
            assert!(error.why.contains(why), "{text}: {error:?}");
            assert!(!error.next.is_empty() && !error.to_string().contains("word"));
        }
    }

    #[test]
    fn settings_of_upstream_mean_the_same() {
        let settings =
            |pairs: &[(&str, &str)]| pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let s3 = settings(&[
            ("bucket", "b"),
            ("prefix", "/p/"),
            ("region", "r"),
            ("accessKeyID", "k"),
            ("accessKeySecret", "canary"),
        ]);
        let address = Address::of_settings("s3", &s3).unwrap();
        assert_eq!(address.to_string(), "s3://b/p?region=r");
        assert!(address.has_password());
        let local = Address::of_settings("local", &settings(&[("path", "/x")])).unwrap();
        assert_eq!(local.folder(), Some(PathBuf::from("/x")));
        assert!(Address::of_settings("s3", &settings(&[])).unwrap_err().why.contains("no `bucket`"));
        assert!(
            Address::of_settings("s3", &settings(&[("bucke", "b")])).unwrap_err().why.contains("`bucke`")
        );
        assert!(Address::of_settings("http", &settings(&[])).unwrap_err().next.contains("import"));
        assert!(Address::of_settings("mysql", &settings(&[])).is_err());
    }
}
