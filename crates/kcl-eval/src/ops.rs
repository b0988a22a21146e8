//! Operators on values.

use std::cmp::Ordering;

use kcl_syntax::ast::{BinaryOp, CompareOp, UnaryOp};
use kcl_value::{List, Value, equal, order};

use crate::fault::{Eval, Fault};
use crate::machine::{Machine, TEXT_CELL};
use crate::mistake::Mistake;
use crate::union::Mode;

impl Machine<'_> {
    /// Applies a unary operator.
    pub(crate) fn unary(&mut self, op: UnaryOp, value: Value) -> Eval<Value> {
        match (op, &value) {
            (UnaryOp::Not, _) => Ok(Value::Bool(!value.truthy())),
            (UnaryOp::Plus, Value::Int(_) | Value::Float(_)) => Ok(value),
            (UnaryOp::Minus, Value::Int(i)) => self.int_result(-i128::from(*i), 64),
            (UnaryOp::Minus, Value::Float(f)) => Ok(Value::Float(0.0 - f)),
            (UnaryOp::BitNot, Value::Int(i)) => Ok(Value::Int(!i)),
            (UnaryOp::BitNot, Value::Float(f)) => Ok(Value::Int(!(*f as i64))),
            (UnaryOp::BitNot, Value::Unit(unit)) => Ok(Value::Int(!(unit.value as i64))),
            // What is no number counts as 0.
            (UnaryOp::BitNot, _) => Ok(Value::Int(-1)),
            _ => {
                let op = match op {
                    UnaryOp::Plus => "+",
                    UnaryOp::Minus => "-",
                    UnaryOp::BitNot => "~",
                    UnaryOp::Not => "not",
                };
                Err(self.fault(Mistake::Operand { op, ty: value.type_name() }))
            }
        }
    }

    /// Applies a binary operator to computed operands.
    pub(crate) fn binary(&mut self, op: BinaryOp, left: Value, right: Value) -> Eval<Value> {
        match op {
            BinaryOp::BitOr => self.union_operator(left, right),
            BinaryOp::Add => self.add(left, right),
            BinaryOp::Mul => self.multiply(left, right),
            BinaryOp::And => Ok(if left.truthy() { right } else { left }),
            BinaryOp::Or => Ok(if left.truthy() { left } else { right }),
            _ => match (&left, &right) {
                (Value::Int(a), Value::Int(b)) => self.int_op(op, *a, *b),
                (Value::Int(_) | Value::Float(_), Value::Int(_) | Value::Float(_)) => {
                    self.float_op(op, &left, &right)
                }
                _ => Err(self.unsupported(op, &left, &right)),
            },
        }
    }

    fn union_operator(&mut self, left: Value, right: Value) -> Eval<Value> {
        match (&left, &right) {
            (Value::Int(a), Value::Int(b)) => Ok(Value::Int(a | b)),
            (Value::None | Value::Undefined, _) => Ok(right),
            (_, Value::None | Value::Undefined) => Ok(left),
            (
                Value::List(_) | Value::Dict(_) | Value::Schema(_),
                Value::List(_) | Value::Dict(_) | Value::Schema(_),
            ) => self.union(left, right, Mode::UNION),
            _ => {
                let (left, right) = (left.type_name(), right.type_name());
                Err(self.fault(Mistake::Unmergeable { left, right }))
            }
        }
    }

    fn add(&mut self, left: Value, right: Value) -> Eval<Value> {
        match (left, right) {
            (Value::Int(a), Value::Int(b)) => self.int_result(i128::from(a) + i128::from(b), 64),
            (Value::Float(a), Value::Float(b)) => self.float_result(a + b),
            // Additions of an int and a float are checked against 32 bits whatever the flags say.
            (Value::Int(a), Value::Float(b)) => self.float32_checked(a as f64 + b),
            (Value::Float(a), Value::Int(b)) => self.float32_checked(a + b as f64),
            (Value::Str(mut a), Value::Str(b)) => {
                self.charge(1 + ((a.len() + b.len()) / TEXT_CELL) as u64)?;
                a.push_str(&b);
                Ok(Value::Str(a))
            }
            (Value::List(a), Value::List(b)) => {
                self.charge((a.items.len() + b.items.len()) as u64)?;
                let mut list = List::clone(&a);
                for (i, item) in b.items.iter().enumerate() {
                    list.push(item.clone(), b.origin(i));
                }
                Ok(list.into())
            }
            (Value::List(_), other) => Err(self.fault(Mistake::NotConcatenable { ty: other.type_name() })),
            (left, right) => Err(self.unsupported(BinaryOp::Add, &left, &right)),
        }
    }

    fn multiply(&mut self, left: Value, right: Value) -> Eval<Value> {
        match (&left, &right) {
            (Value::Int(a), Value::Int(b)) => self.int_result(i128::from(*a) * i128::from(*b), 64),
            (Value::Str(text), Value::Int(n)) | (Value::Int(n), Value::Str(text)) => {
                let n = self.repeat_count(if text.is_empty() { 0 } else { *n }, text.len())?;
                Ok(Value::Str(text.repeat(n)))
            }
            (Value::List(list), Value::Int(n)) | (Value::Int(n), Value::List(list)) => {
                let n = if list.items.is_empty() { 0 } else { *n };
                let n = self.repeat_count(n, list.items.len().saturating_mul(TEXT_CELL))?;
                let mut out = List::default();
                for _ in 0..n {
                    for (i, item) in list.items.iter().enumerate() {
                        out.push(item.clone(), list.origin(i));
                    }
                }
                Ok(out.into())
            }
            (Value::Int(_) | Value::Float(_), Value::Int(_) | Value::Float(_)) => {
                self.float_op(BinaryOp::Mul, &left, &right)
            }
            _ => Err(self.unsupported(BinaryOp::Mul, &left, &right)),
        }
    }

    fn repeat_count(&mut self, n: i64, bytes: usize) -> Eval<usize> {
        let Ok(n) = usize::try_from(n) else { return Err(self.fault(Mistake::Capacity)) };
        self.charge((bytes / TEXT_CELL + 1).saturating_mul(n) as u64)?;
        Ok(n)
    }

    fn int_op(&mut self, op: BinaryOp, a: i64, b: i64) -> Eval<Value> {
        let (wide_a, wide_b) = (i128::from(a), i128::from(b));
        match op {
            BinaryOp::Sub => self.int_result(wide_a - wide_b, 32),
            BinaryOp::Div => self.float_result(a as f64 / b as f64),
            BinaryOp::FloorDiv if b == 0 => Err(self.fault(Mistake::DivisionByZero)),
            BinaryOp::FloorDiv => self.int_result(wide_a.div_euclid(wide_b) - floor_fix(wide_a, wide_b), 64),
            BinaryOp::Mod if b == 0 => Err(self.fault(Mistake::NoRemainder)),
            BinaryOp::Mod => {
                let rest = a.wrapping_rem(b);
                let rest = if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest };
                self.int_result(i128::from(rest), 64)
            }
            BinaryOp::Pow => self.int_power(a, b),
            BinaryOp::Shl => self.shift(a, b, i64::checked_shl, i128::wrapping_shl),
            BinaryOp::Shr => self.shift(a, b, i64::checked_shr, i128::wrapping_shr),
            BinaryOp::BitAnd => Ok(Value::Int(a & b)),
            BinaryOp::BitXor => Ok(Value::Int(a ^ b)),
            _ => Err(self.unsupported(op, &Value::Int(a), &Value::Int(b))),
        }
    }

    // The exponent wraps to 32 bits as in the reference, so a negative one overflows (or not, for 0 and 1).
    fn int_power(&mut self, a: i64, b: i64) -> Eval<Value> {
        match a.checked_pow(b as u32) {
            Some(v) => self.int_result(i128::from(v), 64),
            None => {
                let exact = i128::from(a).wrapping_pow(b as u32);
                Err(self.overflow(exact, 64))
            }
        }
    }

    fn shift(
        &mut self,
        a: i64,
        b: i64,
        checked: fn(i64, u32) -> Option<i64>,
        wide: fn(i128, u32) -> i128,
    ) -> Eval<Value> {
        match checked(a, b as u32) {
            Some(v) => Ok(Value::Int(v)),
            None => Err(self.overflow(wide(i128::from(a), b as u32), 64)),
        }
    }

    fn float_op(&mut self, op: BinaryOp, left: &Value, right: &Value) -> Eval<Value> {
        let (a, b) = (as_float(left), as_float(right));
        let result = match op {
            BinaryOp::Sub => a - b,
            BinaryOp::Mul => a * b,
            BinaryOp::Div => a / b,
            BinaryOp::FloorDiv => (a / b).floor(),
            BinaryOp::Mod => a % b,
            BinaryOp::Pow => a.powf(b),
            _ => return Err(self.unsupported(op, left, right)),
        };
        self.float_result(result)
    }

    fn int_result(&self, value: i128, bits: u32) -> Eval<Value> {
        if self.options.strict_range && i32::try_from(value).is_err() {
            return Err(self.overflow(value, 32));
        }
        match i64::try_from(value) {
            Ok(v) => Ok(Value::Int(v)),
            Err(_) => Err(self.overflow(value, bits)),
        }
    }

    fn overflow(&self, exact: i128, bits: u32) -> Box<Fault> {
        self.fault(Mistake::IntegerOverflow { exact, bits })
    }

    fn float_result(&self, value: f64) -> Eval<Value> {
        if self.options.strict_range { self.float32_checked(value) } else { Ok(Value::Float(value)) }
    }

    fn float32_checked(&self, value: f64) -> Eval<Value> {
        if value.abs() > f64::from(f32::MAX) {
            return Err(self.fault(Mistake::FloatOverflow { value }));
        }
        Ok(Value::Float(value))
    }

    fn unsupported(&self, op: BinaryOp, left: &Value, right: &Value) -> Box<Fault> {
        self.fault(Mistake::Operands { op: op.text(), left: left.type_name(), right: right.type_name() })
    }

    /// Applies a comparison.
    pub(crate) fn compare(&mut self, op: CompareOp, left: &Value, right: &Value) -> Eval<bool> {
        Ok(match op {
            CompareOp::Eq | CompareOp::Is => equal(left, right),
            CompareOp::Ne | CompareOp::IsNot => !equal(left, right),
            CompareOp::In => self.contains(left, right)?,
            CompareOp::NotIn => !self.contains(left, right)?,
            CompareOp::Lt => self.ordered(op, left, right)? == Some(Ordering::Less),
            CompareOp::Le => {
                matches!(self.ordered(op, left, right)?, Some(Ordering::Less | Ordering::Equal))
            }
            CompareOp::Gt => self.ordered(op, left, right)? == Some(Ordering::Greater),
            CompareOp::Ge => {
                matches!(self.ordered(op, left, right)?, Some(Ordering::Greater | Ordering::Equal))
            }
        })
    }

    // Lists are ordered by their first pair of unequal items, which must be ordered itself.
    fn ordered(&self, op: CompareOp, left: &Value, right: &Value) -> Eval<Option<Ordering>> {
        if let (Value::List(a), Value::List(b)) = (left, right) {
            return match a.items.iter().zip(&b.items).find(|(x, y)| !equal(x, y)) {
                Some((x, y)) => self.ordered(op, x, y),
                None => Ok(Some(a.items.len().cmp(&b.items.len()))),
            };
        }
        let comparable = matches!(
            (left, right),
            (Value::Str(_), Value::Str(_))
                | (
                    Value::Int(_) | Value::Float(_) | Value::Bool(_),
                    Value::Int(_) | Value::Float(_) | Value::Bool(_)
                )
        );
        if !comparable {
            let op = match op {
                CompareOp::Lt => "<",
                CompareOp::Le => "<=",
                CompareOp::Gt => ">",
                _ => ">=",
            };
            let (left, right) = (left.type_name(), right.type_name());
            return Err(self.fault(Mistake::Unordered { op, left, right }));
        }
        Ok(order(left, right))
    }

    fn contains(&mut self, item: &Value, container: &Value) -> Eval<bool> {
        match container {
            Value::Str(text) => Ok(match item {
                Value::Str(part) => text.contains(part.as_str()),
                _ => false,
            }),
            Value::List(list) => Ok(list.items.iter().any(|i| equal(i, item))),
            Value::Dict(_) | Value::Schema(_) => Ok(match item {
                Value::Str(key) => container.as_dict().is_some_and(|d| d.contains(key)),
                _ => false,
            }),
            other => Err(self.fault(Mistake::NotAContainer { ty: other.type_name() })),
        }
    }
}

fn as_float(value: &Value) -> f64 {
    match value {
        Value::Int(i) => *i as f64,
        Value::Float(f) => *f,
        _ => f64::NAN,
    }
}

// Euclidean division rounds towards the sign of the divisor; flooring needs one less when the divisor is negative.
fn floor_fix(a: i128, b: i128) -> i128 {
    i128::from(b < 0 && a.rem_euclid(b) != 0)
}
