//! How a person names a stack in a command.

/// The words that mean a stack: advice that is copied acts on the same stack, on the same cluster.
#[derive(Clone, Debug, Default)]
pub struct Called {
    /// A folder from where the person stands, or `project/stack`.
    pub word: String,
    /// The flags that lead to its cluster, each with a space before it.
    pub flags: String,
}

impl Called {
    /// The word and the flags, for a command that works on the cluster.
    #[must_use]
    pub fn there(&self) -> String {
        format!("{}{}", self.word, self.flags)
    }
}
