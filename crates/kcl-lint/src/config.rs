//! `[lint]` in kcl.mod: which rules count, and how much.

use base_diag::nearest;
use rustc_hash::FxHashMap;
use toml::{Table, Value};

use crate::rule::{Level, Rule};
use crate::rules::{RULES, find};

/// How much a rule counts in a module.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Setting {
    /// It is not asked.
    Off,
    /// Its findings have this level.
    Level(Level),
}

/// The configuration of a module.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Config {
    rules: FxHashMap<&'static str, Setting>,
    /// Folders and files of the module that are not judged, relative to it.
    pub exclude: Vec<String>,
}

const KEYS: [&str; 2] = ["exclude", "rules"];
const LEVELS: [&str; 4] = ["off", "info", "warning", "error"];

impl Config {
    /// Reads the section `[lint]` of a kcl.mod.
    ///
    /// # Errors
    /// What is not understood, with the nearest word that would be.
    pub fn parse(text: &str) -> Result<Config, String> {
        if !text.contains("lint") {
            return Ok(Config::default());
        }
        let table: Table = text.parse().map_err(|error: toml::de::Error| {
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
            format!("line {}: {}", before.matches('\n').count() + 1, error.message())
        })?;
        let mut config = Config::default();
        let Some(section) = table.get("lint") else { return Ok(config) };
        let Value::Table(section) = section else {
            return Err("`lint` is a section: [lint]".into());
        };
        for (key, value) in section {
            match (key.as_str(), value) {
                ("exclude", Value::Array(paths)) => {
                    for path in paths {
                        let path = path.as_str().ok_or("[lint] `exclude` is a list of paths")?;
                        config.exclude.push(excluded(path)?);
                    }
                }
                ("exclude", _) => return Err("[lint] `exclude` is a list of paths".into()),
                ("rules", Value::Table(rules)) => config.rules(rules)?,
                ("rules", _) => return Err("`[lint.rules]` maps rules to levels".into()),
                (other, _) => {
                    return Err(format!("[lint] has no `{other}`{}", did_you_mean(&KEYS, other)));
                }
            }
        }
        Ok(config)
    }

    fn rules(&mut self, rules: &Table) -> Result<(), String> {
        for (name, level) in rules {
            let Some(rule) = find(name) else {
                return Err(format!("[lint.rules] {}", no_rule(name)));
            };
            let setting = match level.as_str() {
                Some("off") => Setting::Off,
                Some("info") => Setting::Level(Level::Info),
                Some("warning") => Setting::Level(Level::Warning),
                Some("error") => Setting::Level(Level::Error),
                other => {
                    let hint = other.map_or_else(String::new, |other| did_you_mean(&LEVELS, other));
                    return Err(format!(
                        "[lint.rules] `{name}` takes \"off\", \"info\", \"warning\" or \"error\"{hint}"
                    ));
                }
            };
            self.set(rule, setting);
        }
        Ok(())
    }

    /// Sets one rule.
    pub fn set(&mut self, rule: &'static Rule, setting: Setting) {
        self.rules.insert(rule.code, setting);
    }

    /// Returns the level of a rule's findings; none if it is off.
    pub fn level(&self, rule: &Rule) -> Option<Level> {
        match self.rules.get(rule.code) {
            None => Some(rule.level),
            Some(Setting::Off) => None,
            Some(Setting::Level(level)) => Some(*level),
        }
    }

    /// Whether a path of the module, relative to it and with `/`, is not judged.
    pub fn excludes(&self, path: &str) -> bool {
        let inside = |folder: &str| {
            path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.exclude.iter().any(|folder| inside(folder))
    }
}

/// A path of the module. What would never fit is refused: nobody finds out why a folder is judged all the same.
fn excluded(path: &str) -> Result<String, String> {
    let inside = path.strip_prefix("./").unwrap_or(path).trim_end_matches('/');
    let wrong = match inside {
        _ if path.contains(['*', '?']) => "a pattern; a folder leaves out everything in it",
        "" | "." => "the whole module; switch rules off instead",
        _ if inside.starts_with('/') || inside.split('/').any(|part| part == "..") => {
            "outside; paths begin at the folder of kcl.mod"
        }
        _ => return Ok(inside.to_owned()),
    };
    Err(format!("[lint] `exclude` takes folders and files of the module, and `{path}` is {wrong}"))
}

/// The sentence about a name that no rule has.
pub(crate) fn no_rule(name: &str) -> String {
    let names: Vec<&str> = RULES.iter().flat_map(|rule| [rule.id, rule.code]).collect();
    format!("there is no rule `{name}`{}", did_you_mean(&names, name))
}

fn did_you_mean(known: &[&str], wrong: &str) -> String {
    nearest(known.iter().copied(), wrong).map_or_else(String::new, |near| format!("; did you mean `{near}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_set_by_id_or_code_and_folders_are_left_out() {
        let text = "[package]\nname = \"m\"\n[lint]\nexclude = [\"gen/\", \"./made\"]\n[lint.rules]\nmissing-docs = \"off\"\nW0411 = \"error\"\n";
        let config = Config::parse(text).unwrap();
        assert_eq!(config.level(find("missing-docs").unwrap()), None);
        assert_eq!(config.level(find("import-unused").unwrap()), Some(Level::Error));
        assert!(config.excludes("gen/a.k") && !config.excludes("general/a.k") && config.excludes("made/b.k"));
        assert_eq!(Config::parse("[package]\nname = 'lint'").unwrap(), Config::default());
    }

    #[test]
    fn what_is_not_understood_is_told_with_the_nearest_word() {
        let wrong = |text: &str| Config::parse(text).unwrap_err();
        assert_eq!(wrong("[lint]\nexclud = []"), "[lint] has no `exclud`; did you mean `exclude`?");
        assert!(wrong("[lint.rules]\nimport-unsed = \"off\"").ends_with("did you mean `import-unused`?"));
        assert!(wrong("[lint.rules]\nW0411 = \"of\"").ends_with("did you mean `off`?"));
        assert!(wrong("[lint]\nexclude = 1").contains("list of paths"));
        assert!(wrong("[lint").starts_with("line 1:"));
        for (path, why) in
            [("gen/**", "a pattern"), (".", "the whole"), ("/", "the whole"), ("../b", "outside")]
        {
            assert!(wrong(&format!("[lint]\nexclude = ['{path}']")).contains(why), "{path}");
        }
    }
}
