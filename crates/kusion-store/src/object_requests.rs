//! Single requests of the log to a medium of objects: asked again where no answer came, looked for where a put may have happened.

use std::path::{Path, PathBuf};

use crate::objects::{Object, ObjectAnswer, ObjectError, Objects, TRIES, When};
use crate::{ObjectLog, StoreError};

impl<O: Objects> ObjectLog<O> {
    pub(crate) fn failed(&self, name: &str, error: ObjectError) -> StoreError {
        let place = PathBuf::from(self.objects.place(name));
        match error {
            ObjectError::Unanswered(why) if why.is_empty() => StoreError::Unanswered { place, tries: TRIES },
            ObjectError::Unanswered(why) => StoreError::Unreachable { place, why },
            ObjectError::Refused(why) => StoreError::Refused { place, why },
        }
    }

    fn step(&self, name: &str) -> Result<(), StoreError> {
        self.plug.step().map_err(StoreError::io("write", Path::new(&self.objects.place(name))))
    }

    /// Asks what changes nothing until it is answered.
    pub(crate) async fn asked<'a, T>(
        &'a self,
        name: &'a str,
        ask: impl Fn() -> ObjectAnswer<'a, T>,
    ) -> Result<T, StoreError> {
        let mut tries = 0;
        loop {
            tries += 1;
            let error = match ask().await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            match &error {
                ObjectError::Unanswered(why) if self.objects.again(tries, why).await => {}
                _ => return Err(self.failed(name, error)),
            }
        }
    }

    pub(crate) async fn get(&self, name: &str) -> Result<Option<Object>, StoreError> {
        self.asked(name, || self.objects.get(name)).await
    }

    /// The names under a folder, in order.
    pub(crate) async fn names(&self, folder: &str) -> Result<Vec<String>, StoreError> {
        self.asked(folder, || self.objects.list(folder)).await
    }

    /// Makes an object; false if there is one of that name.
    pub(crate) async fn make(&self, name: &str, bytes: &[u8]) -> Result<bool, StoreError> {
        Ok(self.put(name, bytes, When::Absent).await?.is_some())
    }

    /// Puts an object; where the answer is lost, looks whether it is there.
    pub(crate) async fn put(
        &self,
        name: &str,
        bytes: &[u8],
        when: When<'_>,
    ) -> Result<Option<String>, StoreError> {
        let room = self.plug.room(bytes.len());
        room.map_err(StoreError::io("write", Path::new(&self.objects.place(name))))?;
        self.step(name)?;
        let (mut unsure, mut tries) = (false, 0);
        loop {
            tries += 1;
            let put = self.objects.put(name, bytes, when).await;
            let put =
                if self.plug.loses_answer() { Err(ObjectError::Unanswered(String::new())) } else { put };
            match put {
                Err(ObjectError::Unanswered(why)) => {
                    if !self.objects.again(tries, &why).await {
                        return Err(self.failed(name, ObjectError::Unanswered(why)));
                    }
                    unsure = true;
                }
                Err(error) => return Err(self.failed(name, error)),
                Ok(Some(version)) => {
                    self.step(name)?;
                    return Ok(Some(version));
                }
                Ok(None) if !unsure => return Ok(None),
                Ok(None) => {}
            }
            // What stands there and is what we wanted to put is ours: no two writers put the same bytes.
            match self.get(name).await? {
                Some(found) if found.bytes == bytes => return Ok(Some(found.version)),
                found => {
                    let version = found.as_ref().map(|found| found.version.as_str());
                    let open = match when {
                        When::Absent => version.is_none(),
                        When::Version(wanted) => version == Some(wanted),
                    };
                    if !open {
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// Refuses a medium that makes one name twice: two writers would both succeed, and one be lost without a word.
    pub(crate) async fn prove(&self) -> Result<(), StoreError> {
        let name = format!("probe/{}", uuid::Uuid::new_v4());
        let mut made = Vec::with_capacity(2);
        for text in ["one", "two"] {
            made.push(self.make(&name, text.as_bytes()).await?);
        }
        // What is left of it harms nobody.
        let _ = self.objects.remove(std::slice::from_ref(&name)).await;
        if made == [true, false] {
            return Ok(());
        }
        let why =
            "it does not compare before it puts (conditional writes), so two writers would undo one another";
        Err(self.failed("", ObjectError::Refused(why.to_owned())))
    }
}
