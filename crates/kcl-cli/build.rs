//! Links the binary to a fixed address on Linux.
//!
//! A position-independent binary of this size has about 15,000 relocations, which the loader applies at every start: they touch 80
//! pages and cost more than a whole `kcl run` of a small program. At a fixed address there are none.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let target = |key: &str| std::env::var(format!("CARGO_CFG_TARGET_{key}")).unwrap_or_default();
    if target("OS") == "linux" && target("ENV") == "gnu" {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
