//! How a person names a stack in a command.

/// The words that mean a stack: advice that is copied acts on the same stack, on the same cluster.
#[derive(Clone, Debug, Default)]
pub struct Called {
    /// A folder from where the person stands, or `project/stack`, and the flags that lead to its state.
    pub word: String,
    /// The options of its program, each with a space before it.
    pub options: String,
    /// The flags that lead to its cluster, each with a space before it.
    pub flags: String,
}

impl Called {
    /// For a command that evaluates the program.
    #[must_use]
    pub fn evaluated(&self) -> String {
        format!("{}{}", self.word, self.options)
    }

    /// For a command that works on the cluster.
    #[must_use]
    pub fn there(&self) -> String {
        format!("{}{}{}", self.word, self.options, self.flags)
    }
}
