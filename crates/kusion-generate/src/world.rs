//! What a stack's program may touch: it reads its source tree and the clock; it writes nothing and sees no environment.

use std::path::Path;

use kcl::{DiskWorld, FileAnswer, FileOp, World};

pub(crate) struct ReadOnly(pub(crate) DiskWorld);

impl World for ReadOnly {
    fn enter(&self, modules: &[&Path]) {
        self.0.enter(modules);
    }

    fn read_file(&self, path: &Path) -> Result<Vec<u8>, String> {
        self.0.read_file(path)
    }

    fn file_op(&self, op: FileOp<'_>) -> Result<FileAnswer, String> {
        match op {
            FileOp::Exists(_) | FileOp::Size(_) | FileOp::Glob(_) | FileOp::Absolute(_) => self.0.file_op(op),
            _ => Err("a stack's program may not change files".to_owned()),
        }
    }

    fn now(&self) -> (i64, u32, i32) {
        self.0.now()
    }

    fn random(&self) -> Result<[u8; 16], String> {
        self.0.random()
    }
}
