//! The three promises, on every program that the repository has and on generated ones with random comments: formatting
//! changes no program, no comment, and nothing that is formatted. (`cargo xtask fmt` has the long form.)
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use testkit::format::{judge, noisy};
use testkit::generate::Rng;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn programs() -> Vec<String> {
    let mut all = Vec::new();
    for file in testkit::spec::load(&root().join("spec")).unwrap() {
        for case in file.cases {
            all.extend(case.program.files.into_iter().filter(|f| f.path.ends_with(".k")).map(|f| f.text));
        }
    }
    gather(&root().join("konfig"), &mut all);
    gather(&root().join("examples"), &mut all);
    all
}

fn gather(folder: &Path, all: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            gather(&path, all);
        } else if path.extension().is_some_and(|e| e == "k") {
            all.push(std::fs::read_to_string(path).unwrap());
        }
    }
}

#[test]
fn every_program_of_the_repository_stays_what_it_is() {
    let programs = programs();
    let good = programs.iter().filter(|text| judge(text).unwrap()).count();
    assert!(good > 1_500, "only {good} of {} programs parse", programs.len());
}

#[test]
fn comments_may_stand_anywhere() {
    let mut rng = Rng::new(11);
    for text in programs() {
        for _ in 0..3 {
            judge(&noisy(&text, &mut rng)).unwrap();
        }
    }
}

#[test]
fn generated_programs_stay_what_they_are() {
    let (mut all, mut commented) = (0, 0);
    let count = std::env::var("FMT_PROGRAMS").map_or(1_000, |text| text.parse().unwrap());
    for seed in 0..count {
        let mut rng = Rng::new(seed);
        for file in testkit::generate::program(seed).files {
            let noisy = noisy(&file.text, &mut rng);
            all += 1;
            commented += usize::from(kcl_fmt::comments(&noisy).len() > kcl_fmt::comments(&file.text).len());
            judge(&noisy).unwrap();
        }
    }
    assert!(commented * 10 > all * 8, "only {commented} of {all} texts got comments");
}

#[test]
fn odd_programs_stay_what_they_are() {
    for text in [
        "schema A:\n    mixin []\n    a: int\n",
        "if True: assert True\n",
        "a = [if x > 1: x for x in [1, 2]]\n",
        "schema A:\n  a: int\n  # fmt: off\n  check:  # c\n   a # d\n# e\nb = 1\n",
        "a = {\n# fmt: off\n  b  =  1,\n  # fmt: on\n  c=2\n}\n",
        "a = 1 b = 2 [3]\n",
        "a = '''x\r\r\ny\r\nz'''\r\n",
        "# fmt: off\r\na   = '''x\r\r\n\r\ny'''\r\n",
        "@a\n# c\n@b(x=1) # d\nschema S[p](B) for P: # t\n\t# in\n",
    ] {
        assert!(judge(text).unwrap(), "{text}");
    }
}

#[test]
fn broken_texts_come_back_as_they_were() {
    for text in ["a = = 1\nb=2\n", "a = [1,2\n", "x = {\n", "if a:\nb\n", "a = 'open\n", "\u{0}", "a = 1;\n"]
    {
        assert!(!judge(text).unwrap(), "{text}");
    }
}

#[test]
fn deep_and_long_texts_end_soon() {
    let deep = |open: &str, close: &str, n: usize| format!("a = {}1{}\n", open.repeat(n), close.repeat(n));
    judge(&deep("[", "]", 190)).unwrap();
    judge(&deep("(", ")", 90)).unwrap();
    judge(&deep("{b = ", "}", 90)).unwrap();
    judge(&deep("lambda x: int = ", " {1}", 60)).unwrap();
    judge(&format!("a = 1{}\n", " + 1".repeat(400))).unwrap();
    let nested: String = (0..80).map(|i| format!("{}if a:\n", "  ".repeat(i))).collect();
    judge(&format!("{nested}{}b = 1\n", "  ".repeat(80))).unwrap();
    // One line, and nothing but comments: neither may cost the square of its length.
    judge(&"if a: b = 1 ".repeat(20_000)).unwrap();
    judge(&"# c\n".repeat(100_000)).unwrap();
    judge(&format!("a = [{}]\n", "1, ".repeat(200_000))).unwrap();
}

#[test]
fn a_comment_keeps_every_blank() {
    let text = "# head  \r\na=1 # one \t\n# fmt: off\nb=2 # two  \n# three  \n# fmt: on  \n";
    let done = kcl_fmt::format(text, base_diag::FileId(0)).text;
    assert_eq!(done, "# head  \na = 1  # one \t\n# fmt: off\nb=2 # two  \n# three  \n# fmt: on  \n");
    assert_eq!(kcl_fmt::comments(text), kcl_fmt::comments(&done));
    assert!(judge(text).unwrap());
}
