//! Runs a file and prints YAML or the first error.
#![allow(clippy::print_stdout)]
fn main() {
    let path = std::env::args().nth(1).unwrap_or_default();
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    for program in text.split("\n====\n") {
        println!(">>>\n{program}\n---");
        let outcome = kcl::run(&kcl::Request::source("main.k", program));
        print!("{}", outcome.log);
        if outcome.is_ok() {
            println!("{}", outcome.yaml);
        }
        for d in &outcome.diagnostics {
            for l in &d.labels {
                println!("{} {:?} {}", d.code.code, l.place, l.message);
            }
        }
    }
}
