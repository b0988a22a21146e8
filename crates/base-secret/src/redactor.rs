//! The redactor: knows values, and takes them out of texts.
//!
//! A value has dozens of forms, and a stack may have hundreds of private keys. So a form is known by its first bytes, its length
//! and its hash: thirty bytes for a form of any length, and a value that comes between two messages costs its own forms only.
//! Where found values overlap, all of it is replaced.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use serde_json::Value;
use zeroize::Zeroize as _;

use crate::SecretValue;
use crate::forms::forms;

/// Shorter values are not looked for: replacing `on` or `80` would make every message unreadable and protect nothing.
pub const SHORTEST: usize = 4;
/// What stands for a secret.
pub const SHOWN: &str = "(secret)";

static INSTALLED: OnceLock<Redactor> = OnceLock::new();

/// Knows values and takes them out of texts. Copies share what they know.
#[derive(Clone, Default)]
pub struct Redactor(Arc<Mutex<Book>>);

/// How many bytes of a form find it; every form has as many.
const START: usize = SHORTEST;

/// The same hash in every run: nothing depends on chance.
type Hashing = BuildHasherDefault<DefaultHasher>;

#[derive(Default)]
struct Book {
    /// Values, and what stands for each.
    known: BTreeMap<Vec<u8>, Arc<str>>,
    /// Values whose forms are not made yet.
    new: Vec<Vec<u8>>,
    /// By their first bytes.
    forms: HashMap<[u8; START], Vec<Form>, Hashing>,
    /// What everybody may read, with a line break after each text.
    public: String,
}

/// A way in which a value is written.
struct Form {
    len: usize,
    hash: u64,
    shown: Arc<str>,
}

impl Redactor {
    /// Makes the redactor of this process, or returns the one that is there. From now on it learns every [`SecretValue`].
    pub fn install() -> &'static Redactor {
        INSTALLED.get_or_init(Redactor::default)
    }

    /// The same for a whole program: what its panics say may hold a value, so it comes cleaned to `say`, with a trace where the
    /// user asks for one (`RUST_BACKTRACE`).
    pub fn install_for_program(say: fn(&str)) {
        Redactor::install();
        std::panic::set_hook(Box::new(move |panic| {
            let trace = Backtrace::capture();
            let text = match trace.status() {
                BacktraceStatus::Captured => format!("{panic}\n{trace}\n"),
                _ => format!("{panic}\n"),
            };
            say(&Redactor::clean_for_process(&text));
        }));
    }

    /// Returns the redactor of this process.
    #[must_use]
    pub fn installed() -> Option<&'static Redactor> {
        INSTALLED.get()
    }

    /// Takes the secrets of this process out of a text.
    #[must_use]
    pub fn clean_for_process(text: &str) -> Cow<'_, str> {
        Redactor::installed().map_or(Cow::Borrowed(text), |redactor| redactor.clean(text))
    }

    /// Learns a secret value.
    pub fn add(&self, value: &SecretValue) {
        self.learn(value.expose(), SHOWN);
    }

    /// Learns a text that something else stands for: a secret that is only passing through, or an argument with its name.
    pub fn add_shown(&self, text: &str, shown: &str) {
        self.learn(text.as_bytes(), shown);
    }

    fn learn(&self, value: &[u8], shown: &str) {
        if value.len() < SHORTEST {
            return;
        }
        let mut book = self.book();
        if !book.known.contains_key(value) {
            book.known.insert(value.to_vec(), shown.into());
            book.new.push(value.to_vec());
        }
    }

    /// Learns a text that everybody may read (names, ids, what the configuration says in clear): a value that stands in one is
    /// no secret, and replacing it would spoil what programs read, such as the `postgres` of an image where it is also a user.
    pub fn add_public(&self, text: &str) {
        if text.len() < SHORTEST {
            return;
        }
        let mut book = self.book();
        let says = |value: &Vec<u8>| {
            value.trim_ascii().len() <= text.len()
                && std::str::from_utf8(value).is_ok_and(|value| text.contains(value.trim()))
        };
        if book.known.keys().any(says) {
            book.forms.clear();
            book.new = book.known.keys().cloned().collect();
        }
        book.public.push_str(text);
        book.public.push('\n');
    }

    /// Takes every known value out of a text.
    #[must_use]
    pub fn clean<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut book = self.book();
        book.settle();
        let found = book.find(text);
        drop(book);
        match found.is_empty() {
            true => Cow::Borrowed(text),
            false => Cow::Owned(replaced(text, found)),
        }
    }

    /// Returns whether a text shows a known value.
    #[must_use]
    pub fn knows(&self, text: &str) -> bool {
        matches!(self.clean(text), Cow::Owned(_))
    }

    /// Takes every known value out of the texts of a document. Numbers stay: a document must stay one.
    pub fn clean_json(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(cleaned) = self.clean(text) {
                    *text = cleaned;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.clean_json(item)),
            Value::Object(map) => {
                if map.keys().any(|key| self.knows(key)) {
                    let entries = std::mem::take(map);
                    *map = entries
                        .into_iter()
                        .map(|(key, item)| (self.clean(&key).into_owned(), item))
                        .collect();
                }
                map.values_mut().for_each(|item| self.clean_json(item));
            }
            _ => {}
        }
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        // What a panicking thread has left is a list that is complete up to its last entry.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Redactor")
    }
}

impl Book {
    /// Makes the forms of every value that has none yet.
    fn settle(&mut self) {
        for mut value in std::mem::take(&mut self.new) {
            let is_public = std::str::from_utf8(&value).is_ok_and(|text| self.public.contains(text.trim()));
            if let Some(shown) = self.known.get(&value).filter(|_| !is_public) {
                for mut form in forms(&value) {
                    add(&mut self.forms, form.as_bytes(), shown);
                    form.zeroize();
                }
            }
            value.zeroize();
        }
    }

    /// Every place where a form stands: from, to, and what stands for it.
    fn find(&self, text: &str) -> Vec<(usize, usize, Arc<str>)> {
        let (bytes, hashing) = (text.as_bytes(), Hashing::default());
        let mut found = Vec::new();
        for (from, start) in bytes.windows(START).enumerate() {
            let Some(forms) = <[u8; START]>::try_from(start).ok().and_then(|start| self.forms.get(&start))
            else {
                continue;
            };
            for form in forms {
                let to = from + form.len;
                let there = bytes.get(from..to).is_some_and(|part| hashing.hash_one(part) == form.hash);
                if there && text.is_char_boundary(from) && text.is_char_boundary(to) {
                    found.push((from, to, Arc::clone(&form.shown)));
                }
            }
        }
        found
    }
}

fn add(forms: &mut HashMap<[u8; START], Vec<Form>, Hashing>, form: &[u8], shown: &Arc<str>) {
    let Some(start) = form.first_chunk::<START>() else { return };
    let (len, hash) = (form.len(), Hashing::default().hash_one(form));
    let same = forms.entry(*start).or_default();
    if !same.iter().any(|other| other.len == len && other.hash == hash) {
        same.push(Form { len, hash, shown: Arc::clone(shown) });
    }
}

impl Drop for Book {
    fn drop(&mut self) {
        std::mem::take(&mut self.known).into_keys().for_each(|mut value| value.zeroize());
        self.new.iter_mut().for_each(|value| value.zeroize());
    }
}

/// The text with something else at the places; what overlaps is one place.
fn replaced(text: &str, mut found: Vec<(usize, usize, Arc<str>)>) -> String {
    found.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| b.1.cmp(&a.1)));
    let (mut out, mut done) = (String::with_capacity(text.len()), 0);
    let mut places = found.into_iter().peekable();
    while let Some((start, mut end, shown)) = places.next() {
        while let Some(&(next, until, _)) = places.peek()
            && next < end
        {
            end = end.max(until);
            places.next();
        }
        out.push_str(&text[done..start]);
        out.push_str(&shown);
        done = end;
    }
    out.push_str(&text[done..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use data_encoding::{BASE64, BASE64URL};
    use serde_json::json;

    fn knowing(values: &[&str]) -> Redactor {
        let redactor = Redactor::default();
        values.iter().for_each(|value| redactor.add(&SecretValue::from((*value).to_owned())));
        redactor
    }

    #[test]
    fn every_form_of_a_value_is_found() {
        let value = "p\"a'ss w/ör\\d<&>\u{1}7";
        let redactor = knowing(&[value]);
        let json = json!({ "key": value }).to_string();
        let texts = [
            value.to_owned(),
            json.clone(),
            json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026"),
            json.replace('ö', "\\u00f6"),
            format!("{value:?}"),
            format!("key: '{}'", value.replace('\'', "''")),
            BASE64.encode(value.as_bytes()),
            BASE64URL.encode(value.as_bytes()),
            BASE64.encode(format!("user:{value}").as_bytes()),
            BASE64.encode(format!("us:{value} and more").as_bytes()),
            BASE64.encode(format!("use:{value}!").as_bytes()),
            "p%22a%27ss%20w%2F%C3%B6r%5Cd%3C%26%3E%017".to_owned(),
            "p%22a%27ss+w%2F%C3%B6r%5Cd%3C%26%3E%017".to_owned(),
        ];
        for text in texts {
            let cleaned = redactor.clean(&text);
            assert!(cleaned.contains(SHOWN), "{text} stays {cleaned}");
            for trace in ["ss w", "ss%20w", "ss+w", "cyB3"] {
                assert!(!cleaned.contains(trace), "{text} becomes {cleaned}");
            }
        }
    }

    #[test]
    fn a_value_in_base64_is_also_found_decoded() {
        let redactor = knowing(&["aHVudGVyMi1jYW5hcnk="]);
        assert_eq!(redactor.clean("login hunter2-canary, aHVudGVyMi1jYW5hcnk="), "login (secret), (secret)");
    }

    #[test]
    fn lines_and_items_of_a_value_are_found_and_words_are_not() {
        let redactor = knowing(&[
            "-----BEGIN X-----\nfirst-line\nab\n-----END X-----\n",
            r#"{"kind":"Config","pw":"long-password"}"#,
        ]);
        assert_eq!(redactor.clean("first-line ab -----BEGIN X-----"), "(secret) ab -----BEGIN X-----");
        assert_eq!(redactor.clean("ConfigMap long-password"), "ConfigMap (secret)");
        let long = "x".repeat(200);
        let encoded = BASE64.encode(long.as_bytes());
        let redactor = knowing(&[&long]);
        assert_eq!(
            redactor.clean(&format!("{}\n{}", &encoded[..76], &encoded[76..152])),
            "(secret)\n(secret)"
        );
    }

    #[test]
    fn short_values_and_public_ones_stay_readable() {
        let redactor = knowing(&["80", "abc", "postgres", "hunter2"]);
        redactor.add_public("docker.io/postgres:16");
        assert_eq!(redactor.clean("80 abc postgres:16 hunter2"), "80 abc postgres:16 (secret)");
        redactor.add_public("hunter2");
        assert_eq!(redactor.clean("hunter2"), "hunter2");
    }

    #[test]
    fn overlapping_values_leave_nothing_and_nothing_is_replaced_twice() {
        let redactor = knowing(&["alpha-beta", "beta-gamma"]);
        assert_eq!(redactor.clean("alpha-beta-gamma!"), "(secret)!");
        assert_eq!(redactor.clean("alpha"), "alpha");
        let redactor = Redactor::default();
        redactor.add_shown("password", "(-D b)");
        redactor.add_shown("pass", "(-D a)");
        redactor.add_shown("(-D ", "(-D c)");
        assert_eq!(redactor.clean("password pass"), "(-D b) (-D a)");
    }

    #[test]
    fn values_that_come_one_by_one_are_all_known() {
        let redactor = Redactor::default();
        for n in 0..200 {
            redactor.add(&SecretValue::from(format!("value-number-{n}!")));
            assert_eq!(redactor.clean(&format!("is value-number-{n}! here?")), "is (secret) here?");
        }
        assert_eq!(redactor.clean("value-number-0! value-number-77!"), "(secret) (secret)");
    }

    #[test]
    fn long_values_cost_their_forms_and_no_more() {
        let redactor = Redactor::default();
        let line = |n: usize, at: usize| format!("{n:08}{}", "MC4CAQAwBQYDK2VwBCIEI".repeat(2 + at % 2));
        for n in 0..200 {
            let key = (0..8).map(|at| line(n, at)).collect::<Vec<_>>().join("\n");
            redactor.add(&SecretValue::from(format!("-----BEGIN KEY-----\n{key}\n-----END KEY-----\n")));
        }
        assert_eq!(redactor.clean(&format!("here: {}", line(77, 3))), "here: (secret)");
        let book = redactor.book();
        let n_forms: usize = book.forms.values().map(Vec::len).sum();
        let stored = n_forms * std::mem::size_of::<Form>();
        assert!(stored < 4 << 20, "{n_forms} forms, {stored} bytes");
    }

    #[test]
    fn a_document_stays_a_document() {
        let redactor = knowing(&["4217", "key-name"]);
        let mut value = json!({"n": 4217, "text": "port 4217", "list": ["4217"], "key-name": true});
        redactor.clean_json(&mut value);
        assert_eq!(
            value,
            json!({"n": 4217, "text": "port (secret)", "list": ["(secret)"], "(secret)": true})
        );
    }
}
