//! Every command helps with examples.

use super::*;

#[test]
fn every_help_starts_with_three_examples_and_lists_its_flags() {
    cli().debug_assert();
    for command in COMMANDS {
        assert!(command.examples.len() >= 3, "{}", command.name);
        let words = [command.name.to_owned(), "--help".to_owned()];
        let Ok(Read::Text(help)) = flags::read(cli(), &words) else { panic!("no help: {}", command.name) };
        assert!(help.starts_with("Examples:\n"), "{help}");
        for flag in command.flags.iter().flat_map(|rows| rows()) {
            let long = format!("--{}", flag.get_long().unwrap());
            assert!(help.contains(&long), "{long} is missing: {help}");
        }
    }
}
