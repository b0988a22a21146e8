//! The redactor: knows values, and takes them out of texts.
//!
//! Values are kept in groups whose sizes double, each with an automaton of its own, so that a thousand values that come one
//! by one between a thousand messages cost as much as sorting them. Where found values overlap, all of it is replaced.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use aho_corasick::AhoCorasick;
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

#[derive(Default)]
struct Book {
    known: BTreeSet<Vec<u8>>,
    /// Values that no automaton has yet.
    new: Vec<Entry>,
    groups: Vec<Group>,
    /// What everybody may read, with a line break after each text.
    public: String,
}

struct Entry {
    value: Vec<u8>,
    shown: Arc<str>,
}

struct Group {
    entries: Vec<Entry>,
    automaton: Option<AhoCorasick>,
    /// What stands for each pattern of the automaton.
    shown: Vec<Arc<str>>,
}

impl Redactor {
    /// Makes the redactor of this process, or returns the one that is there. From now on it learns every [`SecretValue`].
    pub fn install() -> &'static Redactor {
        INSTALLED.get_or_init(Redactor::default)
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
        if !book.known.contains(value) {
            book.known.insert(value.to_vec());
            book.new.push(Entry { value: value.to_vec(), shown: shown.into() });
        }
    }

    /// Learns a text that everybody may read (names, ids, what the configuration says in clear): a value that stands in one is
    /// no secret, and replacing it would spoil what programs read, such as the `postgres` of an image where it is also a user.
    pub fn add_public(&self, text: &str) {
        if text.len() < SHORTEST {
            return;
        }
        let mut book = self.book();
        let says =
            |value: &Vec<u8>| std::str::from_utf8(value).is_ok_and(|value| text.contains(value.trim()));
        if book.known.iter().any(says) {
            book.groups.iter_mut().for_each(|group| group.automaton = None);
        }
        book.public.push_str(text);
        book.public.push('\n');
    }

    /// Takes every known value out of a text.
    #[must_use]
    pub fn clean<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut book = self.book();
        book.settle();
        let mut found: Vec<(usize, usize, Arc<str>)> = Vec::new();
        for group in &book.groups {
            let Some(automaton) = &group.automaton else { continue };
            let places = automaton.find_overlapping_iter(text);
            found.extend(
                places.map(|m| (m.start(), m.end(), Arc::clone(&group.shown[m.pattern().as_usize()]))),
            );
        }
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
    /// Gives every value an automaton.
    fn settle(&mut self) {
        if !self.new.is_empty() {
            let entries = std::mem::take(&mut self.new);
            self.groups.push(Group { entries, automaton: None, shown: Vec::new() });
        }
        while let [.., before, last] = self.groups.as_mut_slice() {
            if before.entries.len() > 2 * last.entries.len() {
                break;
            }
            before.entries.append(&mut last.entries);
            before.automaton = None;
            self.groups.pop();
        }
        let public = &self.public;
        self.groups
            .iter_mut()
            .filter(|group| group.automaton.is_none())
            .for_each(|group| group.build(public));
    }
}

impl Group {
    fn build(&mut self, public: &str) {
        let mut patterns = Vec::new();
        self.shown.clear();
        for entry in &self.entries {
            let is_public = std::str::from_utf8(&entry.value).is_ok_and(|text| public.contains(text.trim()));
            if is_public {
                continue;
            }
            for form in forms(&entry.value) {
                patterns.push(form);
                self.shown.push(Arc::clone(&entry.shown));
            }
        }
        // Building fails only beyond billions of states, more than any memory holds.
        self.automaton = AhoCorasick::new(&patterns).ok();
        patterns.iter_mut().for_each(|pattern| pattern.zeroize());
    }
}

impl Drop for Book {
    fn drop(&mut self) {
        std::mem::take(&mut self.known).into_iter().for_each(|mut value| value.zeroize());
        let entries = self.groups.iter_mut().flat_map(|group| &mut group.entries);
        entries.chain(&mut self.new).for_each(|entry| entry.value.zeroize());
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
        assert!(redactor.book().groups.len() < 10);
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
