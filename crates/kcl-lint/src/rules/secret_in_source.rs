//! L0501: what looks like a password, key or token.

use kcl_syntax::ast::{Expr, ExprId, Key, Stmt, StmtId, TargetStep};

use crate::context::Context;
use crate::finding::Findings;
use crate::rule::{Check, FixKind, Level, Rule};

pub(crate) static RULE: Rule = Rule {
    code: "L0501",
    id: "secret-in-source",
    kind: "SecretInSource",
    level: Level::Warning,
    summary: "a text that looks like a password, key or token",
    why: "Whoever can read the repository, or its history, has it. Replace it with a reference or an option, and make a new one: this \
          one is known. Found are the prefixes of well-known tokens, private keys, and texts without order (high entropy), where \
          the key speaks of a secret or the text is long. Names, paths, addresses, checksums, certificates and public keys are none. \
          The text itself is never shown.",
    bad: "password = \"q8Xz2LmV7rTn4KpWs9Bd\"\n",
    good: "password = option(\"password\", default=\"\")\n",
    fix: FixKind::None,
    checks: &[Check::Expr(expr), Check::Stmt(stmt)],
};

/// How tokens of well-known services begin, how many characters follow at least, and whose they are.
const PREFIXES: &[(&str, usize, &str)] = &[
    ("AKIA", 16, "an AWS access key"),
    ("ASIA", 16, "an AWS access key"),
    ("ghp_", 30, "a GitHub token"),
    ("gho_", 30, "a GitHub token"),
    ("ghs_", 30, "a GitHub token"),
    ("github_pat_", 30, "a GitHub token"),
    ("glpat-", 16, "a GitLab token"),
    ("xoxb-", 20, "a Slack token"),
    ("xoxp-", 20, "a Slack token"),
    ("sk_live_", 16, "a Stripe key"),
    ("rk_live_", 16, "a Stripe key"),
    ("AIza", 30, "a Google API key"),
    ("npm_", 30, "an npm token"),
    ("pypi-", 30, "a PyPI token"),
    ("hvs.", 20, "a Vault token"),
    ("dop_v1_", 40, "a DigitalOcean token"),
    ("SG.", 40, "a SendGrid key"),
];

/// Words of keys whose values are secret.
const WORDS: &[&str] = &[
    "password",
    "passwd",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "privatekey",
    "credential",
    "passphrase",
];

/// How keys end that speak of something around a secret: where it is, whose it is, of which kind.
const AROUND: &[&str] = &[
    "name",
    "ref",
    "path",
    "file",
    "dir",
    "folder",
    "url",
    "uri",
    "endpoint",
    "type",
    "kind",
    "class",
    "policy",
    "namespace",
    "volume",
    "mount",
    "store",
    "provider",
    "audience",
    "issuer",
    "id",
    "algorithm",
    "format",
    "header",
    "selector",
    "label",
    "annotation",
    "prefix",
    "suffix",
    "env",
    "variable",
    "pattern",
    "regex",
    "hint",
    "message",
    "description",
    "hash",
    "digest",
    "checksum",
];

fn expr(context: &Context<'_>, id: ExprId, found: &mut Findings<'_>) {
    match context.tree.expr(id) {
        Expr::Str(text) => {
            if let Some(what) = known(text) {
                found.add(context.tree.expr_span(id), format!("this looks like {what}")).help(HELP);
            }
        }
        Expr::Config(entries) => {
            for entry in entries {
                if let Key::Name(name) | Key::Str(name) = &entry.key {
                    named(context, name, entry.value, found);
                }
            }
        }
        _ => {}
    }
}

fn stmt(context: &Context<'_>, id: StmtId, found: &mut Findings<'_>) {
    match context.tree.stmt(id) {
        Stmt::Assign { targets, value, .. } => {
            let [target] = &**targets else { return };
            // Of `a.b.c = ..` the last name speaks of the value.
            let last = target.path.iter().rev().find_map(|step| match step {
                TargetStep::Member(member) => Some(member),
                TargetStep::Index(_) => None,
            });
            let name = last.unwrap_or(&target.name);
            named(context, &name.name, *value, found);
        }
        Stmt::Attr(attr) => {
            if let Some(default) = attr.default {
                named(context, &attr.name.name, default, found);
            }
        }
        _ => {}
    }
}

const HELP: &str = "take it out of the source, replace it with a reference or an option, and make a new one";

/// The value of a key that speaks of a secret. The finding stands at the value: whoever shows its line hides what is there.
fn named(context: &Context<'_>, name: &str, value: ExprId, found: &mut Findings<'_>) {
    let Expr::Str(text) = context.tree.expr(value) else { return };
    if known(text).is_some() || text.len() < 12 || text.contains(char::is_whitespace) || is_reference(text) {
        return;
    }
    let bare: String =
        name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    let speaks =
        WORDS.iter().any(|word| bare.contains(word)) && !AROUND.iter().any(|end| bare.ends_with(end));
    if speaks && classes(text) >= 2 && entropy(text) >= 3.2 && !is_readable(text) {
        let at = context.tree.expr_span(value);
        found.add(at, format!("the value of `{name}` looks like a secret")).help(HELP);
    }
}

/// Whether a text only says where the secret is: an address, a path, a placeholder of some template.
fn is_reference(text: &str) -> bool {
    text.contains("://")
        || ["${", "$(", "{{", "<", "/", "./", "../", "~/", "%("].iter().any(|start| text.starts_with(start))
        || ["${", "{{"].iter().any(|inside| text.contains(inside))
        || text.contains('/') && text.contains('.')
}

/// Whether a text is made of words, two of three at least, with a number behind some: `vault-backend-01`,
/// `OAuth2ClientCredentials`.
fn is_readable(text: &str) -> bool {
    let parts = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty());
    let words: Vec<&str> = parts.flat_map(words).collect();
    let strange = words.iter().filter(|word| !is_word(word)).count();
    strange * 3 <= words.len() && turns(text) * 4 < text.len()
}

/// `name`, `Name` or `API`, with a short number behind it, or such a number alone.
fn is_word(word: &str) -> bool {
    let letters = word.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = word.len() - letters.len();
    let rest = letters.get(1..).unwrap_or_default();
    let is_capital = letters.chars().all(|c| c.is_ascii_uppercase());
    let vowels = letters.chars().filter(|c| "aeiouyAEIOUY".contains(*c)).count();
    let is_spoken = vowels * 5 >= letters.len() || letters.len() <= 2 && number > 0;
    number <= 4
        && letters.chars().all(|c| c.is_ascii_alphabetic())
        && match (letters.len(), is_capital) {
            (0, _) => true,
            (1, _) => number > 0,
            (length, true) => length <= 5,
            (_, false) => is_spoken && !rest.contains(|c: char| c.is_ascii_uppercase()),
        }
}

/// The words of `likeThisOne`.
fn words(part: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut start = 0;
    let bytes = part.as_bytes();
    for at in 1..bytes.len() {
        if bytes[at].is_ascii_uppercase() && !bytes[at - 1].is_ascii_uppercase() {
            found.push(&part[start..at]);
            start = at;
        }
    }
    found.push(&part[start..]);
    found
}

/// How often the class of the characters changes: in names seldom, in random texts at every second one. A capital at the
/// beginning of a word is no change.
fn turns(text: &str) -> usize {
    let class = |byte: u8| match byte {
        b'a'..=b'z' => 0,
        b'A'..=b'Z' => 1,
        b'0'..=b'9' => 2,
        _ => 3,
    };
    let classes: Vec<u8> = text.bytes().map(class).collect();
    let turn = |pair: &&[u8]| pair[0] != pair[1] && pair[0] != 3 && pair[1] != 3 && *pair != [1, 0];
    classes.windows(2).filter(turn).count()
}

/// Whether most characters follow the one before them: an alphabet.
fn is_sequence(text: &str) -> bool {
    let steps = text.as_bytes().windows(2).filter(|pair| pair[1] == pair[0].wrapping_add(1)).count();
    steps * 2 > text.len()
}

/// Texts that are long and have no order, but are public: certificates, public keys, checksums.
const PUBLIC: &[&str] = &[
    "LS0tLS1CRUdJTiBDRVJ",
    "LS0tLS1CRUdJTiBQVUJ",
    "AAAAB3NzaC1",
    "AAAAC3NzaC1",
    "AAAAE2VjZHNh",
    "sha256-",
    "sha384-",
    "sha512-",
    "h1:",
];

/// What a text is by itself.
fn known(text: &str) -> Option<&'static str> {
    if text.contains("-----BEGIN ") && text.contains("PRIVATE KEY-----") {
        return Some("a private key");
    }
    if has_login(text) {
        return Some("an address with a password in it");
    }
    if text.len() < 20
        || text.contains(char::is_whitespace)
        || PUBLIC.iter().any(|start| text.starts_with(start))
    {
        return None;
    }
    // A private key in base64: `-----BEGIN PRIVATE`, and with RSA, EC or OPENSSH before it.
    let encoded = [
        "LS0tLS1CRUdJTiBQUklWQVRF",
        "LS0tLS1CRUdJTiBSU0EgUFJJV",
        "LS0tLS1CRUdJTiBFQyBQUklW",
        "LS0tLS1CRUdJTiBPUEVOU1NI",
    ];
    if encoded.iter().any(|start| text.starts_with(start)) {
        return Some("a private key");
    }
    let token = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    let by_prefix = PREFIXES.iter().find(|(prefix, more, _)| {
        text.strip_prefix(prefix).is_some_and(|rest| {
            rest.len() >= *more && rest.chars().all(token) && rest.contains(|c: char| c.is_ascii_digit())
        })
    });
    if let Some((_, _, what)) = by_prefix {
        return Some(what);
    }
    let is_jwt = text.starts_with("eyJ") && text.matches('.').count() == 2 && text.chars().all(token);
    if is_jwt {
        return Some("a JSON web token");
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || "+/=_-".contains(c);
    // A document in base64 is as secret as what it says.
    if let Ok(bytes) = data_encoding::BASE64.decode(text.as_bytes())
        && let Ok(inside) = std::str::from_utf8(&bytes)
        && !inside.contains(|c: char| c.is_control() && !c.is_whitespace())
    {
        return known(inside);
    }
    let random = (32..=256).contains(&text.len())
        && text.chars().all(plain)
        && classes(text) == 3
        && entropy(text) >= 4.2
        && turns(text) * 4 >= text.len()
        && !is_sequence(text);
    random.then_some("a key or token: it has no order")
}

/// Whether a text is an address with a name and a password before its host; a placeholder is none.
fn has_login(text: &str) -> bool {
    let Some((_, rest)) = text.split_once("://") else { return false };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let login = authority.rsplit_once('@').and_then(|(login, _)| login.split_once(':'));
    login.is_some_and(|(_, password)| {
        password.len() >= 6 && classes(password) >= 2 && !password.contains(['$', '{', '<', '%', '*'])
    })
}

/// How many of small letters, capitals and digits a text has.
fn classes(text: &str) -> usize {
    [char::is_ascii_lowercase, char::is_ascii_uppercase, char::is_ascii_digit]
        .iter()
        .filter(|is| text.chars().any(|c| is(&c)))
        .count()
}

/// Bits of surprise per byte.
fn entropy(text: &str) -> f64 {
    let mut counts = [0u32; 256];
    text.bytes().for_each(|byte| counts[byte as usize] += 1);
    let length = text.len() as f64;
    let part = |count: &u32| {
        let share = f64::from(*count) / length;
        -share * share.log2()
    };
    counts.iter().filter(|count| **count > 0).map(part).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_known_and_everyday_texts_are_not() {
        let token = format!("ghp_{}", "a1B2".repeat(9));
        assert!(known(&token).is_some() && known("-----BEGIN RSA PRIVATE KEY-----\nx").is_some());
        assert!(known("Zk3vQ9xL2mN8pR5tY7wB1cD4fG6hJ0sA").is_some());
        let everyday = [
            "nginx:1.29@sha256:9b74c9897bac770ffc029102a200c5de9b74c9897bac770ffc029102a200c5de",
            "123e4567-e89b-12d3-a456-426614174000",
            "app.kubernetes.io/managed-by-the-platform-team",
            "AKIA-is-how-they-begin",
            "a-very-long-name-of-a-service-that-has-no-digits",
        ];
        assert!(known("postgres://admin:S3cr3tPassw0rd@db/x").is_some());
        for text in ["postgres://admin:${PASSWORD}@db/x", "postgres://db:5432/x", "https://user@host/a:b1@c"]
        {
            assert_eq!(known(text), None, "{text}");
        }
        // A document in base64, and one that holds a token.
        let document = data_encoding::BASE64.encode(br#"{"apiVersion":"v1","kind":"ConfigMap","name":"a"}"#);
        assert_eq!(known(&document), None);
        assert!(known(&data_encoding::BASE64.encode(token.as_bytes())).is_some());
        for text in everyday {
            assert_eq!(known(text), None, "{text}");
        }
    }
}
