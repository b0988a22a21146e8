//! `kusion provider call`: a function of a provider, asked with arguments of its types.

use std::path::Path;

use tf_host::{Function, Launch, Parameter, Provider, SchemaCache};
use tf_install::{Address, Installed};
use tf_schema::Loose;
use tf_value::json::{Json, to_tree};
use tf_value::{Type, Value, concrete, convert};

use crate::input::cluster::tokio;
use crate::input::text::read_text;
use crate::views::failure::{Exit, Failure};

/// The arguments as they were given.
enum Words<'w> {
    /// A text is a text where the function takes one, and JSON elsewhere.
    Line(&'w [String]),
    Json(Vec<Json>),
}

/// Starts a provider, which needs no configuration for that, and calls a function of it. `-` alone reads a JSON list of
/// arguments from standard input: a command line can be seen by others.
pub(crate) fn call(
    address: &Address,
    found: &Installed,
    cache: &Path,
    (name, words): (&str, &[String]),
) -> Result<String, Failure> {
    let words = match words {
        [dash] if dash == "-" => Words::Json(listed(&read_text("-")?)?),
        words => Words::Line(words),
    };
    let host = address.to_string();
    let launch = Launch::new(&host, &found.executable);
    let cache = SchemaCache::new(cache.join(".schemas"));
    tokio()?.block_on(async {
        let provider = Provider::start(&launch, Some(&cache)).await.map_err(|e| failed(&e))?;
        let answer = asked(&provider, name, &words).await;
        provider.end().await;
        answer
    })
}

fn failed(error: &tf_host::HostError) -> Failure {
    Failure::new(Exit::Remote, "the provider does not answer").cause(error.to_string())
}

async fn asked(provider: &Provider, name: &str, words: &Words<'_>) -> Result<String, Failure> {
    let known = provider.schemas().function_names();
    if !known.contains(&name) {
        let failure = Failure::usage(format!("{} has no function `{name}`", provider.name()));
        return Err(match known.is_empty() {
            true => failure.cause("it has none at all"),
            false => failure.next(format!("one of {}", known.join(", "))),
        });
    }
    let function = provider.schemas().function(provider.name(), name).map_err(|e| failed(&e))?;
    let arguments = words.read(&function).map_err(|cause| refused(name, &function, &cause))?;
    let answer = provider.call_function(name, &arguments).await.map_err(|e| failed(&e))?;
    let result = answer.map_err(|(text, at)| {
        let at = at.and_then(|at| usize::try_from(at).ok());
        refused(name, &function, &at.map_or_else(|| text.clone(), |at| about(&function, at, &text)))
    })?;
    // In a state a value of any type brings its type; here only the value is asked for.
    let (ty, value) = concrete(result, &function.returns);
    let tree = to_tree(&value, &ty).map_err(|e| failed_result(&e.to_string()))?;
    Ok(tree.pretty() + "\n")
}

fn failed_result(cause: &str) -> Failure {
    Failure::new(Exit::Remote, "the function's result cannot be written").cause(cause)
}

fn refused(name: &str, function: &Function, cause: &str) -> Failure {
    Failure::usage(format!("`{name}` refuses its arguments")).cause(cause).next(form(name, function))
}

/// What a function takes and gives.
fn form(name: &str, function: &Function) -> String {
    let one = |parameter: &Parameter| format!("{} {}", parameter.name, parameter.ty);
    let mut parameters: Vec<String> = function.parameters.iter().map(one).collect();
    parameters.extend(function.variadic.as_ref().map(|parameter| format!("{} …", one(parameter))));
    format!("{name}({}) gives {}", parameters.join(", "), function.returns)
}

fn about(function: &Function, at: usize, text: &str) -> String {
    match parameter(function, at) {
        Some(parameter) => format!("argument {} (`{}`): {text}", at + 1, parameter.name),
        None => format!("argument {}: {text}", at + 1),
    }
}

fn parameter(function: &Function, at: usize) -> Option<&Parameter> {
    function.parameters.get(at).or(function.variadic.as_ref())
}

fn listed(text: &str) -> Result<Vec<Json>, Failure> {
    let form = "a JSON list: [\"text\", 7, {\"k\": true}]";
    let json = Json::parse(text.as_bytes())
        .map_err(|e| Failure::usage("standard input is no JSON").cause(e.to_string()).next(form))?;
    let items = json.as_array().map(<[Json]>::to_vec);
    items.ok_or_else(|| Failure::usage("standard input is no list of arguments").next(form))
}

impl Words<'_> {
    fn read(&self, function: &Function) -> Result<Vec<Value>, String> {
        let ty = |at: usize| parameter(function, at).map_or(&Type::Dynamic, |parameter| &parameter.ty);
        let place = |at: usize, what: String| about(function, at, &what);
        let from_word = |(at, word): (usize, &String)| match ty(at) {
            Type::String => Ok(Value::string(word)),
            ty => match Json::parse(word.as_bytes()) {
                Ok(json) => typed(&json, ty).map_err(|what| place(at, what)),
                Err(_) => Err(place(at, format!("{ty} is required, as JSON"))),
            },
        };
        match self {
            Words::Line(words) => words.iter().enumerate().map(from_word).collect(),
            Words::Json(all) => all
                .iter()
                .enumerate()
                .map(|(at, json)| typed(json, ty(at)).map_err(|what| place(at, what)))
                .collect(),
        }
    }
}

fn typed(json: &Json, ty: &Type) -> Result<Value, String> {
    let (from, value) = Loose::try_from(json).map_err(|e| e.to_string())?.natural();
    convert(&value, &from, ty).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(types: &[Type]) -> Function {
        let parameter = |(at, ty): (usize, &Type)| Parameter {
            name: format!("p{at}"),
            ty: ty.clone(),
            allow_null: false,
            allow_unknown: false,
        };
        let parameters = types.iter().enumerate().map(parameter).collect();
        Function { parameters, variadic: None, returns: Type::Bool }
    }

    #[test]
    fn words_are_texts_where_texts_are_taken_and_json_elsewhere() {
        let function = function(&[Type::String, Type::Number, Type::list(Type::String), Type::Dynamic]);
        let line = ["7", "36893488147419103232", "[1, \"b\"]", "{\"k\": [true]}"].map(str::to_owned);
        let values = Words::Line(&line).read(&function).unwrap();
        assert_eq!(values[0].as_str(), Some("7"));
        assert_eq!(values[1].as_number().unwrap().to_string(), "36893488147419103232");
        assert_eq!(values[2], Value::list([Value::string("1"), Value::string("b")]));
        let inside = values[3].plain().get("k").and_then(Value::elements).unwrap();
        assert_eq!(inside[0].as_bool(), Some(true));
        let wrong = Words::Line(&["a".to_owned(), "b".to_owned()]).read(&function).unwrap_err();
        assert_eq!(wrong, "argument 2 (`p1`): number is required, as JSON");
        let wrong = Words::Json(vec![Json::Null, Json::Array(Vec::new())]).read(&function).unwrap_err();
        assert!(wrong.starts_with("argument 2 (`p1`): number is required"), "{wrong}");
        assert_eq!(
            form("f", &function),
            "f(p0 string, p1 number, p2 list of string, p3 any type) gives bool"
        );
    }
}
