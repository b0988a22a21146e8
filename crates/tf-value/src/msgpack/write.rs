//! Values to bytes.

use super::refined;
use crate::{MAX_DEPTH, Map, Number, Path, Step, Type, Value, ValueError};

/// Writes a value of a type. The value must be one of that type: what is not is an error with its place.
pub fn encode(value: &Value, ty: &Type) -> Result<Vec<u8>, ValueError> {
    let mut writer = Writer { out: Vec::new(), path: Path::default() };
    writer.value(value, ty)?;
    Ok(writer.out)
}

struct Writer {
    out: Vec<u8>,
    path: Path,
}

impl Writer {
    fn value(&mut self, value: &Value, ty: &Type) -> Result<(), ValueError> {
        if self.path.len() > MAX_DEPTH {
            return Err(self.error(format!("nested deeper than {MAX_DEPTH}")));
        }
        match (value, ty) {
            (Value::Dynamic(dynamic), Type::Dynamic) => {
                self.out.push(0x92);
                put_binary(&mut self.out, dynamic.ty.to_json().as_bytes())?;
                self.value(&dynamic.value, &dynamic.ty)?;
            }
            (Value::Null, _) => self.out.push(0xc0),
            (Value::Unknown(None), _) | (Value::Unknown(_), Type::Dynamic) => put_unknown(&mut self.out),
            (Value::Unknown(Some(bounds)), _) => refined::put(&mut self.out, bounds, ty)?,
            (Value::Bool(bool), Type::Bool) => self.out.push(if *bool { 0xc3 } else { 0xc2 }),
            (Value::Number(number), Type::Number) => put_number(&mut self.out, number)?,
            (Value::String(text), Type::String) => put_string(&mut self.out, text)?,
            (Value::List(items), Type::List(of)) => self.items(items, |_| of)?,
            (Value::Set(items), Type::Set(of)) => self.items(items, |_| of)?,
            (Value::List(items), Type::Tuple(of)) => {
                if items.len() != of.len() {
                    return Err(self.error(format!(
                        "a tuple of {} is required, not of {}",
                        of.len(),
                        items.len()
                    )));
                }
                self.items(items, |at| &of[at])?;
            }
            (Value::Map(entries), Type::Map(of)) => {
                put_map_header(&mut self.out, entries.len())?;
                for (key, value) in entries {
                    put_string(&mut self.out, key)?;
                    self.inside(Step::Key(key.clone()), value, of)?;
                }
            }
            (Value::Map(entries), Type::Object(object)) => {
                self.check_names(entries, object)?;
                put_map_header(&mut self.out, object.attributes.len())?;
                for (name, of) in &object.attributes {
                    put_string(&mut self.out, name)?;
                    self.inside(
                        Step::Attribute(name.clone()),
                        entries.get(name).unwrap_or(&Value::Null),
                        of,
                    )?;
                }
            }
            _ => return Err(self.error(format!("{ty} is required"))),
        }
        Ok(())
    }

    fn inside(&mut self, step: Step, value: &Value, of: &Type) -> Result<(), ValueError> {
        self.path.push(step);
        self.value(value, of)?;
        self.path.pop();
        Ok(())
    }

    fn items<'t>(&mut self, items: &[Value], of: impl Fn(usize) -> &'t Type) -> Result<(), ValueError> {
        put_array_header(&mut self.out, items.len())?;
        for (at, item) in items.iter().enumerate() {
            self.inside(Step::Index(at as u64), item, of(at))?;
        }
        Ok(())
    }

    fn check_names(&self, entries: &Map, object: &crate::ObjectType) -> Result<(), ValueError> {
        if let Some(name) = entries.keys().find(|name| !object.attributes.contains_key(*name)) {
            return Err(self.error(format!("there is no attribute {name:?}")));
        }
        if let Some(name) = object.attributes.keys().find(|name| !entries.contains_key(*name)) {
            return Err(self.error(format!("the attribute {name:?} is missing")));
        }
        Ok(())
    }

    fn error(&self, message: String) -> ValueError {
        ValueError::at(&self.path, message)
    }
}

pub(super) fn put_unknown(out: &mut Vec<u8>) {
    out.extend([0xd4, 0, 0]);
}

/// Integers in their shortest form, fractions that a float holds exactly as a float, all else as digits.
pub(super) fn put_number(out: &mut Vec<u8>, number: &Number) -> Result<(), ValueError> {
    if let Some(int) = number.as_i64() {
        put_int(out, int);
        return Ok(());
    }
    if let Some(float) = number.as_f64().filter(|_| !number.is_whole()) {
        out.push(0xcb);
        out.extend(float.to_be_bytes());
        return Ok(());
    }
    put_string(out, &number.to_string())
}

pub(super) fn put_int(out: &mut Vec<u8>, int: i64) {
    match int {
        0..=0x7f => out.push(int as u8),
        -32..=-1 => out.push(int as i8 as u8),
        0x80..=0xff => out.extend([0xcc, int as u8]),
        0x100..=0xffff => put(out, 0xcd, &(int as u16).to_be_bytes()),
        0x1_0000..=0xffff_ffff => put(out, 0xce, &(int as u32).to_be_bytes()),
        0x1_0000_0000.. => put(out, 0xcf, &(int as u64).to_be_bytes()),
        -0x80..=-33 => out.extend([0xd0, int as i8 as u8]),
        -0x8000..=-0x81 => put(out, 0xd1, &(int as i16).to_be_bytes()),
        -0x8000_0000..=-0x8001 => put(out, 0xd2, &(int as i32).to_be_bytes()),
        _ => put(out, 0xd3, &int.to_be_bytes()),
    }
}

fn put(out: &mut Vec<u8>, code: u8, bytes: &[u8]) {
    out.push(code);
    out.extend(bytes);
}

pub(super) fn put_string(out: &mut Vec<u8>, text: &str) -> Result<(), ValueError> {
    match text.len() {
        n @ 0..=31 => out.push(0xa0 | n as u8),
        n @ 32..=0xff => out.extend([0xd9, n as u8]),
        n @ 0x100..=0xffff => put(out, 0xda, &(n as u16).to_be_bytes()),
        n => put(out, 0xdb, &short(n)?.to_be_bytes()),
    }
    out.extend(text.as_bytes());
    Ok(())
}

fn put_binary(out: &mut Vec<u8>, bytes: &[u8]) -> Result<(), ValueError> {
    match bytes.len() {
        n @ 0..=0xff => out.extend([0xc4, n as u8]),
        n @ 0x100..=0xffff => put(out, 0xc5, &(n as u16).to_be_bytes()),
        n => put(out, 0xc6, &short(n)?.to_be_bytes()),
    }
    out.extend(bytes);
    Ok(())
}

fn put_array_header(out: &mut Vec<u8>, n: usize) -> Result<(), ValueError> {
    match n {
        0..=15 => out.push(0x90 | n as u8),
        16..=0xffff => put(out, 0xdc, &(n as u16).to_be_bytes()),
        _ => put(out, 0xdd, &short(n)?.to_be_bytes()),
    }
    Ok(())
}

pub(super) fn put_map_header(out: &mut Vec<u8>, n: usize) -> Result<(), ValueError> {
    match n {
        0..=15 => out.push(0x80 | n as u8),
        16..=0xffff => put(out, 0xde, &(n as u16).to_be_bytes()),
        _ => put(out, 0xdf, &short(n)?.to_be_bytes()),
    }
    Ok(())
}

fn short(n: usize) -> Result<u32, ValueError> {
    u32::try_from(n).map_err(|_| ValueError::new("longer than MessagePack allows"))
}
