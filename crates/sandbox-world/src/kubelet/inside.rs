//! What one would find inside a container, and a handful of words that can be run there.
//!
//! No container runs in the sandbox. In: a pod and what its variables and volumes name. Out: its environment, its mounted
//! files, and the answers of a few programs that only look at those ([`WORDS`]). Pure, bounded by the length of the command.

use std::collections::BTreeMap;

use data_encoding::BASE64;
use kube_meaning::reach::Reach;
use serde_json::Value;

use super::config::find;
use crate::controllers::read::{items, text};
use crate::view::View;

/// The programs there are.
pub const WORDS: &[&str] =
    &["cat", "echo", "env", "exit", "false", "hostname", "ls", "printenv", "pwd", "sh", "true"];

/// A container as a program in it would see it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inside {
    pub env: Vec<(String, String)>,
    /// By absolute path.
    pub files: BTreeMap<String, Vec<u8>>,
    /// Mounted folders, also those without a file.
    pub folders: Vec<String>,
    pub host: String,
}

/// What a program came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ran {
    pub out: Vec<u8>,
    pub err: Vec<u8>,
    pub code: u8,
}

impl Ran {
    fn said(text: impl Into<Vec<u8>>) -> Ran {
        Ran { out: text.into(), ..Ran::default() }
    }

    fn failed(code: u8, text: String) -> Ran {
        Ran { err: text.into_bytes(), code, ..Ran::default() }
    }

    fn then(mut self, next: Ran) -> Ran {
        self.out.extend(next.out);
        self.err.extend(next.err);
        self.code = next.code;
        self
    }
}

impl Inside {
    /// The inside of one container of a pod.
    pub(crate) fn of(view: View<'_>, pod: &Value, container: &Value) -> Inside {
        let namespace = text(pod, "/metadata/namespace");
        let mut inside = Inside { host: text(pod, "/metadata/name").to_owned(), ..Inside::default() };
        let path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
        inside.env = vec![("PATH".into(), path.into()), ("HOSTNAME".into(), inside.host.clone())];
        inside.take_env(view, namespace, pod, container);
        inside.take_files(view, namespace, pod, container);
        inside
    }

    fn take_env(&mut self, view: View<'_>, namespace: &str, pod: &Value, container: &Value) {
        for source in items(container, "/envFrom") {
            let prefix = text(source, "/prefix");
            for (key, kind) in [("configMapRef", "configmap"), ("secretRef", "secret")] {
                let name = source.get(key).map_or("", |wanted| text(wanted, "/name"));
                for (key, bytes) in find(view, kind, namespace, name).map(data_of).into_iter().flatten() {
                    self.set(&format!("{prefix}{key}"), &String::from_utf8_lossy(&bytes));
                }
            }
        }
        for entry in items(container, "/env") {
            let keyed = |pointer: &str, kind: &str| -> Option<String> {
                let wanted = entry.at(pointer)?;
                let data = data_of(find(view, kind, namespace, text(wanted, "/name"))?);
                Some(String::from_utf8_lossy(data.get(text(wanted, "/key"))?).into_owned())
            };
            let field = || -> Option<String> {
                let path = entry.at("/valueFrom/fieldRef/fieldPath")?.as_str()?;
                Some(text(pod, &format!("/{}", path.replace('.', "/"))).to_owned())
            };
            let value = keyed("/valueFrom/configMapKeyRef", "configmap")
                .or_else(|| keyed("/valueFrom/secretKeyRef", "secret"))
                .or_else(field);
            self.set(text(entry, "/name"), &value.unwrap_or_else(|| text(entry, "/value").to_owned()));
        }
    }

    fn take_files(&mut self, view: View<'_>, namespace: &str, pod: &Value, container: &Value) {
        self.files.insert("/etc/hostname".into(), format!("{}\n", self.host).into_bytes());
        for mount in items(container, "/volumeMounts") {
            let at = text(mount, "/mountPath").trim_end_matches('/').to_owned();
            let volumes = items(pod, "/spec/volumes");
            let Some(volume) = volumes.iter().find(|volume| volume["name"] == mount["name"]) else {
                continue;
            };
            let mut files = source_files(view, namespace, volume);
            for source in items(volume, "/projected/sources") {
                files.extend(source_files(view, namespace, source));
            }
            match text(mount, "/subPath") {
                "" => {
                    self.folders.push(at.clone());
                    self.files.extend(files.into_iter().map(|(name, bytes)| (format!("{at}/{name}"), bytes)));
                }
                part => drop(files.remove(part).map(|bytes| self.files.insert(at, bytes))),
            }
        }
    }

    fn set(&mut self, name: &str, value: &str) {
        self.env.retain(|(known, _)| known != name);
        self.env.push((name.to_owned(), value.to_owned()));
    }

    /// Runs a command as it stands in a request.
    pub fn run(&self, words: &[String], stdin: &[u8]) -> Ran {
        let Some((program, rest)) = words.split_first() else {
            return Ran::failed(126, "sandbox: no command\n".to_owned());
        };
        let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
        // Programs are often named with their folder.
        match (program.rsplit('/').next().unwrap_or_default(), rest.as_slice()) {
            ("sh" | "bash" | "ash", ["-c", script, ..]) => self.script(script, stdin),
            ("sh" | "bash" | "ash", []) => self.script(&String::from_utf8_lossy(stdin), b""),
            (program, rest) => self.program(program, rest, stdin),
        }
    }

    /// Lines and commands joined by `;` and `&&`; words with quotes and `$NAME`. Nothing else of a shell.
    fn script(&self, script: &str, stdin: &[u8]) -> Ran {
        let mut ran = Ran::default();
        for line in script.split(['\n', ';']) {
            for part in line.split("&&") {
                let words = self.words(part);
                let Some((program, rest)) = words.split_first() else { continue };
                let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
                ran = ran.then(self.program(program, &rest, stdin));
                if program == "exit" {
                    return ran;
                }
                if ran.code != 0 {
                    break;
                }
            }
        }
        ran
    }

    fn words(&self, text: &str) -> Vec<String> {
        let (mut words, mut word, mut quote, mut open) = (Vec::new(), String::new(), None, false);
        let mut rest = text.chars().peekable();
        while let Some(c) = rest.next() {
            match (c, quote) {
                ('\'' | '"', None) => (quote, open) = (Some(c), true),
                (c, Some(q)) if c == q => quote = None,
                ('$', None | Some('"')) => {
                    let mut name = String::new();
                    let is_name = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '_' | '{' | '}');
                    while let Some(c) = rest.next_if(is_name) {
                        name.push(c);
                    }
                    word.push_str(self.get(name.trim_matches(['{', '}'])).unwrap_or_default());
                    open = true;
                }
                (c, None) if c.is_whitespace() => {
                    if open || !word.is_empty() {
                        words.push(std::mem::take(&mut word));
                    }
                    open = false;
                }
                (c, _) => word.push(c),
            }
        }
        if open || !word.is_empty() {
            words.push(word);
        }
        words
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.env.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    fn program(&self, program: &str, rest: &[&str], stdin: &[u8]) -> Ran {
        match (program, rest) {
            ("true", _) => Ran::default(),
            ("false", _) => Ran { code: 1, ..Ran::default() },
            ("exit", rest) => {
                Ran { code: rest.first().and_then(|code| code.parse().ok()).unwrap_or(0), ..Ran::default() }
            }
            ("echo", ["-n", rest @ ..]) => Ran::said(rest.join(" ")),
            ("echo", rest) => Ran::said(rest.join(" ") + "\n"),
            ("hostname", _) => Ran::said(format!("{}\n", self.host)),
            ("pwd", _) => Ran::said("/\n"),
            ("env", []) | ("printenv", []) => Ran::said(
                self.env.iter().map(|(name, value)| format!("{name}={value}\n")).collect::<String>(),
            ),
            ("printenv", names) => names.iter().fold(Ran::default(), |ran, name| match self.get(name) {
                Some(value) => ran.then(Ran::said(format!("{value}\n"))),
                None => Ran { code: 1, ..ran },
            }),
            ("cat", []) => Ran::said(stdin),
            ("cat", paths) => paths.iter().fold(Ran::default(), |ran, path| {
                let missing = || Ran::failed(1, format!("cat: {path}: No such file or directory\n"));
                ran.then(self.files.get(*path).map_or_else(missing, |bytes| Ran::said(bytes.clone())))
            }),
            ("ls", rest) => self.ls(rest.iter().find(|word| !word.starts_with('-')).copied().unwrap_or("/")),
            (other, _) => {
                let known = WORDS.join(", ");
                Ran::failed(127, format!("sandbox: {other}: no container runs here; there are {known}\n"))
            }
        }
    }

    fn ls(&self, folder: &str) -> Ran {
        let folder = folder.trim_end_matches('/');
        if self.files.contains_key(folder) {
            return Ran::said(format!("{folder}\n"));
        }
        let start = format!("{folder}/");
        let all = self.files.keys().chain(&self.folders).filter_map(|path| path.strip_prefix(&start));
        let mut names: Vec<&str> = all.filter_map(|rest| rest.split('/').next()).collect();
        names.sort_unstable();
        names.dedup();
        let known = folder.is_empty() || self.folders.iter().any(|known| known == folder);
        if names.is_empty() && !known {
            return Ran::failed(2, format!("ls: {folder}: No such file or directory\n"));
        }
        Ran::said(names.iter().map(|name| format!("{name}\n")).collect::<String>())
    }
}

/// The entries of a ConfigMap or a Secret, decoded.
fn data_of(object: &Value) -> BTreeMap<&str, Vec<u8>> {
    let secret = object["kind"] == "Secret";
    let mut data = BTreeMap::new();
    for (part, encoded) in [("data", secret), ("binaryData", true)] {
        for (key, value) in object[part].as_object().into_iter().flatten() {
            let value = value.as_str().unwrap_or_default();
            let decoded = encoded.then(|| BASE64.decode(value.as_bytes()).ok()).flatten();
            data.insert(key.as_str(), decoded.unwrap_or_else(|| value.as_bytes().to_vec()));
        }
    }
    data
}

/// The files that a volume, or a source of a projected one, has.
fn source_files(view: View<'_>, namespace: &str, source: &Value) -> BTreeMap<String, Vec<u8>> {
    let secret_key =
        if source.at("/secret/secretName").is_some() { "/secret/secretName" } else { "/secret/name" };
    let found = find(view, "configmap", namespace, text(source, "/configMap/name"))
        .or_else(|| find(view, "secret", namespace, text(source, secret_key)));
    let chosen = [items(source, "/configMap/items"), items(source, "/secret/items")].concat();
    let mut files = BTreeMap::new();
    for (key, bytes) in found.map(data_of).into_iter().flatten() {
        if chosen.is_empty() {
            files.insert(key.to_owned(), bytes.clone());
        }
        for item in chosen.iter().filter(|item| item["key"] == key) {
            files.insert(text(item, "/path").to_owned(), bytes.clone());
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(command: &[&str], stdin: &str) -> (String, u8) {
        let inside = Inside {
            env: vec![("NAME".into(), "kusion sandbox".into())],
            files: BTreeMap::from([
                ("/etc/app/a".into(), b"1\n".to_vec()),
                ("/etc/hostname".into(), b"p\n".to_vec()),
            ]),
            folders: vec!["/etc/app".into(), "/empty".into()],
            host: "p".into(),
        };
        let words: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
        let ran = inside.run(&words, stdin.as_bytes());
        (String::from_utf8(ran.out).unwrap() + &String::from_utf8(ran.err).unwrap(), ran.code)
    }

    #[test]
    fn a_few_words_look_at_variables_and_files() {
        assert_eq!(run(&["echo", "a", "b"], ""), ("a b\n".into(), 0));
        assert_eq!(run(&["env"], ""), ("NAME=kusion sandbox\n".into(), 0));
        assert_eq!(
            run(&["/bin/cat", "/etc/app/a", "/x"], ""),
            ("1\ncat: /x: No such file or directory\n".into(), 1)
        );
        assert_eq!(run(&["cat"], "typed"), ("typed".into(), 0));
        assert_eq!(run(&["ls", "-l", "/etc"], ""), ("app\nhostname\n".into(), 0));
        assert_eq!(run(&["ls", "/empty"], ""), (String::new(), 0));
        assert_eq!(
            run(&["sh", "-c", "echo \"$NAME\" '$x' && exit 3; echo no"], ""),
            ("kusion sandbox $x\n".into(), 3)
        );
        assert_eq!(run(&["sh"], "hostname\nfalse\npwd\n"), ("p\n/\n".into(), 0));
        assert_eq!(run(&["nginx"], "").1, 127);
        assert_eq!(run(&[], "").1, 126);
    }
}
