//! Faults on purpose: a script of what goes wrong, when, and for whom.
//!
//! In: a text, as `--fault` takes it, or rules made by hand. Out: for each request whether something happens to it. The same
//! script, seed and requests give the same faults.
//!
//! A rule is words between blanks; rules are separated by `;` or line ends:
//!
//! ```text
//! verb=apply path=/apis/apps/* call=2..3 error=503 retry-after=1
//! ```
//!
//! | word | meaning |
//! |---|---|
//! | `verb=` | get, list, watch, create, update, patch, apply, delete, deletecollection, read, write; or a method; default all |
//! | `path=` | `*` stands for anything; default all |
//! | `call=3`, `call=2..4`, `call=3..`, `call=every:5` | which of the requests that verb and path fit, from 1; default all |
//! | `chance=10%` | of those, how many; drawn from `seed=` (default 1) |
//! | `error=CODE [retry-after=S]` | that status, nothing is done |
//! | `throttle=S` | 429 of flow control: text, `Retry-After` |
//! | `delay=MS` | done, answered so much later |
//! | `conflict` | 409 as for a stale version, nothing is done |
//! | `drop` | the connection breaks, nothing is done |
//! | `lost` | done, but the connection breaks before the answer |
//! | `watch-drop[=N]`, `watch-stale[=N]` | a watch breaks off, or is told 410, after N events |
//! | `watch-silent` | a watch is accepted and says nothing, until it ends |
//! | `restart` | the server restarts: all connections and watches break |

use kube_meaning::status::Refusal;

use crate::api::{Answer, Request, Response};
use crate::seed::Seed;

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Error { code: u16, retry_after: Option<u32> },
    Throttle { seconds: u32 },
    Delay { millis: u64 },
    Conflict,
    Drop,
    Lost,
    WatchDrop { after: u64 },
    WatchStale { after: u64 },
    WatchSilent,
    Restart,
}

/// Which of the requests that fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calls {
    Every(u64),
    /// From the first to the last, both included.
    Between(u64, u64),
}

/// One rule of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Empty for all.
    pub verb: String,
    /// Empty for all.
    pub path: String,
    pub calls: Calls,
    /// Of a hundred.
    pub chance: u8,
    pub action: Action,
    /// How many requests fitted.
    seen: u64,
}

impl Rule {
    /// Something for all requests.
    pub fn new(action: Action) -> Rule {
        let calls = Calls::Every(1);
        Rule { verb: String::new(), path: String::new(), calls, chance: 100, action, seen: 0 }
    }

    /// Reads one rule.
    pub fn parse(text: &str) -> Result<(Rule, Option<u64>), String> {
        let mut rule = Rule::new(Action::Drop);
        let (mut action, mut retry_after, mut seed) = (None, None, None);
        for word in text.split_whitespace() {
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            let number = || value.parse::<u64>().map_err(|_| format!("`{word}`: {value:?} is not a number"));
            let small = || value.parse::<u32>().map_err(|_| format!("`{word}`: {value:?} is not a number"));
            match key {
                "verb" => rule.verb = known_verb(value)?.to_owned(),
                "path" => rule.path = value.to_owned(),
                "call" => rule.calls = calls(value)?,
                "seed" => seed = Some(number()?),
                "chance" => {
                    let percent = value.trim_end_matches('%').parse::<u8>();
                    rule.chance = percent
                        .ok()
                        .filter(|p| *p <= 100)
                        .ok_or_else(|| format!("`{word}`: give a percentage from 0% to 100%"))?;
                }
                "retry-after" => retry_after = Some(small()?),
                _ => {
                    let made = match key {
                        "error" => Action::Error { code: code(value)?, retry_after: None },
                        "throttle" => {
                            Action::Throttle { seconds: if value.is_empty() { 1 } else { small()? } }
                        }
                        "delay" => Action::Delay { millis: number()? },
                        "conflict" => Action::Conflict,
                        "drop" => Action::Drop,
                        "lost" => Action::Lost,
                        "watch-drop" => {
                            Action::WatchDrop { after: if value.is_empty() { 0 } else { number()? } }
                        }
                        "watch-stale" => {
                            Action::WatchStale { after: if value.is_empty() { 0 } else { number()? } }
                        }
                        "watch-silent" => Action::WatchSilent,
                        "restart" => Action::Restart,
                        _ => return Err(format!("`{word}` is not a word of a fault")),
                    };
                    if action.replace(made).is_some() {
                        return Err(format!("`{word}`: a rule has one fault"));
                    }
                }
            }
        }
        rule.action = action.ok_or("no fault: give error=, throttle=, delay=, conflict, drop, lost, watch-drop, watch-stale, watch-silent or restart")?;
        if let Action::Error { retry_after: slot, .. } = &mut rule.action {
            *slot = retry_after;
        } else if retry_after.is_some() {
            return Err("`retry-after=` belongs to `error=`".to_owned());
        }
        Ok((rule, seed))
    }

    fn fits(&self, request: &Asked<'_>) -> bool {
        let verb = match self.verb.as_str() {
            "" => true,
            "read" => matches!(request.verb, "get" | "list" | "watch"),
            "write" => !matches!(request.verb, "get" | "list" | "watch"),
            verb => verb == request.verb || verb.eq_ignore_ascii_case(request.method),
        };
        let watches =
            matches!(self.action, Action::WatchDrop { .. } | Action::WatchStale { .. } | Action::WatchSilent);
        verb && (!watches || request.verb == "watch")
            && (self.path.is_empty() || glob(&self.path, request.path))
    }

    fn strikes(&mut self, request: &Asked<'_>, seed: &mut Seed) -> bool {
        if !self.fits(request) {
            return false;
        }
        self.seen += 1;
        let turn = match self.calls {
            Calls::Every(step) => step > 0 && self.seen.is_multiple_of(step),
            Calls::Between(first, last) => (first..=last).contains(&self.seen),
        };
        turn && (self.chance >= 100 || seed.below(100) < u64::from(self.chance))
    }
}

const VERBS: [&str; 16] = [
    "get",
    "list",
    "watch",
    "create",
    "update",
    "patch",
    "apply",
    "delete",
    "deletecollection",
    "read",
    "write",
    "GET",
    "POST",
    "PUT",
    "PATCH",
    "DELETE",
];

fn known_verb(text: &str) -> Result<&str, String> {
    match VERBS.contains(&text) {
        true => Ok(text),
        false => Err(format!("`verb={text}`: give one of {}", VERBS.join(", "))),
    }
}

fn code(text: &str) -> Result<u16, String> {
    let code = text.parse::<u16>().ok().filter(|code| (400..600).contains(code));
    code.ok_or_else(|| format!("`error={text}`: give a status from 400 to 599"))
}

fn calls(text: &str) -> Result<Calls, String> {
    let wrong = || format!("`call={text}`: give 3, 2..4, 3.. or every:5");
    let number = |text: &str| text.parse::<u64>().ok().filter(|n| *n > 0).ok_or_else(wrong);
    if let Some(step) = text.strip_prefix("every:") {
        return Ok(Calls::Every(number(step)?));
    }
    match text.split_once("..") {
        Some((first, "")) => Ok(Calls::Between(number(first)?, u64::MAX)),
        Some((first, last)) => Ok(Calls::Between(number(first)?, number(last)?)),
        None => number(text).map(|at| Calls::Between(at, at)),
    }
}

/// Whether a text fits a pattern whose `*` stands for anything. Linear: the last star is enough to go back to.
fn glob(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut p, mut t) = (0, 0);
    let mut back: Option<(usize, usize)> = None;
    while t < text.len() {
        if pattern.get(p) == Some(&b'*') {
            back = Some((p, t));
            p += 1;
        } else if pattern.get(p) == Some(&text[t]) {
            p += 1;
            t += 1;
        } else if let Some((star, from)) = back {
            back = Some((star, from + 1));
            p = star + 1;
            t = from + 1;
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

/// A request as rules see it.
struct Asked<'r> {
    verb: &'static str,
    method: &'r str,
    path: &'r str,
}

/// A script of faults and how far it is.
#[derive(Clone, Debug)]
pub struct Faults {
    rules: Vec<Rule>,
    seed: Seed,
    struck: u64,
}

impl Default for Faults {
    fn default() -> Faults {
        Faults { rules: Vec::new(), seed: Seed::new(1), struck: 0 }
    }
}

impl Faults {
    /// Reads a script.
    pub fn parse(text: &str) -> Result<Faults, String> {
        let mut faults = Faults::default();
        for line in text.split([';', '\n']).map(str::trim) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (rule, seed) = Rule::parse(line)?;
            if let Some(seed) = seed {
                faults.seed = Seed::new(seed);
            }
            faults.rules.push(rule);
        }
        Ok(faults)
    }

    /// A script of rules.
    pub fn of(rules: Vec<Rule>, seed: u64) -> Faults {
        Faults { rules, seed: Seed::new(seed), struck: 0 }
    }

    pub fn push(&mut self, rule: Rule) {
        self.rules.push(rule);
    }

    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// How often something went wrong on purpose.
    pub fn struck(&self) -> u64 {
        self.struck
    }

    /// What happens to a request: the first rule that strikes. Every rule counts every request that fits it.
    pub(crate) fn strike(&mut self, request: &Request<'_>) -> Option<Action> {
        if self.rules.is_empty() {
            return None;
        }
        let asked = Asked { verb: crate::api::verb_of(request), method: request.method, path: request.path };
        let seed = &mut self.seed;
        let mut found = None;
        for rule in &mut self.rules {
            if rule.strikes(&asked, seed) {
                found = found.or(Some(rule.action));
            }
        }
        self.struck += u64::from(found.is_some());
        found
    }
}

/// The answer of a fault that lets nothing be done.
pub(crate) fn refused(action: Action) -> Option<Answer> {
    match action {
        Action::Error { code, retry_after } => {
            let (reason, message) = match code {
                429 => ("TooManyRequests", "a fault of the sandbox: too many requests"),
                503 => ("ServiceUnavailable", "a fault of the sandbox: the server is unavailable"),
                504 => ("Timeout", "Timeout: a fault of the sandbox"),
                409 => ("Conflict", "Operation cannot be fulfilled: a fault of the sandbox"),
                _ => ("InternalError", "Internal error occurred: a fault of the sandbox"),
            };
            let mut refusal = Refusal::new(code, reason, message);
            refusal.retry_after = retry_after.and_then(|seconds| u16::try_from(seconds).ok());
            let mut response = Response::refusal(&refusal);
            if let Some(seconds) = retry_after {
                response = response.header("retry-after", seconds.to_string());
            }
            Some(response.into())
        }
        Action::Throttle { seconds } => {
            let response = Response::text(429, "Too many requests, please try again later.\n");
            Some(response.header("retry-after", seconds.to_string()).into())
        }
        Action::Conflict => {
            let message = "Operation cannot be fulfilled: the object has been modified; please apply your changes to the latest version and try again";
            Some(Refusal::new(409, "Conflict", message).into())
        }
        Action::Drop | Action::Restart => Some(Answer::Broken),
        Action::Delay { .. }
        | Action::Lost
        | Action::WatchDrop { .. }
        | Action::WatchStale { .. }
        | Action::WatchSilent => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request<'r>(method: &'r str, path: &'r str) -> Request<'r> {
        Request { method, path, ..Request::default() }
    }

    #[test]
    fn a_rule_strikes_the_calls_that_it_names() {
        let script =
            "verb=get path=/api/*/pods/* call=2..3 error=503 retry-after=1; verb=write call=every:2 drop";
        let mut faults = Faults::parse(script).unwrap();
        let get = request("GET", "/api/v1/namespaces/n/pods/p");
        let struck: Vec<bool> = (0..4).map(|_| faults.strike(&get).is_some()).collect();
        assert_eq!(struck, [false, true, true, false]);
        let put = request("PUT", "/api/v1/namespaces/n/pods/p");
        assert_eq!((faults.strike(&put), faults.strike(&put)), (None, Some(Action::Drop)));
        assert_eq!(faults.strike(&request("GET", "/api/v1/namespaces/n/pods")), None);
        assert_eq!(faults.struck(), 3);
    }

    #[test]
    fn chances_come_from_the_seed() {
        let draw = |seed: u64| {
            let mut faults = Faults::parse(&format!("seed={seed} chance=30% drop")).unwrap();
            (0..200).map(|_| faults.strike(&request("GET", "/")).is_some()).collect::<Vec<bool>>()
        };
        assert_eq!(draw(5), draw(5));
        assert_ne!(draw(5), draw(6));
        let hits = draw(5).iter().filter(|hit| **hit).count();
        assert!((30..90).contains(&hits), "{hits}");
    }

    #[test]
    fn scripts_that_mean_nothing_are_refused_in_words() {
        for (script, word) in [
            ("verb=fly drop", "verb=fly"),
            ("error=200", "400 to 599"),
            ("call=0 drop", "call=0"),
            ("drop lost", "one fault"),
            ("verb=get", "no fault"),
            ("explode", "`explode`"),
            ("delay=x", "not a number"),
            ("drop retry-after=1", "belongs to"),
        ] {
            let problem = Faults::parse(script).unwrap_err();
            assert!(problem.contains(word), "{script}: {problem}");
        }
    }

    #[test]
    fn patterns_fit_as_people_expect() {
        for (pattern, text, fits) in [
            ("*", "/a", true),
            ("/a/*/c", "/a/b/b/c", true),
            ("/a", "/ab", false),
            ("*b", "/ab", true),
            ("**a**", "xay", true),
            ("", "x", false),
        ] {
            assert_eq!(glob(pattern, text), fits, "{pattern} {text}");
        }
    }
}
