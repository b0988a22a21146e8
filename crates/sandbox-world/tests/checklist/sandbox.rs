//! The sandbox, in process.

use std::cell::RefCell;
use std::time::Duration;

use sandbox_world::{Answer, Faults, Request, StreamId, Time, World};
use serde_json::Value;

use crate::wire::{Lines, Reply, Wire};

pub struct Sandbox {
    world: RefCell<World>,
}

/// The token of the administrator.
pub const TOKEN: &str = "admin-token";

impl Sandbox {
    pub fn new() -> Sandbox {
        let now = Time::parse("2026-01-01T00:00:00Z").unwrap();
        let mut world = World::with_defaults(7, now);
        world.set_admin_token(TOKEN);
        Sandbox { world: RefCell::new(world) }
    }

    fn handle(&self, method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let mut all: Vec<(String, String)> =
            headers.iter().map(|(name, value)| (name.to_lowercase(), (*value).to_owned())).collect();
        if !all.iter().any(|(name, _)| name == "authorization") {
            all.push(("authorization".to_owned(), format!("Bearer {TOKEN}")));
        }
        all.retain(|(name, value)| name != "authorization" || value != "none");
        let request = Request { method, path, query, headers: &all, body };
        let mut world = self.world.borrow_mut();
        let answer = world.handle(&request);
        world.advance(Duration::ZERO);
        answer
    }
}

impl Wire for Sandbox {
    fn call(&self, method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
        match self.handle(method, target, headers, body) {
            Answer::Whole(whole) => Reply {
                code: whole.status,
                headers: whole.headers.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
                body: whole.body,
            },
            Answer::Stream { id, .. } => {
                let mut world = self.world.borrow_mut();
                let polled = world.poll(id);
                world.close(id);
                Reply { code: 200, headers: Vec::new(), body: polled.bytes }
            }
            Answer::Upgrade { .. } => Reply { code: 101, ..Reply::default() },
            Answer::Broken => Reply::default(),
        }
    }

    fn open(&self, target: &str, headers: &[(&str, &str)]) -> Box<dyn Lines + '_> {
        let mut lines = SandboxLines { sandbox: self, id: None, bytes: Vec::new(), ended: false };
        match self.handle("GET", target, headers, b"") {
            Answer::Stream { id, .. } => lines.id = Some(id),
            Answer::Whole(whole) => {
                lines.bytes = whole.body;
                lines.ended = true;
            }
            Answer::Upgrade { .. } | Answer::Broken => lines.ended = true,
        }
        Box::new(lines)
    }

    fn pass(&self, time: Duration) {
        self.world.borrow_mut().advance(time);
    }

    fn is_real(&self) -> bool {
        false
    }

    fn mark(&self) -> &str {
        ""
    }

    fn faults(&self, script: &str) {
        self.world.borrow_mut().set_faults(Faults::parse(script).unwrap());
    }

    fn forget(&self) {
        self.world.borrow_mut().forget_history();
    }
}

struct SandboxLines<'s> {
    sandbox: &'s Sandbox,
    id: Option<StreamId>,
    bytes: Vec<u8>,
    ended: bool,
}

impl SandboxLines<'_> {
    fn pull(&mut self) {
        if let (Some(id), false) = (self.id, self.ended) {
            let polled = self.sandbox.world.borrow_mut().poll(id);
            self.bytes.extend_from_slice(&polled.bytes);
            self.ended = polled.ended || polled.broken;
        }
    }

    fn line(&mut self) -> Option<Value> {
        let end = self.bytes.iter().position(|byte| *byte == b'\n')?;
        let line: Vec<u8> = self.bytes.drain(..=end).collect();
        serde_json::from_slice(&line).ok()
    }
}

/// Steps in which virtual time passes while a stream is waited for.
const STEP: Duration = Duration::from_millis(250);

impl Lines for SandboxLines<'_> {
    fn next(&mut self, wait: Duration) -> Option<Value> {
        let mut waited = Duration::ZERO;
        loop {
            self.pull();
            if let Some(line) = self.line() {
                return Some(line);
            }
            if self.ended || waited >= wait {
                return None;
            }
            self.sandbox.pass(STEP);
            waited += STEP;
        }
    }

    fn ends(&mut self, within: Duration) -> bool {
        let mut waited = Duration::ZERO;
        loop {
            self.pull();
            if self.ended {
                return true;
            }
            if waited >= within {
                return false;
            }
            self.sandbox.pass(STEP);
            waited += STEP;
        }
    }
}

impl Drop for SandboxLines<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            self.sandbox.world.borrow_mut().close(id);
        }
    }
}
