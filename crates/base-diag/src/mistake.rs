//! Mistakes as tables: a kind with facts, the reference's sentence and the words for people in one row.

use std::borrow::Cow;

use crate::{Code, Diagnostic, Place, Telling};

/// A kind of mistake with its facts. Each method makes one column of its row in the table of [`mistakes!`](crate::mistakes).
pub trait Mistake {
    /// Upstream's code and kind.
    fn code(&self) -> Code;
    /// Our stable kebab-case name.
    fn id(&self) -> &'static str;
    /// The reference's sentence.
    fn sentence(&self) -> Cow<'static, str>;
    /// What is wrong in one line, for people; none where the sentence is good as it is.
    fn title(&self) -> Option<Cow<'static, str>>;
    /// What to try.
    fn help(&self) -> Option<Cow<'static, str>>;
}

impl Diagnostic {
    /// Makes the error that a mistake is, at its primary place.
    pub fn of(mistake: &impl Mistake, place: Place) -> Self {
        let sentence = mistake.sentence().into_owned();
        let telling = mistake.title().map(|title| Telling { title: title.into_owned(), labels: Vec::new() });
        let help = mistake.help().map(Cow::into_owned);
        Diagnostic { telling, help, ..Diagnostic::error(mistake.code(), mistake.id(), place, sentence) }
    }
}

/// What may stand in the columns `title` and `help`: words, or perhaps words.
pub trait Words {
    /// Returns the words, if there are any.
    fn words(self) -> Option<Cow<'static, str>>;
}

impl Words for String {
    fn words(self) -> Option<Cow<'static, str>> {
        Some(Cow::Owned(self))
    }
}

impl Words for Cow<'static, str> {
    fn words(self) -> Option<Cow<'static, str>> {
        Some(self)
    }
}

impl Words for &'static str {
    fn words(self) -> Option<Cow<'static, str>> {
        Some(Cow::Borrowed(self))
    }
}

impl<T: Words> Words for Option<T> {
    fn words(self) -> Option<Cow<'static, str>> {
        self.and_then(T::words)
    }
}

/// Declares the mistakes of a crate as one table.
///
/// A row is `Kind { fact: Type, .. } = CODE "our-id" { sentence: .., title: .., help: .. }`; `title` and `help` may be left
/// out. The columns are expressions over the facts (which are bound by reference) and are computed only when asked for. A row
/// that carries the mistake of another table takes its id from there: `= CODE (inner.id()) {..}`.
#[macro_export]
macro_rules! mistakes {
    (@column) => {
        None
    };
    (@column $words:expr) => {
        $crate::Words::words($words)
    };
    (
        $(#[$meta:meta])*
        $vis:vis enum $name:ident;
        $(
            $(#[$about:meta])*
            $kind:ident $({ $($fact:ident: $ty:ty),* $(,)? })? = $code:ident $id:tt {
                sentence: $sentence:expr
                $(, title: $title:expr)?
                $(, help: $help:expr)?
                $(,)?
            }
        )*
    ) => {
        $(#[$meta])*
        $vis enum $name {
            $(
                $(#[$about])*
                $kind $({ $(#[allow(missing_docs)] $fact: $ty),* })?
            ),*
        }

        #[allow(unused_variables, unused_parens)]
        impl $crate::Mistake for $name {
            fn code(&self) -> $crate::Code {
                match self {
                    $(Self::$kind { .. } => $crate::Code::$code),*
                }
            }

            fn id(&self) -> &'static str {
                match self {
                    $(Self::$kind { $($($fact),*)? } => $id),*
                }
            }

            fn sentence(&self) -> ::std::borrow::Cow<'static, str> {
                match self {
                    $(Self::$kind { $($($fact),*)? } => ::std::borrow::Cow::from($sentence)),*
                }
            }

            fn title(&self) -> Option<::std::borrow::Cow<'static, str>> {
                match self {
                    $(Self::$kind { $($($fact),*)? } => $crate::mistakes!(@column $($title)?)),*
                }
            }

            fn help(&self) -> Option<::std::borrow::Cow<'static, str>> {
                match self {
                    $(Self::$kind { $($($fact),*)? } => $crate::mistakes!(@column $($help)?)),*
                }
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::Mistake;
    use crate::{Diagnostic, Place};

    crate::mistakes! {
        enum Sample;

        /// A door that is not open.
        Shut { door: &'static str } = NAME "door-shut" {
            sentence: format!("door {door} shut"),
            title: format!("the door `{door}` is shut"),
            help: (*door == "front").then_some("use the bell"),
        }

        Quiet = TYPE "quiet" { sentence: "nothing to say" }

        /// A mistake of another table.
        Other { inner: Box<Sample> } = NAME (inner.id()) { sentence: inner.sentence(), title: inner.title() }
    }

    #[test]
    fn a_mistake_of_another_table_keeps_its_id() {
        let other =
            Diagnostic::of(&Sample::Other { inner: Box::new(Sample::Shut { door: "back" }) }, Place::None);
        assert_eq!((other.id, other.title()), ("door-shut", "the door `back` is shut"));
    }

    #[test]
    fn a_row_has_all_its_columns() {
        let shut = Diagnostic::of(&Sample::Shut { door: "front" }, Place::None);
        assert_eq!((shut.code.kind, shut.id), ("NameError", "door-shut"));
        assert_eq!((shut.message(), shut.title()), ("door front shut", "the door `front` is shut"));
        assert_eq!(shut.help.as_deref(), Some("use the bell"));
        assert_eq!(Sample::Shut { door: "back" }.help(), None);
    }

    #[test]
    fn a_missing_column_is_the_sentence() {
        let quiet = Diagnostic::of(&Sample::Quiet, Place::None);
        assert_eq!((quiet.title(), &quiet.telling, &quiet.help), ("nothing to say", &None, &None));
    }
}
