//! Objects in a table of PostgreSQL: one row each, compared and put in one statement, read by prefix in one query.
//!
//! ```sql
//! CREATE TABLE <schema>.objects (name text COLLATE "C" PRIMARY KEY, version bigint NOT NULL, bytes bytea NOT NULL)
//! ```
//! Made when something is put for the first time; before that a table that is not there is one without rows.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use kusion_store::{Choose, Object, ObjectAnswer, ObjectError, Objects, When};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Config, Error, Row};

use crate::Rim;
use crate::pg_tls::Tls;

/// The lock under which the table is made: two that make it at once would both fail half way.
const MAKING: i64 = 0x6b75_7369_6f6e;
/// Behind every name that begins with a text: no name has this character.
const LAST: char = '\u{10ffff}';

/// A table of objects.
pub struct Postgres {
    link: Arc<Link>,
    rim: Arc<Rim>,
    shown: String,
}

/// The connection, made when it is needed and again when it broke.
struct Link {
    config: Config,
    tls: Tls,
    schema: String,
    client: tokio::sync::Mutex<Option<Arc<Client>>>,
    /// A request was given up in the middle: what comes next on this connection is not ours.
    broken: AtomicBool,
}

/// Marks the connection as broken unless the request has come to its end.
struct Pending<'a>(&'a Link, bool);

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        if !self.1 {
            self.0.broken.store(true, Ordering::Relaxed);
        }
    }
}

type Parameters<'a> = &'a [(&'a (dyn ToSql + Sync), Type)];

impl Postgres {
    /// A table in a schema; nothing is asked yet. The schema must be a plain name: it stands in every statement.
    #[must_use]
    pub(crate) fn new(config: Config, tls: Tls, schema: &str, rim: Arc<Rim>, shown: &str) -> Self {
        let (schema, client) = (schema.to_owned(), tokio::sync::Mutex::default());
        let link = Arc::new(Link { config, tls, schema, client, broken: AtomicBool::new(false) });
        Postgres { link, rim, shown: shown.to_owned() }
    }
}

impl Link {
    async fn client(&self) -> Result<Arc<Client>, ObjectError> {
        let mut slot = self.client.lock().await;
        if self.broken.swap(false, Ordering::Relaxed) {
            *slot = None;
        }
        if let Some(client) = slot.as_ref().filter(|client| !client.is_closed()) {
            return Ok(Arc::clone(client));
        }
        let (client, connection) =
            self.config.connect(self.tls.clone()).await.map_err(|error| failed(&error))?;
        // It ends with its client; how it ended is told by the next request.
        tokio::spawn(async move { drop(connection.await) });
        let client = Arc::new(client);
        *slot = Some(Arc::clone(&client));
        Ok(client)
    }

    async fn ask(&self, statement: &str, parameters: Parameters<'_>) -> Result<Vec<Row>, Asked> {
        let client = self.client().await.map_err(Asked::Failed)?;
        let statement = statement.replace("OBJECTS", &format!("{}.objects", self.schema));
        let mut pending = Pending(self, false);
        let answer = client.query_typed(&statement, parameters).await;
        pending.1 = true;
        answer.map_err(|error| match error.code() {
            Some(code) if *code == SqlState::UNDEFINED_TABLE || *code == SqlState::INVALID_SCHEMA_NAME => {
                Asked::NoTable
            }
            _ => Asked::Failed(failed(&error)),
        })
    }

    /// Rows of a table that may not be there yet.
    async fn rows(&self, statement: &str, parameters: Parameters<'_>) -> Result<Vec<Row>, ObjectError> {
        match self.ask(statement, parameters).await {
            Ok(rows) => Ok(rows),
            Err(Asked::NoTable) => Ok(Vec::new()),
            Err(Asked::Failed(error)) => Err(error),
        }
    }

    async fn make(&self) -> Result<(), ObjectError> {
        let (client, schema) = (self.client().await?, &self.schema);
        let statements = format!(
            "BEGIN; SELECT pg_advisory_xact_lock({MAKING}); CREATE SCHEMA IF NOT EXISTS {schema}; \
             CREATE SEQUENCE IF NOT EXISTS {schema}.versions; \
             CREATE TABLE IF NOT EXISTS {schema}.objects (name text COLLATE \"C\" PRIMARY KEY, \
             version bigint NOT NULL DEFAULT nextval('{schema}.versions'), bytes bytea NOT NULL); COMMIT"
        );
        let mut pending = Pending(self, false);
        let made = client.batch_execute(&statements).await;
        // A transaction that failed in the middle is still open on this connection.
        pending.1 = made.is_ok();
        made.map_err(|error| failed(&error))
    }

    async fn put(
        &self,
        name: &str,
        bytes: &[u8],
        version: Option<i64>,
    ) -> Result<Option<String>, ObjectError> {
        let rows = match self.put_once(name, bytes, version).await {
            Err(Asked::NoTable) if version.is_some() => return Ok(None),
            Err(Asked::NoTable) => {
                self.make().await?;
                self.put_once(name, bytes, version).await
            }
            done => done,
        };
        match rows {
            Ok(rows) => rows.first().map(|row| number(row, 0).map(|version| version.to_string())).transpose(),
            Err(Asked::NoTable) => {
                Err(ObjectError::Refused("the table was made and is not there".to_owned()))
            }
            Err(Asked::Failed(error)) => Err(error),
        }
    }

    async fn put_once(&self, name: &str, bytes: &[u8], version: Option<i64>) -> Result<Vec<Row>, Asked> {
        match version {
            None => {
                let statement = "INSERT INTO OBJECTS (name, bytes) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING version";
                self.ask(statement, &[(&name, Type::TEXT), (&bytes, Type::BYTEA)]).await
            }
            Some(version) => {
                let statement = "UPDATE OBJECTS SET bytes = $2, version = DEFAULT WHERE name = $1 AND version = $3 RETURNING version";
                self.ask(statement, &[(&name, Type::TEXT), (&bytes, Type::BYTEA), (&version, Type::INT8)])
                    .await
            }
        }
    }
}

/// Why a statement brought nothing.
enum Asked {
    NoTable,
    Failed(ObjectError),
}

/// Whether a failed request has certainly not happened, and never will.
fn failed(error: &Error) -> ObjectError {
    let Some(told) = error.as_db_error() else {
        let mut last: &dyn std::error::Error = error;
        while let Some(source) = last.source() {
            last = source;
        }
        // Without a word of the server: it cannot be reached, or the connection broke.
        return untrusted(last)
            .map_or_else(|| ObjectError::Unanswered(last.to_string()), ObjectError::Refused);
    };
    let (code, message) = (told.code().code(), told.message());
    // Connection trouble, a rollback, too little of something, a server that goes down or comes up.
    let passes = ["08", "40", "53", "57"].iter().any(|class| code.starts_with(class));
    match passes {
        true => ObjectError::Unanswered(message.to_owned()),
        false => ObjectError::Refused(format!("{message} (SQLSTATE {code})")),
    }
}

/// Why there can be no secret connection, however often it is tried.
fn untrusted(cause: &(dyn std::error::Error + 'static)) -> Option<String> {
    let told = cause.to_string();
    // The client has no kind for it that can be asked for.
    if told.contains("server does not support TLS") {
        return Some(format!("{told}; sslmode=disable does without"));
    }
    let inner = cause.downcast_ref::<std::io::Error>()?.get_ref()?;
    match inner.downcast_ref::<rustls::Error>()? {
        rustls::Error::InvalidCertificate(_) => {
            Some(format!("{told}; name the authority that has signed it: sslrootcert=FILE"))
        }
        _ => None,
    }
}

fn number(row: &Row, at: usize) -> Result<i64, ObjectError> {
    row.try_get(at).map_err(|error| ObjectError::Refused(format!("the table is not ours: {error}")))
}

fn text(row: &Row, at: usize) -> Result<String, ObjectError> {
    row.try_get(at).map_err(|error| ObjectError::Refused(format!("the table is not ours: {error}")))
}

fn bytes(row: &Row, at: usize) -> Result<Vec<u8>, ObjectError> {
    row.try_get(at).map_err(|error| ObjectError::Refused(format!("the table is not ours: {error}")))
}

impl Objects for Postgres {
    fn place(&self, name: &str) -> String {
        format!("{}/{name}", self.shown)
    }

    fn get<'a>(&'a self, name: &'a str) -> ObjectAnswer<'a, Option<Object>> {
        let (link, name) = (Arc::clone(&self.link), name.to_owned());
        self.rim.run(async move {
            let statement = "SELECT bytes, version FROM OBJECTS WHERE name = $1";
            let rows = link.rows(statement, &[(&name, Type::TEXT)]).await?;
            let object =
                |row: &Row| Ok(Object { bytes: bytes(row, 0)?, version: number(row, 1)?.to_string() });
            rows.first().map(object).transpose()
        })
    }

    fn put<'a>(&'a self, name: &'a str, bytes: &'a [u8], when: When<'a>) -> ObjectAnswer<'a, Option<String>> {
        let (link, name, bytes) = (Arc::clone(&self.link), name.to_owned(), bytes.to_vec());
        let version = match when {
            When::Absent => Ok(None),
            When::Version(version) => version.parse().map(Some),
        };
        self.rim.run(async move {
            // A version that is no number was never given out here.
            let Ok(version) = version else { return Ok(None) };
            link.put(&name, &bytes, version).await
        })
    }

    fn list<'a>(&'a self, prefix: &'a str) -> ObjectAnswer<'a, Vec<String>> {
        let (link, prefix) = (Arc::clone(&self.link), prefix.to_owned());
        self.rim.run(async move {
            let end = format!("{prefix}{LAST}");
            let statement = "SELECT name FROM OBJECTS WHERE name >= $1 AND name < $2 ORDER BY name";
            let rows = link.rows(statement, &[(&prefix, Type::TEXT), (&end, Type::TEXT)]).await?;
            rows.iter().map(|row| text(row, 0)).collect()
        })
    }

    fn remove<'a>(&'a self, names: &'a [String]) -> ObjectAnswer<'a, ()> {
        let (link, names) = (Arc::clone(&self.link), names.to_vec());
        self.rim.run(async move {
            let statement = "DELETE FROM OBJECTS WHERE name = ANY($1)";
            link.rows(statement, &[(&names, Type::TEXT_ARRAY)]).await.map(|_| ())
        })
    }

    fn get_chosen<'a>(
        &'a self,
        prefix: &'a str,
        after: &'a str,
        choose: &'a Choose<'a>,
    ) -> ObjectAnswer<'a, Vec<(String, Vec<u8>)>> {
        let (link, prefix, after) = (Arc::clone(&self.link), prefix.to_owned(), after.to_owned());
        let all = self.rim.run(async move {
            let end = format!("{prefix}{LAST}");
            let statement =
                "SELECT name, bytes FROM OBJECTS WHERE name >= $1 AND name < $2 AND name > $3 ORDER BY name";
            let parameters: Parameters<'_> =
                &[(&prefix, Type::TEXT), (&end, Type::TEXT), (&after, Type::TEXT)];
            let rows = link.rows(statement, parameters).await?;
            rows.iter().map(|row| Ok((text(row, 0)?, bytes(row, 1)?))).collect::<Result<Vec<_>, _>>()
        });
        Box::pin(async move {
            let all = all.await?;
            let names: Vec<String> = all.iter().map(|(name, _)| name.clone()).collect();
            let chosen = choose(&names);
            Ok(all.into_iter().filter(|(name, _)| chosen.contains(name)).collect())
        })
    }

    /// One query brings them all.
    fn asks_for_each(&self) -> bool {
        false
    }

    fn again<'a>(&'a self, tries: u32, why: &'a str) -> futures::future::BoxFuture<'a, bool> {
        self.rim.again(tries, why)
    }
}
