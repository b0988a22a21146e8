//! `file`: everything goes through the host, which decides what may be touched.

use std::path::Path;

use kcl_value::Value;

use super::{flag, text};
use crate::{Args, Error, FileAnswer, FileOp, FileTask, Host, Mistake, Reason};

type Answer = Result<Value, Error>;

fn path_text(path: &Path) -> Value {
    Value::from(path.to_string_lossy().as_ref())
}

/// The mistake that a file could not be touched.
pub(crate) fn failed(task: FileTask, path: &str, why: Reason) -> Error {
    Mistake::FileFailed { task, path: path.into(), why }.into()
}

/// `read(filepath)`.
pub(crate) fn read(host: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    let path = text(args, 0, "filepath");
    let failed = |why| failed(FileTask::Read, path, why);
    let bytes = host.read_file(Path::new(path)).map_err(failed)?;
    host.charge(bytes.len() as u64 / 16)?;
    String::from_utf8(bytes).map(Value::from).map_err(|_| failed(Reason::NotText))
}

/// `write(filepath, content)`.
pub(crate) fn write(host: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    let path = text(args, 0, "filepath");
    host.write_file(Path::new(path), text(args, 1, "content").as_bytes(), false)
        .map_err(|why| failed(FileTask::Write, path, why))?;
    Ok(Value::None)
}

/// `append(filepath, content)`.
pub(crate) fn append(host: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    let path = text(args, 0, "filepath");
    host.write_file(Path::new(path), text(args, 1, "content").as_bytes(), true)
        .map_err(|why| failed(FileTask::Append, path, why))?;
    Ok(Value::None)
}

/// `exists(filepath)`: what may not be asked about does not exist.
pub(crate) fn exists(host: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    let path = text(args, 0, "filepath");
    if path.is_empty() {
        return Ok(Value::Bool(false));
    }
    let path = Path::new(path);
    Ok(Value::Bool(matches!(host.file_op(FileOp::Exists(path)), Ok(FileAnswer::Bool(true)))))
}

/// `size(filepath)`.
pub(crate) fn size(host: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    let path = text(args, 0, "filepath");
    let failed = |why| failed(FileTask::Size, path, why);
    match host.file_op(FileOp::Size(Path::new(path))).map_err(failed)? {
        FileAnswer::Size(size) => Ok(Value::Int(i64::try_from(size).unwrap_or(i64::MAX))),
        _ => Ok(Value::Undefined),
    }
}

/// `abs(filepath)`.
pub(crate) fn abs(host: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    let path = text(args, 0, "filepath");
    match host.file_op(FileOp::Absolute(Path::new(path))) {
        Ok(FileAnswer::Paths(paths)) if paths.len() == 1 => Ok(path_text(&paths[0])),
        Ok(_) => Err(failed(FileTask::Absolute, path, Reason::NotHere)),
        Err(why) => Err(failed(FileTask::Absolute, path, why)),
    }
}

/// `glob(pattern)`: sorted.
pub(crate) fn glob(host: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    let pattern = text(args, 0, "pattern");
    let failed = |why| failed(FileTask::Glob, pattern, why);
    match host.file_op(FileOp::Glob(pattern)).map_err(failed)? {
        FileAnswer::Paths(mut paths) => {
            paths.sort();
            host.charge(paths.len() as u64)?;
            Ok(Value::from(paths.iter().map(|p| path_text(p)).collect::<Vec<_>>()))
        }
        _ => Ok(Value::from(Vec::new())),
    }
}

/// `mkdir(directory, exists=False)`.
pub(crate) fn mkdir(host: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    let path = text(args, 0, "directory");
    host.file_op(FileOp::Mkdir(Path::new(path), flag(args, 1, "exists")))
        .map_err(|why| failed(FileTask::MakeFolder, path, why))?;
    Ok(Value::None)
}

/// `delete(filepath)`.
pub(crate) fn delete(host: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    let path = text(args, 0, "filepath");
    host.file_op(FileOp::Delete(Path::new(path))).map_err(|why| failed(FileTask::Delete, path, why))?;
    Ok(Value::None)
}

/// `cp(src, dest)`.
pub(crate) fn cp(host: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    let (src, dest) = (text(args, 0, "src"), text(args, 1, "dest"));
    host.file_op(FileOp::Copy(Path::new(src), Path::new(dest)))
        .map_err(|why| failed(FileTask::Copy(dest.into()), src, why))?;
    Ok(Value::None)
}

/// `mv(src, dest)`.
pub(crate) fn mv(host: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    let (src, dest) = (text(args, 0, "src"), text(args, 1, "dest"));
    host.file_op(FileOp::Move(Path::new(src), Path::new(dest)))
        .map_err(|why| failed(FileTask::Move(dest.into()), src, why))?;
    Ok(Value::None)
}

/// `modpath()`.
pub(crate) fn modpath(host: &mut dyn Host, _: &Value, _: Args<'_>) -> Answer {
    Ok(path_text(&host.module_root()))
}

/// `workdir()`.
pub(crate) fn workdir(host: &mut dyn Host, _: &Value, _: Args<'_>) -> Answer {
    Ok(path_text(&host.work_dir()))
}

/// `current()`.
pub(crate) fn current(host: &mut dyn Host, _: &Value, _: Args<'_>) -> Answer {
    Ok(path_text(&host.current_file()))
}

/// `read_env(key)`: Undefined if it is not set.
pub(crate) fn read_env(host: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    Ok(host.env(text(args, 0, "key")).map_or(Value::Undefined, Value::from))
}
