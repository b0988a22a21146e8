//! A scenario as data: files and steps, read from a txtar text.

/// One scenario.
#[derive(Debug, Default)]
pub(crate) struct Scenario {
    pub(crate) files: Vec<(String, String)>,
    pub(crate) steps: Vec<Step>,
    /// Without this it needs no cluster.
    pub(crate) needs_cluster: bool,
    /// Without Helm it is skipped.
    pub(crate) needs_helm: bool,
    /// Without Terraform providers it is skipped.
    pub(crate) needs_providers: bool,
}

/// One step of a script.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) line: usize,
    pub(crate) what: What,
}

#[derive(Debug)]
pub(crate) enum What {
    Command(Call),
    /// Starts a command and goes on when its output has this text.
    Background {
        call: Call,
        until: String,
    },
    /// Waits for the background command.
    Wait(Call),
    /// Ends a command by SIGKILL after so many lines with this text.
    KillAfter {
        call: Call,
        count: usize,
        text: String,
    },
    /// Sends SIGINT once after so many lines with this text.
    InterruptAfter {
        call: Call,
        count: usize,
        text: String,
    },
    /// Runs a command on a terminal, with an answer for each prompt.
    Terminal {
        call: Call,
        answers: Vec<String>,
    },
    /// Makes a folder a disk of so many KiB; without the right to mount the rest of the scenario is skipped.
    SmallDisk(String, u32),
    /// Lets nobody write on the disk of a folder any more.
    ReadOnly(String),
    /// Fills the disk of a folder with a file.
    Fill(String),
    Cd(String),
    Copy(String, String),
    Remove(String),
    Replace {
        file: String,
        old: String,
        new: String,
    },
    Env(String, String),
    /// Cuts the last bytes off a file.
    Cut(String, usize),
    Chmod(String, u32),
    /// A server that answers everything with a status and the text of a file, and a kubeconfig for it.
    Serve {
        status: u16,
        kubeconfig: String,
        body: Option<String>,
    },
    /// Another cluster of its own, and a kubeconfig for it.
    AnotherCluster(String),
}

/// A command with what is expected of it.
#[derive(Debug, Default)]
pub(crate) struct Call {
    pub(crate) words: Vec<String>,
    pub(crate) code: i32,
    /// Lines that must come, in this order; `*` stands for anything.
    pub(crate) lines: Vec<String>,
    /// Texts that must not come.
    pub(crate) absent: Vec<String>,
}

impl Scenario {
    /// Reads a txtar text: the script, then `-- name --` and the text of each file.
    pub(crate) fn parse(text: &str) -> Result<Scenario, String> {
        let mut scenario = Scenario::default();
        let mut script = String::new();
        for line in text.lines() {
            if let Some(name) = line.strip_prefix("-- ").and_then(|rest| rest.strip_suffix(" --")) {
                scenario.files.push((name.to_owned(), String::new()));
                continue;
            }
            let into = scenario.files.last_mut().map_or(&mut script, |(_, text)| text);
            into.push_str(line);
            into.push('\n');
        }
        for (at, line) in script.lines().enumerate() {
            scenario.line(at + 1, line).map_err(|problem| format!("line {}: {problem}", at + 1))?;
        }
        Ok(scenario)
    }

    fn line(&mut self, number: usize, line: &str) -> Result<(), String> {
        if line.trim().is_empty() || line.starts_with('#') {
            return Ok(());
        }
        if line == "needs cluster" {
            self.needs_cluster = true;
            return Ok(());
        }
        if line == "needs providers" {
            self.needs_providers = true;
            return Ok(());
        }
        if line == "needs helm" {
            self.needs_helm = true;
            return Ok(());
        }
        if let Some(expected) = line.strip_prefix("  ") {
            let call =
                self.steps.last_mut().and_then(|step| step.what.call()).ok_or("nothing is expected here")?;
            match expected.strip_prefix("! ") {
                Some(absent) => call.absent.push(absent.to_owned()),
                None => call.lines.push(expected.trim_end().to_owned()),
            }
            return Ok(());
        }
        if let Some(code) = line.strip_prefix("= ") {
            let call =
                self.steps.last_mut().and_then(|step| step.what.call()).ok_or("no command to leave")?;
            call.code = code.trim().parse().map_err(|_| "an exit code is a number")?;
            return Ok(());
        }
        let what = What::parse(line)?;
        self.steps.push(Step { line: number, what });
        Ok(())
    }
}

impl What {
    fn call(&mut self) -> Option<&mut Call> {
        match self {
            What::Command(call)
            | What::Wait(call)
            | What::InterruptAfter { call, .. }
            | What::Terminal { call, .. } => Some(call),
            _ => None,
        }
    }

    fn parse(line: &str) -> Result<What, String> {
        let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
        let call = |text: &str| Call { words: words(text), ..Call::default() };
        let two = || {
            let (a, b) = rest.split_once(' ').ok_or_else(|| format!("`{first}` takes two words"))?;
            Ok::<_, String>((a.to_owned(), b.trim().to_owned()))
        };
        Ok(match first {
            "$" => What::Command(call(rest)),
            "&" => {
                let (until, command) = rest.split_once(" $ ").ok_or("`& TEXT $ command`")?;
                What::Background { call: call(command), until: until.to_owned() }
            }
            "wait" => What::Wait(Call::default()),
            "kill-after" | "interrupt-after" => {
                let usage = || format!("`{first} N TEXT $ command`");
                let (condition, command) = rest.split_once(" $ ").ok_or_else(usage)?;
                let (count, text) = condition.split_once(' ').ok_or_else(usage)?;
                let count = count.parse().map_err(|_| "how often?")?;
                let (call, text) = (call(command), text.to_owned());
                match first {
                    "kill-after" => What::KillAfter { call, count, text },
                    _ => What::InterruptAfter { call, count, text },
                }
            }
            "tty" => {
                let (answers, command) = rest.split_once(" $ ").ok_or("`tty ANSWER,ANSWER $ command`")?;
                let answers = answers.split(',').map(str::to_owned).collect();
                What::Terminal { call: call(command), answers }
            }
            "small-disk" => {
                let (folder, size) = two()?;
                What::SmallDisk(folder, size.parse().map_err(|_| "how many KiB?")?)
            }
            "read-only" => What::ReadOnly(rest.to_owned()),
            "fill" => What::Fill(rest.to_owned()),
            "cd" => What::Cd(rest.to_owned()),
            "copy" => two().map(|(a, b)| What::Copy(a, b))?,
            "remove" => What::Remove(rest.to_owned()),
            "env" => {
                let (name, value) = rest.split_once('=').ok_or("`env NAME=VALUE`")?;
                What::Env(name.to_owned(), value.to_owned())
            }
            "replace" => {
                let (file, change) = two()?;
                let (old, new) = change.split_once(" => ").ok_or("`replace FILE OLD => NEW`")?;
                What::Replace { file, old: old.to_owned(), new: new.to_owned() }
            }
            "cut" => {
                let (file, bytes) = two()?;
                What::Cut(file, bytes.parse().map_err(|_| "how many bytes?")?)
            }
            "chmod" => {
                let (mode, file) = two()?;
                What::Chmod(file, u32::from_str_radix(&mode, 8).map_err(|_| "a mode is octal")?)
            }
            "serve" => {
                let (status, files) = two()?;
                let (kubeconfig, body) = match files.split_once(' ') {
                    Some((kubeconfig, body)) => (kubeconfig.to_owned(), Some(body.trim().to_owned())),
                    None => (files, None),
                };
                What::Serve { status: status.parse().map_err(|_| "which status?")?, kubeconfig, body }
            }
            "another-cluster" => What::AnotherCluster(rest.to_owned()),
            other => return Err(format!("`{other}` is no step")),
        })
    }
}

/// Splits a command line; single and double quotes keep spaces.
fn words(text: &str) -> Vec<String> {
    let (mut all, mut word, mut quote, mut open) = (Vec::new(), String::new(), None, false);
    for c in text.chars() {
        match (quote, c) {
            (Some(q), c) if c == q => quote = None,
            (Some(_), c) => word.push(c),
            (None, '\'' | '"') => (quote, open) = (Some(c), true),
            (None, ' ') => {
                if open || !word.is_empty() {
                    all.push(std::mem::take(&mut word));
                }
                open = false;
            }
            (None, c) => word.push(c),
        }
    }
    if open || !word.is_empty() {
        all.push(word);
    }
    all
}
