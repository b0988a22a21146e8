//! The `kcl` command.

fn main() {}
