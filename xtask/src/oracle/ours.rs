//! Ours behind the same interface as the oracle, with a clock and a net.

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
        std::thread::spawn(move || {
            let verdict = std::panic::catch_unwind(|| testkit::ours::run(&program))
                .unwrap_or_else(|_| Verdict::Broken("panic".into()));
            // The receiver may have given up.
            let _ = send.send(verdict);
        });
        receive.recv_timeout(self.timeout).unwrap_or_else(|_| Verdict::Broken("hang".into()))
    }
}
