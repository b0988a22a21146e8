//! `kusion quickstart`: the whole product in a minute, on a sandbox inside this process.
//!
//! It only types commands that the reader could type: everything it shows is what `kusion apply`, `preview` and `rollback`
//! print. It leaves a folder to play in, and never writes into one that has something in it.

use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::commands;
use crate::commands::sandbox;
use crate::input::chosen::here;
use crate::input::flags::{Arg, Given, flag};
use crate::views::failure::{Exit, Failure};
use crate::views::output::print;
use crate::views::style::Style;

pub(crate) fn flags() -> Vec<Arg> {
    vec![flag("port", None, "N", "the port of the sandbox on 127.0.0.1 (default: a free one)")]
}

const PROJECT: &str = "name: quickstart\n";
const STACK: &str = "name: dev\n# The sandbox of this folder. Remove the line to use your own cluster.\nkubeConfig: ../.kusion/sandbox/kubeconfig\n";
const BASE: &str = r#"import konfig.models.frontend

# What every environment shares.
appConfiguration: frontend.Server {
    name = "gocity"
    replicas = 2
    mainContainer: {ports: [{port = 80}]}
    services: [{ports: [{port = 80}]}]
    serviceAccount: {}
}
"#;
const MAIN: &str = r#"import konfig.models.frontend

# What is special in dev.
appConfiguration: frontend.Server {
    image = "registry.example/gocity:v1"
}
"#;

const GOOD: &str = "registry.example/gocity:v1";
const BETTER: &str = "registry.example/gocity:v2";
const TYPO: &str = "registry.example/gocity:v3-typo";

pub(crate) fn main(given: &Given) -> Result<(), Failure> {
    let style = Style::stdout();
    let folder = match given.rest.as_slice() {
        [] => free_folder(&here()?),
        [folder] => here()?.join(folder),
        _ => return Err(Failure::usage("one folder at most").next("kusion quickstart [FOLDER]")),
    };
    print(
        "Kusion quickstart: an application from the first line of configuration to healthy, on a sandbox inside this process.\n",
    )?;
    let tour = Tour { folder, style };
    tour.project()?;
    let started = Instant::now();
    let sandbox = sandbox::open(given, &tour.folder.join(".kusion/sandbox"))?;
    let address = sandbox.address();
    tour.heading(
        2,
        "sandbox",
        &format!(
            "Kubernetes-compatible API on {address} (a sandbox, not a cluster), {:.1} s",
            started.elapsed().as_secs_f64()
        ),
    )?;
    tour.heading(3, "apply", "two pods, a service, an account, a namespace")?;
    tour.kusion(&["apply", "-y"], Exit::Done)?;
    tour.image(4, "change", BETTER)?;
    tour.kusion(&["apply", "-y"], Exit::Done)?;
    tour.image(5, "a bad day", TYPO)?;
    tour.kusion(&["apply", "-y"], Exit::Unhealthy)?;
    tour.heading(6, "rollback", "to the last release that was good")?;
    tour.kusion(&["rollback", "-y"], Exit::Done)?;
    tour.edit(BETTER)?;
    drop(sandbox);
    tour.end()
}

struct Tour {
    folder: PathBuf,
    style: Style,
}

impl Tour {
    fn heading(&self, number: usize, name: &str, text: &str) -> Result<(), Failure> {
        print(&format!("\n{}  {text}\n", self.style.cyan(&format!("{number}  {name:<10}"))))
    }

    /// Writes the files.
    fn project(&self) -> Result<(), Failure> {
        let files = [
            ("project.yaml", PROJECT),
            ("base/base.k", BASE),
            ("dev/stack.yaml", STACK),
            ("dev/main.k", MAIN),
        ];
        if !is_free(&self.folder) {
            return Err(Failure::usage("the folder is not empty")
                .place(self.folder.display().to_string())
                .next("choose another: kusion quickstart FOLDER"));
        }
        for (name, text) in files {
            self.write(name, text)?;
        }
        let home = self.folder.join(".kusion");
        std::fs::create_dir_all(&home).map_err(|e| unwritable(&home, &e))?;
        let lines = BASE.lines().count() + MAIN.lines().count();
        self.heading(
            1,
            "project",
            &format!("{}: base/base.k + dev/main.k, {lines} lines of KCL", self.shown()),
        )?;
        for line in MAIN.lines() {
            print(&format!("     {line}\n"))?;
        }
        Ok(())
    }

    fn image(&self, number: usize, name: &str, image: &str) -> Result<(), Failure> {
        self.edit(image)?;
        self.heading(number, name, &format!("dev/main.k:5  image = \"{image}\""))
    }

    fn edit(&self, image: &str) -> Result<(), Failure> {
        self.write("dev/main.k", &MAIN.replace(GOOD, image))
    }

    /// Runs one command of the tour; what it shows is its own.
    fn kusion(&self, words: &[&str], expected: Exit) -> Result<(), Failure> {
        let stack = self.folder.join("dev");
        let shown = format!("{}/dev", self.shown());
        print(&format!(
            "{}\n\n",
            self.style.dim(&format!("   $ kusion {} {shown} {}", words[0], words[1..].join(" ")))
        ))?;
        let mut line: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        line.push(stack.display().to_string());
        match (commands::run(&line), expected) {
            (Ok(()), Exit::Done) => Ok(()),
            (Err(failure), _) if failure.exit == expected => Ok(()),
            (Err(failure), _) => Err(failure),
            (Ok(()), _) => Err(Failure::new(Exit::Bug, "the broken image was not noticed")),
        }
    }

    fn end(&self) -> Result<(), Failure> {
        let folder = self.shown();
        print(&format!(
            "\nWhat now?   cd {folder} && kusion sandbox start      the same sandbox again, also for kubectl\n            \
             kusion preview dev                            see the plan; change dev/main.k and look again\n            \
             kusion release list dev                       what happened\n            \
             kusion apply dev --kubeconfig ~/.kube/config --move-cluster\n            \
             {:46}leave the sandbox; the same on a real cluster\n",
            ""
        ))
    }

    fn write(&self, name: &str, text: &str) -> Result<(), Failure> {
        let path = self.folder.join(name);
        let written = base_file::write_all(&[(path, text)], base_file::How::Plain);
        written.map_err(|trouble| unwritable(&trouble.path, &trouble.error))
    }

    /// The folder as one would type it.
    fn shown(&self) -> String {
        let here = here().unwrap_or_default();
        match self.folder.strip_prefix(&here) {
            Ok(below) => below.display().to_string(),
            Err(_) => self.folder.display().to_string(),
        }
    }
}

/// `quickstart`, or the next number: what is in a folder, a running sandbox too, is never touched again.
fn free_folder(here: &Path) -> PathBuf {
    let first = here.join("quickstart");
    let names = std::iter::once(first.clone()).chain((2..1000).map(|n| here.join(format!("quickstart-{n}"))));
    names.into_iter().find(|folder| is_free(folder)).unwrap_or(first)
}

/// Whether nothing is there, or an empty folder.
fn is_free(folder: &Path) -> bool {
    !folder.exists() || std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::usage("the quickstart's folder cannot be written")
        .cause(error.to_string())
        .place(path.display().to_string())
        .next("choose another: kusion quickstart FOLDER")
}
