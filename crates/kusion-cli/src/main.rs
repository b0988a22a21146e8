//! The `kusion` command.

fn main() {}
