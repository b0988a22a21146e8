//! A call that cannot be carried out: what is wrong with it, with upstream's code where there is one, and the next step.

use std::process::ExitCode;

use base_diag::Code;

/// What is wrong with a call.
pub(crate) struct Wrong {
    code: Option<Code>,
    message: String,
    help: Option<String>,
}

impl Wrong {
    /// Whoever knows the next step says it.
    pub(crate) fn with_help(message: impl Into<String>, help: impl Into<String>) -> Self {
        Wrong { code: None, message: message.into(), help: Some(help.into()) }
    }

    /// What is wrong.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// Adds upstream's code.
    pub(crate) fn coded(self, code: Code) -> Self {
        Wrong { code: Some(code), ..self }
    }

    /// Tells it; where no next step is known, it is the help of the command.
    pub(crate) fn tell(&self, command: &str) -> ExitCode {
        let code = self.code.map(|code| format!("[{}]", code.code)).unwrap_or_default();
        eprintln!("error{code}: {}", self.message);
        match &self.help {
            Some(help) => eprintln!("help: {help}"),
            None => eprintln!("help: `kcl {command} --help` lists the flags"),
        }
        ExitCode::from(crate::EXIT_WRONG)
    }
}

impl From<String> for Wrong {
    fn from(message: String) -> Self {
        Wrong { code: None, message, help: None }
    }
}
