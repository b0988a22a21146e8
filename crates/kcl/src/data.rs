//! The result of a run as plain data: a tree that knows nothing of the evaluator, and that may go to another thread.

use base_yaml::Sink;
use kcl_value::{OutputOptions, Str, Value, write_value};

/// A value of the output.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum Data {
    /// Nothing.
    #[default]
    Null,
    /// True or false.
    Bool(bool),
    /// 64-bit signed.
    Int(i64),
    /// A finite double.
    Float(f64),
    /// UTF-8 text.
    Text(Str),
    /// Items in order.
    List(Vec<Data>),
    /// Entries in order; no key stands twice.
    Map(Vec<(Str, Data)>),
}

impl Data {
    /// Makes data of a value, as it would be written; none if it nests too deep.
    pub(crate) fn of(value: &Value, options: &OutputOptions) -> Option<Data> {
        // Alone, a function is written as 0.
        if matches!(value, Value::Func(_)) {
            return Some(Data::Int(0));
        }
        let mut builder = Builder::default();
        write_value(&mut builder, value, options);
        (!builder.too_deep).then_some(builder.done)
    }

    /// Returns the entry of a key, if this is a map that has it.
    pub fn get(&self, key: &str) -> Option<&Data> {
        match self {
            Data::Map(entries) => entries.iter().find(|(name, _)| name == key).map(|(_, value)| value),
            _ => None,
        }
    }

    /// Drives an emitter over the data.
    pub fn write(&self, sink: &mut dyn Sink) {
        match self {
            Data::Null => sink.null(),
            Data::Bool(value) => sink.bool(*value),
            Data::Int(value) => sink.int(*value),
            Data::Float(value) => sink.float(*value),
            Data::Text(text) => sink.str(text),
            Data::List(items) => {
                sink.begin_list();
                items.iter().for_each(|item| item.write(sink));
                sink.end_list();
            }
            Data::Map(entries) => {
                sink.begin_map();
                for (key, value) in entries {
                    sink.key(key);
                    value.write(sink);
                }
                sink.end_map();
            }
        }
    }
}

/// Data nests this deep, as far as the readers of files go: whoever walks it needs no deep stack.
pub(crate) const MAX_DEPTH: usize = 128;

/// What is being put together.
enum Open {
    List(Vec<Data>),
    Map(Vec<(Str, Data)>, Str),
}

/// An emitter that builds data.
#[derive(Default)]
struct Builder {
    open: Vec<Open>,
    done: Data,
    too_deep: bool,
    /// Levels that are left out because they are too deep.
    skipped: usize,
}

impl Builder {
    fn add(&mut self, data: Data) {
        if self.skipped > 0 {
            return;
        }
        match self.open.last_mut() {
            Some(Open::List(items)) => items.push(data),
            Some(Open::Map(entries, key)) => entries.push((std::mem::take(key), data)),
            None => self.done = data,
        }
    }

    fn begin(&mut self, open: Open) {
        if self.open.len() >= MAX_DEPTH {
            self.too_deep = true;
            self.skipped += 1;
        } else {
            self.open.push(open);
        }
    }

    fn close(&mut self) {
        if self.skipped > 0 {
            self.skipped -= 1;
            return;
        }
        match self.open.pop() {
            Some(Open::List(items)) => self.add(Data::List(items)),
            Some(Open::Map(entries, _)) => self.add(Data::Map(entries)),
            None => {}
        }
    }
}

impl Sink for Builder {
    fn null(&mut self) {
        self.add(Data::Null);
    }

    fn bool(&mut self, b: bool) {
        self.add(Data::Bool(b));
    }

    fn int(&mut self, i: i64) {
        self.add(Data::Int(i));
    }

    fn float(&mut self, f: f64) {
        self.add(if f.is_finite() { Data::Float(f) } else { Data::Null });
    }

    fn str(&mut self, text: &str) {
        self.add(Data::Text(text.into()));
    }

    fn begin_list(&mut self) {
        self.begin(Open::List(Vec::new()));
    }

    fn end_list(&mut self) {
        self.close();
    }

    fn begin_map(&mut self) {
        self.begin(Open::Map(Vec::new(), Str::new()));
    }

    fn key(&mut self, key: &str) {
        if let Some(Open::Map(_, pending)) = self.open.last_mut() {
            *pending = key.into();
        }
    }

    fn end_map(&mut self) {
        self.close();
    }
}
