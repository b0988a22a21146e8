//! Bytes to values.

use std::borrow::Cow;

use super::refined;
use crate::concrete::unite;
use crate::json::Json;
use crate::{MAX_BYTES, MAX_DEPTH, Map, Number, Path, Step, Type, Value, ValueError, normal};

/// Reads a value of a type. No bytes are a null value.
pub fn decode(bytes: &[u8], ty: &Type) -> Result<Value, ValueError> {
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    if bytes.len() > MAX_BYTES {
        return Err(ValueError::new(format!("{} bytes; the limit is {MAX_BYTES}", bytes.len())));
    }
    let mut reader = Reader { bytes, path: Path::default(), depth: 0 };
    let value = reader.value(ty)?;
    if !reader.bytes.is_empty() {
        return Err(ValueError::new(format!("{} bytes follow the value", reader.bytes.len())));
    }
    Ok(value)
}

pub(super) struct Reader<'b> {
    bytes: &'b [u8],
    path: Path,
    depth: usize,
}

impl<'b> Reader<'b> {
    /// A reader over some bytes inside, with the same place for its messages.
    pub(super) fn over<'i>(&self, bytes: &'i [u8]) -> Reader<'i> {
        Reader { bytes, path: self.path.clone(), depth: self.depth }
    }

    pub(super) fn error(&self, message: String) -> ValueError {
        ValueError::at(&self.path, message)
    }

    pub(super) fn take(&mut self, n: usize) -> Result<&'b [u8], ValueError> {
        let (taken, rest) =
            self.bytes.split_at_checked(n).ok_or_else(|| self.error("the bytes end too early".to_owned()))?;
        self.bytes = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, ValueError> {
        Ok(self.take(1)?[0])
    }

    /// An unsigned big-endian integer of so many bytes.
    fn uint(&mut self, n: usize) -> Result<u64, ValueError> {
        Ok(self.take(n)?.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
    }

    fn length(&mut self, n: usize) -> Result<usize, ValueError> {
        let length = self.uint(n)?;
        usize::try_from(length).map_err(|_| self.error(format!("a length of {length}")))
    }

    fn peek(&self) -> Result<u8, ValueError> {
        self.bytes.first().copied().ok_or_else(|| self.error("the bytes end too early".to_owned()))
    }

    fn value(&mut self, ty: &Type) -> Result<Value, ValueError> {
        if self.depth >= MAX_DEPTH {
            return Err(self.error(format!("nested deeper than {MAX_DEPTH}")));
        }
        self.depth += 1;
        let value = match self.peek()? {
            0xc7..=0xc9 | 0xd4..=0xd8 => self.extension(ty)?,
            0xc0 => {
                self.byte()?;
                Value::Null
            }
            _ => self.known(ty)?,
        };
        self.depth -= 1;
        Ok(value)
    }

    fn known(&mut self, ty: &Type) -> Result<Value, ValueError> {
        match ty {
            Type::Dynamic => self.dynamic(),
            Type::String => self.text().map(|text| Value::string(&text)),
            Type::Number => self.number().map(Value::Number),
            Type::Bool => self.bool().map(Value::Bool),
            Type::List(of) => {
                let n = self.array_header()?;
                let mut items = self.items(n, |_| of)?;
                self.unite(of, items.iter_mut())?;
                Ok(Value::List(items))
            }
            Type::Set(of) => {
                let n = self.array_header()?;
                let mut items = self.items(n, |_| of)?;
                self.unite(of, items.iter_mut())?;
                Value::set(items, of).map_err(|error| self.error(error.message))
            }
            Type::Tuple(of) => {
                let n = self.array_header()?;
                if n != of.len() {
                    return Err(self.error(format!("a tuple of {} is required, not of {n}", of.len())));
                }
                self.items(n, |at| &of[at]).map(Value::List)
            }
            Type::Map(of) => self.map(of),
            Type::Object(object) => self.object(object),
        }
    }

    fn inside(&mut self, step: Step, ty: &Type) -> Result<Value, ValueError> {
        self.path.push(step);
        let value = self.value(ty)?;
        self.path.pop();
        Ok(value)
    }

    fn items<'t>(&mut self, n: usize, of: impl Fn(usize) -> &'t Type) -> Result<Vec<Value>, ValueError> {
        // A header may promise anything: memory grows with the bytes that are really there.
        let mut items = Vec::with_capacity(n.min(self.bytes.len()).min(1024));
        for at in 0..n {
            items.push(self.inside(Step::Index(at as u64), of(at))?);
        }
        Ok(items)
    }

    /// The elements of a collection have one type, also where each brings its own.
    fn unite<'v>(&self, of: &Type, items: impl Iterator<Item = &'v mut Value>) -> Result<(), ValueError> {
        unite(of, items).map_err(|error| self.error(error.message))
    }

    fn map(&mut self, of: &Type) -> Result<Value, ValueError> {
        let n = self.map_header()?;
        let mut entries = Map::new();
        for _ in 0..n {
            let key = normal(&self.text()?);
            let value = self.inside(Step::Key(key.clone()), of)?;
            entries.insert(key, value);
        }
        self.unite(of, entries.values_mut())?;
        Ok(Value::Map(entries))
    }

    fn object(&mut self, object: &crate::ObjectType) -> Result<Value, ValueError> {
        let n = self.map_header()?;
        let mut entries = Map::new();
        for _ in 0..n {
            let name = self.text()?;
            let Some((name, of)) = object.attributes.get_key_value(&*name) else {
                return Err(self.error(format!("there is no attribute {name:?}")));
            };
            let value = self.inside(Step::Attribute(name.clone()), of)?;
            if entries.insert(name.clone(), value).is_some() {
                return Err(self.error(format!("the attribute {name:?} stands twice")));
            }
        }
        match object.attributes.keys().find(|name| !entries.contains_key(*name)) {
            Some(name) => Err(self.error(format!(
                "an object with {} attributes is required, {n} are given: {name:?} is missing",
                object.attributes.len()
            ))),
            None => Ok(Value::Map(entries)),
        }
    }

    fn dynamic(&mut self) -> Result<Value, ValueError> {
        let n = self.array_header()?;
        if n != 2 {
            return Err(self.error(format!("a value with its type is a pair, not {n} parts")));
        }
        let text = self.raw("the type of a value is required")?;
        let json = Json::parse(text).map_err(|error| self.error(error.message))?;
        let ty = Type::from_json(&json).map_err(|error| self.error(error.message))?;
        Ok(self.value(&ty)?.dynamic(ty))
    }

    fn extension(&mut self, ty: &Type) -> Result<Value, ValueError> {
        let n = match self.byte()? {
            0xc7 => self.length(1)?,
            0xc8 => self.length(2)?,
            0xc9 => self.length(4)?,
            fixed => 1 << (fixed - 0xd4),
        };
        let code = self.byte()?;
        refined::read(self, code, n, ty)
    }

    pub(super) fn bool(&mut self) -> Result<bool, ValueError> {
        match self.byte()? {
            0xc2 => Ok(false),
            0xc3 => Ok(true),
            _ => Err(self.error("a bool is required".to_owned())),
        }
    }

    pub(super) fn number(&mut self) -> Result<Number, ValueError> {
        let code = self.peek()?;
        let float = |float: f64, reader: &Self| {
            Number::from_f64(float).map_err(|error| reader.error(error.to_string()))
        };
        match code {
            0x00..=0x7f | 0xe0..=0xff | 0xd0..=0xd3 => self.int().map(Number::from),
            0xcc..=0xcf => {
                self.byte()?;
                self.uint(1 << (code - 0xcc)).map(Number::from)
            }
            0xca => {
                self.byte()?;
                let bits = self.uint(4)? as u32;
                float(f32::from_bits(bits).into(), self)
            }
            0xcb => {
                self.byte()?;
                let bits = self.uint(8)?;
                float(f64::from_bits(bits), self)
            }
            _ => {
                let text = self.raw("a number is required")?;
                let text =
                    std::str::from_utf8(text).map_err(|_| self.error("a number is required".to_owned()))?;
                text.parse().map_err(|error: crate::NumberError| self.error(error.to_string()))
            }
        }
    }

    pub(super) fn int(&mut self) -> Result<i64, ValueError> {
        let code = self.byte()?;
        let wrong = |reader: &Self| reader.error("an integer is required".to_owned());
        Ok(match code {
            0x00..=0x7f => code.into(),
            0xe0..=0xff => (code as i8).into(),
            0xcc..=0xcf => {
                let int = self.uint(1 << (code - 0xcc))?;
                i64::try_from(int).map_err(|_| wrong(self))?
            }
            0xd0 => (self.uint(1)? as i8).into(),
            0xd1 => (self.uint(2)? as i16).into(),
            0xd2 => (self.uint(4)? as i32).into(),
            0xd3 => self.uint(8)? as i64,
            _ => return Err(wrong(self)),
        })
    }

    /// The bytes of a string or of binary data.
    fn raw(&mut self, required: &str) -> Result<&'b [u8], ValueError> {
        let n = match self.byte()? {
            code @ 0xa0..=0xbf => usize::from(code & 0x1f),
            0xc4 | 0xd9 => self.length(1)?,
            0xc5 | 0xda => self.length(2)?,
            0xc6 | 0xdb => self.length(4)?,
            _ => return Err(self.error(required.to_owned())),
        };
        self.take(n)
    }

    pub(super) fn text(&mut self) -> Result<Cow<'b, str>, ValueError> {
        let bytes = self.raw("a string is required")?;
        let text = std::str::from_utf8(bytes).map_err(|_| self.error("a string is not UTF-8".to_owned()))?;
        Ok(Cow::Borrowed(text))
    }

    pub(super) fn array_header(&mut self) -> Result<usize, ValueError> {
        match self.byte()? {
            code @ 0x90..=0x9f => Ok(usize::from(code & 0x0f)),
            0xdc => self.length(2),
            0xdd => self.length(4),
            _ => Err(self.error("a list of values is required".to_owned())),
        }
    }

    pub(super) fn map_header(&mut self) -> Result<usize, ValueError> {
        match self.byte()? {
            code @ 0x80..=0x8f => Ok(usize::from(code & 0x0f)),
            0xde => self.length(2),
            0xdf => self.length(4),
            _ => Err(self.error("a map of values is required".to_owned())),
        }
    }

    /// Steps over one item of any kind.
    pub(super) fn skip(&mut self) -> Result<(), ValueError> {
        // Counted, not recursive: every step takes a byte at least.
        let mut open: usize = 1;
        while open > 0 {
            open -= 1;
            let code = self.byte()?;
            let n_bytes = match code {
                0x00..=0x7f | 0xe0..=0xff | 0xc0..=0xc3 => 0,
                0xcc | 0xd0 => 1,
                0xcd | 0xd1 => 2,
                0xca | 0xce | 0xd2 => 4,
                0xcb | 0xcf | 0xd3 => 8,
                0xa0..=0xbf => usize::from(code & 0x1f),
                0xc4 | 0xd9 => self.length(1)?,
                0xc5 | 0xda => self.length(2)?,
                0xc6 | 0xdb => self.length(4)?,
                0xd4..=0xd8 => (1 << (code - 0xd4)) + 1,
                0xc7 => self.length(1)? + 1,
                0xc8 => self.length(2)? + 1,
                0xc9 => self.length(4)? + 1,
                0x90..=0x9f => {
                    open += usize::from(code & 0x0f);
                    0
                }
                0x80..=0x8f => {
                    open += 2 * usize::from(code & 0x0f);
                    0
                }
                0xdc => {
                    open += self.length(2)?;
                    0
                }
                0xdd => {
                    open += self.length(4)?;
                    0
                }
                0xde => {
                    open += 2 * self.length(2)?;
                    0
                }
                0xdf => {
                    open += 2 * self.length(4)?;
                    0
                }
            };
            self.take(n_bytes)?;
        }
        Ok(())
    }
}
