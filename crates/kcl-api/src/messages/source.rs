//! Reading and changing source text.

use std::collections::BTreeMap;

use super::ExternalPkg;

messages! {
    /// What is wrong with a text.
    Error {
        level: (string) String = 1;
        code: (string) String = 2;
        messages: (message, repeated) Vec<Message> = 3;
    }
    /// A sentence and its place.
    Message {
        msg: (string) String = 1;
        pos: (message, optional) Option<Position> = 2;
    }
    /// A place: the line from 1, the column from 0.
    Position {
        line: (int64) i64 = 1;
        column: (int64) i64 = 2;
        filename: (string) String = 3;
    }
    /// The question of `ParseFile`.
    ParseFileArgs {
        path: (string) String = 1;
        source: (string) String = 2;
        external_pkgs: (message, repeated) Vec<ExternalPkg> = 3;
    }
    /// The answer of `ParseFile`.
    ParseFileResult {
        ast_json: (string) String = 1;
        deps: (string, repeated) Vec<String> = 2;
        errors: (message, repeated) Vec<Error> = 3;
    }
    /// The question of `ParseProgram`.
    ParseProgramArgs {
        paths: (string, repeated) Vec<String> = 1;
        sources: (string, repeated) Vec<String> = 2;
        external_pkgs: (message, repeated) Vec<ExternalPkg> = 3;
    }
    /// The answer of `ParseProgram`.
    ParseProgramResult {
        ast_json: (string) String = 1;
        paths: (string, repeated) Vec<String> = 2;
        errors: (message, repeated) Vec<Error> = 3;
    }
    /// The answer of `ListOptions`.
    ListOptionsResult {
        options: (message, repeated) Vec<OptionHelp> = 2;
    }
    /// Part of an answer.
    OptionHelp {
        name: (string) String = 1;
        r#type: (string) String = 2;
        required: (bool) bool = 3;
        default_value: (string) String = 4;
        help: (string) String = 5;
    }
    /// The question of `FormatPath`.
    FormatPathArgs {
        path: (string) String = 1;
        dry_run: (bool) bool = 2;
    }
    /// The answer of `FormatPath`.
    FormatPathResult {
        changed_paths: (string, repeated) Vec<String> = 1;
    }
    /// The question of `FormatCode`.
    FormatCodeArgs {
        source: (string) String = 1;
    }
    /// The question of `LintPath`.
    LintPathArgs {
        paths: (string, repeated) Vec<String> = 1;
    }
    /// The answer of `LintPath`.
    LintPathResult {
        results: (string, repeated) Vec<String> = 1;
    }
    /// The question of `OverrideFile`.
    OverrideFileArgs {
        file: (string) String = 1;
        specs: (string, repeated) Vec<String> = 2;
        import_paths: (string, repeated) Vec<String> = 3;
    }
    /// The answer of `OverrideFile`.
    OverrideFileResult {
        result: (bool) bool = 1;
        parse_errors: (message, repeated) Vec<Error> = 2;
    }
    /// Part of an answer.
    ListVariablesOptions {
        merge_program: (bool) bool = 1;
    }
    /// Part of an answer.
    VariableList {
        variables: (message, repeated) Vec<Variable> = 1;
    }
    /// The question of `ListVariables`.
    ListVariablesArgs {
        files: (string, repeated) Vec<String> = 1;
        specs: (string, repeated) Vec<String> = 2;
        options: (message, optional) Option<ListVariablesOptions> = 3;
    }
    /// The answer of `ListVariables`.
    ListVariablesResult {
        variables: (btree_map = "string, message") BTreeMap<String, VariableList> = 1;
        unsupported_codes: (string, repeated) Vec<String> = 2;
        parse_errors: (message, repeated) Vec<Error> = 3;
    }
    /// A value as it is written.
    Variable {
        value: (string) String = 1;
        type_name: (string) String = 2;
        op_sym: (string) String = 3;
        list_items: (message, repeated) Vec<Variable> = 4;
        dict_entries: (message, repeated) Vec<MapEntry> = 5;
    }
    /// Part of an answer.
    MapEntry {
        key: (string) String = 1;
        value: (message, optional, boxed) Option<Box<Variable>> = 2;
    }
    /// The question of `Rename`.
    RenameArgs {
        package_root: (string) String = 1;
        symbol_path: (string) String = 2;
        file_paths: (string, repeated) Vec<String> = 3;
        new_name: (string) String = 4;
    }
    /// The answer of `Rename`.
    RenameResult {
        changed_files: (string, repeated) Vec<String> = 1;
    }
    /// The question of `RenameCode`.
    RenameCodeArgs {
        package_root: (string) String = 1;
        symbol_path: (string) String = 2;
        source_codes: (btree_map = "string, string") BTreeMap<String, String> = 3;
        new_name: (string) String = 4;
    }
    /// The answer of `RenameCode`.
    RenameCodeResult {
        changed_codes: (btree_map = "string, string") BTreeMap<String, String> = 1;
    }
    /// The question of `ListDepFiles`.
    ListDepFilesArgs {
        work_dir: (string) String = 1;
        use_abs_path: (bool) bool = 2;
        include_all: (bool) bool = 3;
        use_fast_parser: (bool) bool = 4;
    }
    /// The answer of `ListDepFiles`.
    ListDepFilesResult {
        pkgroot: (string) String = 1;
        pkgpath: (string) String = 2;
        files: (string, repeated) Vec<String> = 3;
    }
}
