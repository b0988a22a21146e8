//! Places inside a value.

use std::fmt;
use std::sync::Arc;

use crate::json::push_string;

/// One step into a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// An attribute of an object.
    Attribute(Arc<str>),
    /// An element of a map.
    Key(Arc<str>),
    /// An element of a list or tuple; of a set in its canonical order, which only messages may use.
    Index(u64),
}

/// A place inside a value; the empty path is the value itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path(Vec<Step>);

impl Path {
    /// Returns the steps, outermost first.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn push(&mut self, step: Step) {
        self.0.push(step);
    }

    pub fn pop(&mut self) -> Option<Step> {
        self.0.pop()
    }

    /// Adds an attribute.
    #[must_use]
    pub fn attribute(mut self, name: impl Into<Arc<str>>) -> Self {
        self.0.push(Step::Attribute(name.into()));
        self
    }

    /// Adds a map key.
    #[must_use]
    pub fn key(mut self, key: impl Into<Arc<str>>) -> Self {
        self.0.push(Step::Key(key.into()));
        self
    }

    /// Adds an index.
    #[must_use]
    pub fn index(mut self, index: u64) -> Self {
        self.0.push(Step::Index(index));
        self
    }

    /// Whether this place is `outer` or lies inside it.
    #[must_use]
    pub fn starts_with(&self, outer: &Path) -> bool {
        self.0.starts_with(&outer.0)
    }

    /// Runs `inside` with one more step at the end.
    pub fn within<T>(&mut self, step: Step, inside: impl FnOnce(&mut Self) -> T) -> T {
        self.0.push(step);
        let result = inside(self);
        self.0.pop();
        result
    }
}

impl From<Vec<Step>> for Path {
    fn from(steps: Vec<Step>) -> Self {
        Self(steps)
    }
}

impl FromIterator<Step> for Path {
    fn from_iter<I: IntoIterator<Item = Step>>(steps: I) -> Self {
        Self(steps.into_iter().collect())
    }
}

/// `a.b[0]["k"]`.
impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, step) in self.0.iter().enumerate() {
            match step {
                Step::Attribute(name) if number == 0 => f.write_str(name)?,
                Step::Attribute(name) => write!(f, ".{name}")?,
                Step::Index(index) => write!(f, "[{index}]")?,
                Step::Key(key) => {
                    let mut quoted = String::new();
                    push_string(key, &mut quoted);
                    write!(f, "[{quoted}]")?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_written_like_an_expression() {
        let path = Path::default().attribute("rule").index(0).attribute("tags").key("a b");
        assert_eq!(path.to_string(), r#"rule[0].tags["a b"]"#);
        assert!(path.starts_with(&Path::default().attribute("rule")));
        assert!(!path.starts_with(&Path::default().attribute("tags")));
    }
}
