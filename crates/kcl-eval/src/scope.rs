//! Local scopes.
//!
//! Scoping is dynamic, as in the reference: every package has one stack of frames, a call pushes what its lambda captured
//! and its parameters on top of whatever is there, and a name means the innermost binding on the stack. (So a lambda that
//! reads a global `a` sees the key `a` of the braces it is called from.)

use std::rc::Rc;

use kcl_value::{Dict, Entry, OriginId, Str, Value};

/// What made a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FrameKind {
    /// Variables of a comprehension or quantifier: a bare config key of that name is computed.
    Loop,
    /// Parameters and locals of a lambda.
    Call,
    /// Parameters of a schema or rule, names of a body: they do not hide imports.
    Body,
    /// Braces: the dict that is being built *is* the scope.
    Braces,
}

/// One scope.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub(crate) kind: FrameKind,
    pub(crate) vars: Dict,
    /// How many of the names are parameters of a lambda; they come first.
    pub(crate) params: usize,
    /// Keys of braces that mean something else as names than in the dict: nothing (a key that was computed or unpacked),
    /// or the value that was written last (a replacement that was unpacked does not change it).
    apart: Vec<(Str, Option<Entry>)>,
}

impl Frame {
    pub(crate) fn new(kind: FrameKind) -> Self {
        Frame::braces(kind, 0)
    }

    pub(crate) fn braces(kind: FrameKind, entries: usize) -> Self {
        Frame { kind, vars: Dict::with_capacity(entries), params: 0, apart: Vec::new() }
    }

    /// Returns the binding of a name.
    pub(crate) fn get(&self, name: &str) -> Option<&Entry> {
        match self.apart.iter().find(|(key, _)| key == name) {
            Some((_, entry)) => entry.as_ref(),
            None => self.vars.entry(name),
        }
    }

    /// Whether a key means something else as a name.
    pub(crate) fn is_apart(&self, name: &str) -> bool {
        self.apart.iter().any(|(key, _)| key == name)
    }

    /// Says what a key means as a name, if not the value in the dict.
    pub(crate) fn set_apart(&mut self, name: &Str, entry: Option<Entry>) {
        self.set_together(name);
        self.apart.push((name.clone(), entry));
    }

    /// Returns what names mean that are not in the dict.
    pub(crate) fn names_without_key(&self) -> impl Iterator<Item = (&Str, &Entry)> {
        let meant = self.apart.iter().filter_map(|(name, entry)| Some((name, entry.as_ref()?)));
        meant.filter(|(name, _)| !self.vars.contains(name))
    }

    /// Makes a key mean the value in the dict.
    #[inline]
    pub(crate) fn set_together(&mut self, name: &str) {
        if !self.apart.is_empty() {
            self.apart.retain(|(key, _)| key != name);
        }
    }

    fn has_param(&self, name: &str) -> bool {
        self.vars.iter().take(self.params).any(|(key, _)| key == name)
    }

    pub(crate) fn bind(&mut self, name: Str, value: Value, origin: OriginId) {
        self.set_together(&name);
        self.vars.insert(name, Entry { value, origin, ..Entry::new(Value::Undefined, kcl_value::Op::Union) });
    }

    /// As [`Frame::bind`], for the variable of a loop, which is bound again in every turn; `at` is its number.
    pub(crate) fn bind_again(&mut self, at: usize, name: &Str, value: Value, origin: OriginId) {
        match self.vars.entry_near(at, name) {
            Some(entry) if self.apart.is_empty() => {
                entry.value = value;
                entry.origin = origin;
            }
            _ => self.bind(name.clone(), value, origin),
        }
    }
}

/// The frames of one package; a captured frame is shared and copied when somebody writes to it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Frames {
    stack: Vec<Rc<Frame>>,
    /// Which of them a call pushed because its lambda had captured them.
    captured: Vec<bool>,
}

impl Frames {
    pub(crate) fn push(&mut self, frame: Rc<Frame>) {
        self.stack.push(frame);
        self.captured.push(false);
    }

    /// Pushes a frame that a lambda captured.
    pub(crate) fn push_captured(&mut self, frame: Rc<Frame>) {
        self.stack.push(frame);
        self.captured.push(true);
    }

    pub(crate) fn pop(&mut self) -> Option<Rc<Frame>> {
        self.captured.pop();
        self.stack.pop()
    }

    /// Whether a frame that is still being filled binds the name; what was only captured does not count.
    pub(crate) fn binds_now(&self, name: &str) -> bool {
        let now = self.stack.iter().zip(&self.captured).filter(|(_, captured)| !**captured);
        now.into_iter().any(|(frame, _)| frame.get(name).is_some())
    }

    pub(crate) fn len(&self) -> usize {
        self.stack.len()
    }

    pub(crate) fn truncate(&mut self, n: usize) {
        self.stack.truncate(n);
        self.captured.truncate(n);
    }

    /// Returns the frames for a lambda to capture.
    pub(crate) fn capture(&self) -> Vec<Rc<Frame>> {
        self.stack.clone()
    }

    /// Returns the innermost frame.
    pub(crate) fn top(&self) -> Option<&Frame> {
        self.stack.last().map(Rc::as_ref)
    }

    /// Returns the innermost frame for change.
    #[inline]
    pub(crate) fn top_mut(&mut self) -> Option<&mut Frame> {
        self.stack.last_mut().map(Rc::make_mut)
    }

    /// Returns the innermost binding of a name.
    pub(crate) fn lookup(&self, name: &str) -> Option<&Entry> {
        self.stack.iter().rev().find_map(|f| f.get(name))
    }

    /// Returns the innermost binding of a name among the frames from one on.
    pub(crate) fn lookup_above(&self, base: usize, name: &str) -> Option<&Entry> {
        self.stack.iter().skip(base).rev().find_map(|f| f.get(name))
    }

    /// Returns the innermost binding of a name among the frames from one on and before another.
    pub(crate) fn lookup_between(&self, base: usize, end: usize, name: &str) -> Option<&Entry> {
        self.stack.iter().take(end).skip(base).rev().find_map(|f| f.get(name))
    }

    /// Returns the innermost binding of a name among the frames before one.
    pub(crate) fn lookup_below(&self, base: usize, name: &str) -> Option<&Entry> {
        self.stack.iter().take(base).rev().find_map(|f| f.get(name))
    }

    /// Returns the innermost loop variable of a name among the frames from `base` on.
    pub(crate) fn loop_variable(&self, base: usize, name: &str) -> Option<&Value> {
        let frames = self.stack.iter().skip(base).rev();
        frames.filter(|f| f.kind == FrameKind::Loop).find_map(|f| f.vars.get(name))
    }
}

/// Where the frames of the running body, lambda or lazily run statement begin.
///
/// Names are read through all frames, as in the reference; what is decided by the text alone (whether a key is a loop variable,
/// whether an import is shadowed) must not see the loops of a caller.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct TextStart {
    /// All frames of the text around: those that a lambda captured, too.
    pub(crate) text: usize,
    /// Frames whose loop variables are keys: a lambda does not see those around it.
    pub(crate) loops: usize,
    /// A statement of the package, which a read made run.
    pub(crate) global: bool,
    /// In how many scopes the running lambda was made, and in how many it was called.
    pub(crate) made: usize,
    pub(crate) called: usize,
    /// The scopes that there were when its body began.
    pub(crate) entered: usize,
}

impl TextStart {
    /// Whether the running lambda was made in more scopes than it reads in, given how many there are now.
    pub(crate) fn reads_inwards(&self, scopes: usize) -> bool {
        self.made > self.called + scopes.saturating_sub(self.entered)
    }

    /// A text that begins at a number of frames.
    pub(crate) fn at(frames: usize) -> Self {
        TextStart { text: frames, loops: frames, global: false, made: 0, called: 0, entered: 0 }
    }
}

impl Frames {
    /// Returns true if the name is a loop variable or the parameter of a lambda in the frames from `base` on.
    pub(crate) fn bound_as_variable(&self, base: usize, name: &str) -> bool {
        self.stack.iter().skip(base).any(|f| match f.kind {
            FrameKind::Loop => f.vars.contains(name),
            FrameKind::Call => f.has_param(name),
            FrameKind::Body | FrameKind::Braces => false,
        })
    }

    /// Returns true if anything but a local of a lambda binds the name.
    pub(crate) fn bound_apart_from_locals(&self, name: &str) -> bool {
        self.stack.iter().any(|f| match f.kind {
            FrameKind::Call => f.has_param(name),
            _ => f.get(name).is_some(),
        })
    }
}
