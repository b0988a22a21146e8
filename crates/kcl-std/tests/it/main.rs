//! Functions that ask something of their host; the pure ones are in `spec/std`.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use kcl_std::{Args, Error, FileAnswer, FileOp, Host, Member, Patterns, Reason};
use kcl_value::{OutputOptions, Str, Value, to_text};

/// A host with a small budget, one file and a clock that stands still.
#[derive(Default)]
struct Fake {
    log: String,
    output: Option<String>,
    charged: u64,
    patterns: Patterns,
}

impl Host for Fake {
    fn patterns(&mut self) -> &mut Patterns {
        &mut self.patterns
    }

    fn call(&mut self, _: &Value, args: &[Value]) -> Result<Value, Error> {
        if args.is_empty() { Err(Error::Raised(Box::new("boom"))) } else { Ok(args[0].clone()) }
    }

    fn lambda_shape(&self, _: &Value) -> Option<(usize, Option<Str>)> {
        Some((2, Some("int".into())))
    }

    fn union(&mut self, left: Value, right: Value) -> Result<Value, Error> {
        Ok(Value::from(format!("{}|{}", to_text(&left), to_text(&right))))
    }

    fn error_text(&self, error: &Error) -> String {
        match error {
            Error::Mistake(mistake) => base_diag::Mistake::sentence(&**mistake).into_owned(),
            Error::Raised(raised) => raised.downcast_ref::<&str>().copied().unwrap_or_default().to_owned(),
        }
    }

    fn is_fatal(&self, _: &Error) -> bool {
        false
    }

    fn print(&mut self, text: &str) {
        self.log.push_str(text);
    }

    fn option(&self, key: &str) -> Option<Value> {
        (key == "port").then(|| Value::from("80"))
    }

    fn set_output(&mut self, text: String, _: &Value, _: OutputOptions) {
        self.output = Some(text);
    }

    fn charge(&mut self, cells: u64) -> Result<(), Error> {
        self.charged = self.charged.saturating_add(cells);
        if self.charged > 1_000_000 { Err(Error::Raised(Box::new("budget"))) } else { Ok(()) }
    }

    fn debug_mode(&self) -> bool {
        true
    }

    fn module_root(&self) -> PathBuf {
        "/m".into()
    }

    fn work_dir(&self) -> PathBuf {
        "/w".into()
    }

    fn current_file(&self) -> PathBuf {
        "/m/main.k".into()
    }

    fn read_file(&mut self, path: &Path) -> Result<Vec<u8>, Reason> {
        match path.to_str() {
            Some("a") => Ok(b"hi".to_vec()),
            Some("bin") => Ok(vec![0xFF]),
            _ => Err(std::io::Error::from_raw_os_error(2).into()),
        }
    }

    fn write_file(&mut self, path: &Path, data: &[u8], append: bool) -> Result<(), Reason> {
        self.log.push_str(&format!("{}:{}:{append}", path.display(), String::from_utf8_lossy(data)));
        Ok(())
    }

    fn file_op(&mut self, op: FileOp<'_>) -> Result<FileAnswer, Reason> {
        match op {
            FileOp::Exists(path) => Ok(FileAnswer::Bool(path == Path::new("a"))),
            FileOp::Size(_) => Ok(FileAnswer::Size(2)),
            FileOp::Glob(_) => Ok(FileAnswer::Paths(vec!["b".into(), "a".into()])),
            FileOp::Absolute(path) => Ok(FileAnswer::Paths(vec![Path::new("/m").join(path)])),
            FileOp::Delete(_) => Err(std::io::Error::from_raw_os_error(2).into()),
            _ => Ok(FileAnswer::Done),
        }
    }

    fn env(&self, name: &str) -> Option<String> {
        (name == "HOME").then(|| "/root".to_owned())
    }

    fn now(&self) -> (i64, u32, i32) {
        (1_700_000_000, 123_000_000, 3600)
    }

    fn random(&mut self) -> Result<[u8; 16], Reason> {
        Ok([0xFF; 16])
    }
}

fn call_on(host: &mut Fake, name: &str, args: &[Value]) -> Result<String, String> {
    let id = match name.split_once('.') {
        None => kcl_std::builtin(name).unwrap(),
        Some((module, name)) => match kcl_std::module_member(module, name).unwrap() {
            Member::Function(id) => id,
            Member::Constant(_) => panic!("{name} is a constant"),
        },
    };
    match kcl_std::call(id, host, &Value::Undefined, Args { positional: args, keyword: &[] }) {
        Ok(value) => Ok(to_text(&value)),
        Err(error) => Err(host.error_text(&error)),
    }
}

fn call(name: &str, args: &[Value]) -> Result<String, String> {
    call_on(&mut Fake::default(), name, args)
}

fn list(items: &[i64]) -> Value {
    Value::from(items.iter().map(|i| Value::Int(*i)).collect::<Vec<_>>())
}

#[test]
fn blow_ups_are_paid_for_before_they_happen() {
    assert_eq!(call("range", &[Value::Int(1_000_000_000_000)]), Err("budget".into()));
    assert_eq!(call("range", &[Value::Int(i64::MIN), Value::Int(i64::MAX)]), Err("budget".into()));
    let id = kcl_std::method("replace").unwrap();
    let text = Value::from("a".repeat(100_000));
    let args = [Value::from("a"), Value::from("b".repeat(100_000))];
    let mut host = Fake::default();
    let answer = kcl_std::call(id, &mut host, &text, Args { positional: &args, keyword: &[] });
    assert_eq!(host.error_text(&answer.unwrap_err()), "budget");
    let format = kcl_std::method("format").unwrap();
    let wide = Value::from("{:99999999}");
    let answer = kcl_std::call(
        format,
        &mut Fake::default(),
        &wide,
        Args { positional: &[Value::Int(1)], keyword: &[] },
    );
    assert!(answer.is_err());
}

#[test]
fn options_convert_what_was_given() {
    let port = Value::from("port");
    assert_eq!(call("option", std::slice::from_ref(&port)), Ok("80".into()));
    assert_eq!(call("option", &[port.clone(), Value::from("int")]), Ok("80".into()));
    assert_eq!(call("option", &[port, Value::from("list")]), Err("cannot use '80' as type 'list'".into()));
    assert_eq!(call("option", &[Value::from("x")]), Ok("None".into()));
}

#[test]
fn a_unit_that_does_not_fit_is_an_error_in_debug_mode() {
    let unit =
        |value: f64| Value::Unit(std::rc::Rc::new(kcl_value::Unit { raw: 9_000_000, suffix: "P", value }));
    assert_eq!(call("int", &[unit(9e21)]), Err("9000000000000000000000: A 64 bit integer overflow".into()));
    assert_eq!(call("int", &[unit(9e3)]), Ok("9000".into()));
    assert_eq!(call("int", &[Value::Float(1e300)]), Ok(i64::MAX.to_string()));
    assert_eq!(call("int", &[Value::Float(f64::NAN)]), Ok("0".into()));
}

#[test]
fn the_clock_and_randomness_are_the_hosts() {
    assert_eq!(call("datetime.date", &[]), Ok("2023-11-14 23:13:20".into()));
    assert_eq!(call("datetime.now", &[]), Ok("Tue Nov 14 23:13:20 2023".into()));
    assert_eq!(call("datetime.now", &[Value::from("%:z %3f")]), Ok("+01:00 123".into()));
    assert_eq!(call("datetime.today", &[]), Ok("2023-11-14 23:13:20.1700000000".into()));
    assert_eq!(call("datetime.ticks", &[]), Ok("1700000000.0".into()));
    assert_eq!(call("crypto.uuid", &[]), Ok("ffffffff-ffff-4fff-bfff-ffffffffffff".into()));
}

#[test]
fn files_are_the_hosts() {
    assert_eq!(call("file.read", &[Value::from("a")]), Ok("hi".into()));
    let missing = "failed to access the file 'x': No such file or directory (os error 2)";
    assert_eq!(call("file.read", &[Value::from("x")]), Err(missing.into()));
    let binary = "failed to access the file 'bin': stream did not contain valid UTF-8";
    assert_eq!(call("file.read", &[Value::from("bin")]), Err(binary.into()));
    assert_eq!(call("file.glob", &[Value::from("*")]), Ok("[a, b]".into()));
    assert_eq!(call("file.exists", &[Value::from("a")]), Ok("True".into()));
    assert_eq!(call("file.abs", &[Value::from("a")]), Ok("/m/a".into()));
    assert_eq!(call("file.read_env", &[Value::from("HOME")]), Ok("/root".into()));
    assert_eq!(call("file.read_env", &[Value::from("X")]), Ok("Undefined".into()));
    assert!(
        call("file.delete", &[Value::from("x")]).unwrap_err().starts_with("failed to delete 'x': No such")
    );
    let mut host = Fake::default();
    call_on(&mut host, "yaml.dump_to_file", &[list(&[1]), Value::from("f")]).unwrap();
    assert_eq!(host.log, "f:- 1\n:false");
    let sha = "8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4";
    assert_eq!(call("crypto.filesha256", &[Value::from("a")]), Ok(sha.into()));
}

#[test]
fn a_stream_replaces_the_output() {
    let mut host = Fake::default();
    call_on(&mut host, "manifests.yaml_stream", &[Value::from(vec![list(&[1]), Value::from("a\n")])])
        .unwrap();
    assert_eq!(host.output.as_deref(), Some("- 1\n---\n|\n  a"));
}

#[test]
fn modules_and_members_are_found() {
    assert!(kcl_std::is_system_module("yaml") && !kcl_std::is_system_module("duration"));
    assert!(
        kcl_std::module_member("str", "upper").is_none()
            && kcl_std::module_member("file", "readbase64").is_none()
    );
    assert!(matches!(kcl_std::module_member("units", "Ki"), Some(Member::Constant(Value::Int(1024)))));
    assert_eq!(kcl_std::function_name(kcl_std::builtin("len").unwrap()), "len");
    assert_eq!(call("collection.union_all", &[list(&[1, 2, 3])]), Ok("1|2|3".into()));
}
