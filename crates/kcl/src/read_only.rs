//! What a program may touch that is only looked at: it reads its source tree and the clock; it writes nothing and sees no environment.

use std::path::Path;

use kcl_eval::Outside;
use kcl_std::{FileAnswer, FileOp, Reason};

use crate::disk::DiskOutside;

/// The disk, but nothing on it is changed.
#[derive(Clone, Debug)]
pub struct ReadOnly(pub DiskOutside);

impl Outside for ReadOnly {
    fn enter(&self, modules: &[&Path]) {
        self.0.enter(modules);
    }

    fn read_file(&self, path: &Path) -> Result<Vec<u8>, Reason> {
        self.0.read_file(path)
    }

    fn write_file(&self, _path: &Path, _data: &[u8], _append: bool) -> Result<(), Reason> {
        Err(Reason::ReadOnly)
    }

    fn file_op(&self, op: FileOp<'_>) -> Result<FileAnswer, Reason> {
        match op {
            FileOp::Exists(_) | FileOp::Size(_) | FileOp::Glob(_) | FileOp::Absolute(_) => self.0.file_op(op),
            _ => Err(Reason::ReadOnly),
        }
    }

    fn now(&self) -> (i64, u32, i32) {
        self.0.now()
    }

    fn random(&self) -> Result<[u8; 16], Reason> {
        self.0.random()
    }
}
