//! Packages and tests.

use std::collections::BTreeMap;

use super::{Error, ExecProgramArgs, ExternalPkg, KclType, ParseProgramArgs, Position};

messages! {
    /// The question of `LoadPackage`.
    LoadPackageArgs {
        parse_args: (message, optional) Option<ParseProgramArgs> = 1;
        resolve_ast: (bool) bool = 2;
        load_builtin: (bool) bool = 3;
        with_ast_index: (bool) bool = 4;
    }
    /// The answer of `LoadPackage`.
    LoadPackageResult {
        program: (string) String = 1;
        paths: (string, repeated) Vec<String> = 2;
        parse_errors: (message, repeated) Vec<Error> = 3;
        type_errors: (message, repeated) Vec<Error> = 4;
        scopes: (btree_map = "string, message") BTreeMap<String, Scope> = 5;
        symbols: (btree_map = "string, message") BTreeMap<String, Symbol> = 6;
        node_symbol_map: (btree_map = "string, message") BTreeMap<String, SymbolIndex> = 7;
        symbol_node_map: (btree_map = "string, string") BTreeMap<String, String> = 8;
        fully_qualified_name_map: (btree_map = "string, message") BTreeMap<String, SymbolIndex> = 9;
        pkg_scope_map: (btree_map = "string, message") BTreeMap<String, ScopeIndex> = 10;
        imports: (btree_map = "string, message") BTreeMap<String, FileImports> = 11;
        kcl_mod: (message, optional) Option<KclMod> = 12;
        apps: (message, repeated) Vec<AppInfo> = 13;
    }
    /// Part of an answer.
    FileImports {
        imports: (message, repeated) Vec<ImportInfo> = 1;
    }
    /// Part of an answer.
    ImportInfo {
        path: (string) String = 1;
        resolved: (string) String = 2;
    }
    /// Part of an answer.
    KclMod {
        package: (message, optional) Option<KclModPackage> = 1;
        profile: (message, optional) Option<KclModProfile> = 2;
        dependencies: (btree_map = "string, message") BTreeMap<String, KclModDependency> = 3;
    }
    /// Part of an answer.
    KclModPackage {
        name: (string) String = 1;
        edition: (string) String = 2;
        version: (string) String = 3;
        description: (string) String = 4;
        include: (string, repeated) Vec<String> = 5;
        exclude: (string, repeated) Vec<String> = 6;
    }
    /// Part of an answer.
    KclModProfile {
        entries: (string, repeated) Vec<String> = 1;
        disable_none: (bool) bool = 2;
        sort_keys: (bool) bool = 3;
        selectors: (string, repeated) Vec<String> = 4;
        overrides: (string, repeated) Vec<String> = 5;
        options: (string, repeated) Vec<String> = 6;
    }
    /// Part of an answer.
    KclModDependency {
        version: (string) String = 1;
        git: (message, optional) Option<KclModGitSource> = 2;
        oci: (message, optional) Option<KclModOciSource> = 3;
        local: (message, optional) Option<KclModLocalSource> = 4;
    }
    /// Part of an answer.
    KclModGitSource {
        git: (string) String = 1;
        branch: (string) String = 2;
        commit: (string) String = 3;
        tag: (string) String = 4;
        version: (string) String = 5;
    }
    /// Part of an answer.
    KclModOciSource {
        oci: (string) String = 1;
        tag: (string) String = 2;
    }
    /// Part of an answer.
    KclModLocalSource {
        path: (string) String = 1;
    }
    /// Part of an answer.
    AppInfo {
        path: (string) String = 1;
        has_kcl_mod: (bool) bool = 2;
    }
    /// Part of an answer.
    Symbol {
        ty: (message, optional) Option<KclType> = 1;
        name: (string) String = 2;
        owner: (message, optional) Option<SymbolIndex> = 3;
        def: (message, optional) Option<SymbolIndex> = 4;
        attrs: (message, repeated) Vec<SymbolIndex> = 5;
        is_global: (bool) bool = 6;
    }
    /// Part of an answer.
    Scope {
        kind: (string) String = 1;
        parent: (message, optional) Option<ScopeIndex> = 2;
        owner: (message, optional) Option<SymbolIndex> = 3;
        children: (message, repeated) Vec<ScopeIndex> = 4;
        defs: (message, repeated) Vec<SymbolIndex> = 5;
    }
    /// Part of an answer.
    SymbolIndex {
        i: (uint64) u64 = 1;
        g: (uint64) u64 = 2;
        kind: (string) String = 3;
    }
    /// Part of an answer.
    ScopeIndex {
        i: (uint64) u64 = 1;
        g: (uint64) u64 = 2;
        kind: (string) String = 3;
    }
    /// The question of `UpdateDependencies`.
    UpdateDependenciesArgs {
        manifest_path: (string) String = 1;
        vendor: (bool) bool = 2;
    }
    /// The answer of `UpdateDependencies`.
    UpdateDependenciesResult {
        external_pkgs: (message, repeated) Vec<ExternalPkg> = 3;
    }
    /// The question of `Test`.
    TestArgs {
        exec_args: (message, optional) Option<ExecProgramArgs> = 1;
        pkg_list: (string, repeated) Vec<String> = 2;
        run_regexp: (string) String = 3;
        fail_fast: (bool) bool = 4;
        coverage: (bool) bool = 5;
    }
    /// The answer of `Test`.
    TestResult {
        info: (message, repeated) Vec<TestCaseInfo> = 2;
        coverage: (message, optional) Option<TestCoverageReport> = 3;
    }
    /// Part of an answer.
    TestCaseInfo {
        name: (string) String = 1;
        error: (string) String = 2;
        #[serde(deserialize_with = "super::number::deserialize")]
        duration: (uint64) u64 = 3;
        log_message: (string) String = 4;
        line_hits: (btree_map = "string, uint64") BTreeMap<String, u64> = 5;
    }
    /// Part of an answer.
    FileCoverage {
        filename: (string) String = 1;
        covered_lines: (uint64, repeated) Vec<u64> = 2;
        executable_lines: (uint64, repeated) Vec<u64> = 3;
        line_hits: (btree_map = "uint64, uint64") BTreeMap<u64, u64> = 4;
    }
    /// Part of an answer.
    TestCoverageReport {
        files: (btree_map = "string, message") BTreeMap<String, FileCoverage> = 1;
        summary: (message, optional) Option<CoverageSummary> = 2;
    }
    /// Part of an answer.
    CoverageSummary {
        covered: (uint64) u64 = 1;
        executable: (uint64) u64 = 2;
        percent: (double) f64 = 3;
    }
    /// The question of `FormatTestReport`.
    FormatTestReportArgs {
        result: (message, optional) Option<TestResult> = 1;
    }
    /// The answer of `FormatTestReport`.
    FormatTestReportResult {
        report: (string) String = 1;
    }
    /// A place in a file: the line from 1, the column from 0. `source` stands for the text of the file.
    SymbolAtArgs {
        file: (string) String = 1;
        line: (uint64) u64 = 2;
        column: (uint64) u64 = 3;
        source: (string, optional) Option<String> = 4;
        external_pkgs: (message, repeated) Vec<ExternalPkg> = 5;
    }
    /// What is named there. All fields are empty if nothing is.
    SymbolAtResult {
        name: (string) String = 1;
        kind: (string) String = 2;
        ty: (string) String = 3;
        definition: (message, optional) Option<Position> = 4;
        references: (message, repeated) Vec<Position> = 5;
    }
}
