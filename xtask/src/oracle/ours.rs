//! The façade of this repository behind the same interface as the oracle.

use std::time::Duration;
use testkit::{Program, Runner, Verdict};

/// Runs programs in process, on a thread that can be given up on.
pub(crate) struct Ours {
    /// How long a program may take.
    pub(crate) timeout: Duration,
}

impl Runner for Ours {
    fn run(&mut self, program: &Program) -> Verdict {
        let program = program.clone();
        let (send, receive) = std::sync::mpsc::channel();
        let thread = std::thread::Builder::new().stack_size(64 << 20).spawn(move || {
            let verdict = std::panic::catch_unwind(|| evaluate(&program))
                .unwrap_or_else(|panic| Verdict::Broken(format!("panic: {}", words(&*panic))));
            // The receiver may have given up.
            let _ = send.send(verdict);
        });
        if let Err(problem) = thread {
            return Verdict::Broken(format!("no thread: {problem}"));
        }
        receive.recv_timeout(self.timeout).unwrap_or_else(|_| Verdict::Broken("hang".into()))
    }
}

fn words(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|s| (*s).to_string());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}

fn evaluate(_program: &Program) -> Verdict {
    Verdict::Broken("the façade is not there yet".into())
}

/// Runs a program several times on the calling thread, as one process that serves many, and returns the last verdict.
pub(crate) fn repeat(program: &Program, runs: u32) -> Verdict {
    let mut verdict = Verdict::Broken("not run".into());
    for _ in 0..runs {
        verdict = evaluate(program);
    }
    verdict
}
