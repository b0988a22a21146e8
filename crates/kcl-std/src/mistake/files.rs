//! Facts about files: what was to be done, in the reference's words and in those for people.

use kcl_value::Str;

use crate::Reason;

/// What a function was to do with a file or a folder.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FileTask {
    /// `file.read`.
    Read,
    /// `crypto.filesha256`.
    Digest,
    /// `file.write`.
    Write,
    /// `file.append`.
    Append,
    /// `json.dump_to_file`, `yaml.dump_to_file`, `yaml.dump_all_to_file`.
    Dump,
    /// `file.size`.
    Size,
    /// `file.abs`.
    Absolute,
    /// `file.glob`; the path is the pattern.
    Glob,
    /// `file.mkdir`.
    MakeFolder,
    /// `file.delete`.
    Delete,
    /// `file.cp`, to here.
    Copy(Str),
    /// `file.mv`, to here.
    Move(Str),
}

impl FileTask {
    pub(super) fn sentence(&self, path: &str, why: &Reason) -> String {
        match self {
            FileTask::Read => format!("failed to access the file '{path}': {why}"),
            FileTask::Digest => format!("failed to access file '{path}': {why}"),
            FileTask::Write => format!("Failed to create file '{path}': {why}"),
            FileTask::Append => format!("Failed to open or create file '{path}': {why}"),
            FileTask::Dump => format!("Unable to write file '{path}': {why}"),
            FileTask::Size => format!("failed to get size of '{path}': {why}"),
            FileTask::Absolute => format!("Could not get the absolute path of {path}"),
            FileTask::Glob => format!("Failed to read glob pattern: {why}"),
            FileTask::MakeFolder => format!("Failed to create directory '{path}': {why}"),
            FileTask::Delete => format!("failed to delete '{path}': {why}"),
            FileTask::Copy(to) => format!("Failed to copy from '{path}' to '{to}': {why}"),
            FileTask::Move(to) => format!("Failed to move '{path}' to '{to}': {why}"),
        }
    }

    pub(super) fn title(&self, path: &str, why: &Reason) -> String {
        let why = why.words();
        match self {
            FileTask::Read | FileTask::Digest => format!("cannot read the file `{path}`: {why}"),
            FileTask::Write | FileTask::Dump => format!("cannot write the file `{path}`: {why}"),
            FileTask::Append => format!("cannot append to the file `{path}`: {why}"),
            FileTask::Size => format!("cannot read the size of `{path}`: {why}"),
            FileTask::Absolute => format!("cannot find where `{path}` is: {why}"),
            FileTask::Glob => format!("cannot look for files like `{path}`: {why}"),
            FileTask::MakeFolder => format!("cannot make the folder `{path}`: {why}"),
            FileTask::Delete => format!("cannot delete `{path}`: {why}"),
            FileTask::Copy(to) => format!("cannot copy `{path}` to `{to}`: {why}"),
            FileTask::Move(to) => format!("cannot move `{path}` to `{to}`: {why}"),
        }
    }
}
