//! The table of methods, and the one door to them.

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::methods;
use crate::{Answer, Budget, Encoding, Failure, Reason};

/// One method.
pub struct Method {
    /// `KclService` or `BuiltinService`.
    pub service: &'static str,
    /// Its name.
    pub name: &'static str,
    /// The name of its question.
    pub args: &'static str,
    /// The name of its answer.
    pub result: &'static str,
    run: fn(Encoding, &[u8], &Budget) -> Answer<Vec<u8>>,
    recode: fn(Encoding, &[u8], Encoding) -> Answer<Vec<u8>>,
}

macro_rules! methods {
    ($($service:ident.$name:ident($args:ident) -> $result:ident = $function:path;)*) => {
        /// Every method: those of the reference, then our own.
        pub const METHODS: &[Method] = &[$(Method {
            service: stringify!($service),
            name: stringify!($name),
            args: stringify!($args),
            result: stringify!($result),
            run: |encoding, body, budget| {
                let args: crate::messages::$args = decode(encoding, body)?;
                let result: crate::messages::$result = $function(&args, budget)?;
                encode(encoding, &result)
            },
            recode: |from, body, to| encode(to, &decode::<crate::messages::$args>(from, body)?),
        },)*];
    };
}

methods! {
    BuiltinService.Ping(PingArgs) -> PingResult = methods::service::ping;
    BuiltinService.ListMethod(ListMethodArgs) -> ListMethodResult = methods::service::list_method;
    KclService.Ping(PingArgs) -> PingResult = methods::service::ping;
    KclService.GetVersion(GetVersionArgs) -> GetVersionResult = methods::service::get_version;
    KclService.ParseProgram(ParseProgramArgs) -> ParseProgramResult = methods::parse::parse_program;
    KclService.ParseFile(ParseFileArgs) -> ParseFileResult = methods::parse::parse_file;
    KclService.LoadPackage(LoadPackageArgs) -> LoadPackageResult = methods::package::load_package;
    KclService.ListOptions(ParseProgramArgs) -> ListOptionsResult = methods::options::list_options;
    KclService.ListVariables(ListVariablesArgs) -> ListVariablesResult = methods::variables::list_variables;
    KclService.ExecProgram(ExecProgramArgs) -> ExecProgramResult = methods::exec::exec_program;
    KclService.OverrideFile(OverrideFileArgs) -> OverrideFileResult = methods::overrides::override_file;
    KclService.GetSchemaTypeMapping(GetSchemaTypeMappingArgs) -> GetSchemaTypeMappingResult = methods::schema_types::mapping;
    KclService.GetSchemaTypeMappingUnderPath(GetSchemaTypeMappingArgs) -> GetSchemaTypeMappingUnderPathResult = methods::schema_types::under_path;
    KclService.FormatCode(FormatCodeArgs) -> FormatCodeResult = methods::format::format_code;
    KclService.FormatPath(FormatPathArgs) -> FormatPathResult = methods::format::format_path;
    KclService.LintPath(LintPathArgs) -> LintPathResult = methods::lint::lint_path;
    KclService.ValidateCode(ValidateCodeArgs) -> ValidateCodeResult = methods::validate::validate_code;
    KclService.LoadSettingsFiles(LoadSettingsFilesArgs) -> LoadSettingsFilesResult = methods::settings::load_settings_files;
    KclService.Rename(RenameArgs) -> RenameResult = methods::rename::rename;
    KclService.RenameCode(RenameCodeArgs) -> RenameCodeResult = methods::rename::rename_code;
    KclService.Test(TestArgs) -> TestResult = methods::test::test;
    KclService.FormatTestReport(FormatTestReportArgs) -> FormatTestReportResult = methods::test::format_test_report;
    KclService.UpdateDependencies(UpdateDependenciesArgs) -> UpdateDependenciesResult = methods::dependencies::update_dependencies;
    KclService.GenerateToml(GenerateTomlArgs) -> GenerateTomlResult = methods::generate::generate_toml;
    KclService.GenerateKcl(GenerateKclArgs) -> GenerateKclResult = methods::generate::generate_kcl;
    KclService.GenerateOpenAPI(GenerateOpenAPIArgs) -> GenerateOpenAPIResult = methods::generate::generate_openapi;
    KclService.GenerateProto(GenerateProtoArgs) -> GenerateProtoResult = methods::generate::generate_proto;
    KclService.GenerateDoc(GenerateDocArgs) -> GenerateDocResult = methods::generate::generate_doc;
    KclService.ListDepFiles(ListDepFilesArgs) -> ListDepFilesResult = methods::dependencies::list_dep_files;
    KclService.SymbolAt(SymbolAtArgs) -> SymbolAtResult = methods::symbol::symbol_at;
}

/// Finds a method by `Service.Method`; `gpyrpc.KclService/Ping` and `com.kcl.api.KclService.Ping` are the same as `KclService.Ping`.
pub fn find(name: &str) -> Option<&'static Method> {
    let mut parts = name.rsplit(['.', '/']);
    let (method, service) = (parts.next()?, parts.next()?);
    METHODS.iter().find(|known| known.name == method && known.service == service)
}

/// Answers a question. A panic is an answer, too: nothing gets through but bytes.
///
/// # Errors
/// Why there is no answer.
pub fn call(method: &str, encoding: Encoding, body: &[u8], budget: &Budget) -> Answer<Vec<u8>> {
    let Some(found) = find(method) else {
        let near = base_diag::nearest(
            METHODS.iter().map(|known| known.name),
            method.rsplit('.').next().unwrap_or(method),
        );
        let help = near.map(|near| format!(": did you mean `KclService.{near}`?")).unwrap_or_default();
        return Err(Failure::new(Reason::UnknownMethod, format!("there is no method `{method}`{help}")));
    };
    if budget.cancel.is_cancelled() {
        return Err(stopped());
    }
    let run = || kcl::deep(|| (found.run)(encoding, body, budget));
    let answer = catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| {
        let message = format!(
            "internal error: {}.{} stopped unexpectedly; please report it",
            found.service, found.name
        );
        Err(Failure::new(Reason::Bug, message))
    });
    // What was stopped half-way is no answer, whatever it looks like.
    if budget.cancel.is_cancelled() { Err(stopped()) } else { answer }
}

/// Writes the question of a method in another encoding; nothing is run.
///
/// # Errors
/// No such method, or bytes that are not its message.
pub fn recode(method: &str, from: Encoding, body: &[u8], to: Encoding) -> Answer<Vec<u8>> {
    let found = find(method).ok_or_else(|| Failure::new(Reason::UnknownMethod, method))?;
    (found.recode)(from, body, to)
}

fn stopped() -> Failure {
    Failure::new(Reason::Stopped, "the request was stopped: its time was over or its client had gone")
}

fn decode<T: prost::Message + Default + DeserializeOwned>(encoding: Encoding, body: &[u8]) -> Answer<T> {
    let wrong = |why: String| Failure::new(Reason::Undecodable, why);
    match encoding {
        Encoding::Protobuf => {
            T::decode(body).map_err(|error| wrong(format!("the message cannot be decoded: {error}")))
        }
        Encoding::Json if body.iter().all(u8::is_ascii_whitespace) => Ok(T::default()),
        Encoding::Json => serde_json::from_slice(body)
            .map_err(|error| wrong(format!("the JSON message cannot be decoded: {error}"))),
    }
}

fn encode<T: prost::Message + Serialize>(encoding: Encoding, message: &T) -> Answer<Vec<u8>> {
    match encoding {
        Encoding::Protobuf => Ok(message.encode_to_vec()),
        Encoding::Json => serde_json::to_vec(message)
            .map_err(|error| Failure::new(Reason::Bug, format!("the answer cannot be encoded: {error}"))),
    }
}
