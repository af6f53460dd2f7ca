//! Pages that say why there is nothing else. A handler answers with one, and the guard writes it in the visitor's language.

use axum::response::{IntoResponse, Response};
use http::StatusCode;
use quintet_storage::Failure;

use crate::admin::task::TaskError;

/// Why there is nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The request is for a host that is none of ours.
    StrangeHost,
    /// The request is not from a page of ours.
    ForeignOrigin,
    /// There is no such page, or it is somebody else's.
    NotFound,
    /// The page takes no such request.
    Method,
    /// The form makes no sense.
    Malformed,
    /// The form is too large.
    TooLarge,
    /// The visitor's tenant is suspended.
    Suspended,
    /// Too many ask for the same at once.
    Busy,
    /// The store could not do it now.
    Unavailable,
}

impl Notice {
    /// All of them.
    #[cfg(test)]
    pub const ALL: [Notice; 9] = [
        Notice::StrangeHost,
        Notice::ForeignOrigin,
        Notice::NotFound,
        Notice::Method,
        Notice::Malformed,
        Notice::TooLarge,
        Notice::Suspended,
        Notice::Busy,
        Notice::Unavailable,
    ];

    /// The status that it is answered with.
    pub const fn status(self) -> StatusCode {
        match self {
            Notice::StrangeHost | Notice::ForeignOrigin | Notice::Suspended => StatusCode::FORBIDDEN,
            Notice::NotFound => StatusCode::NOT_FOUND,
            Notice::Method => StatusCode::METHOD_NOT_ALLOWED,
            Notice::Malformed => StatusCode::BAD_REQUEST,
            Notice::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Notice::Busy | Notice::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// The keys of its heading and of its text.
    pub const fn texts(self) -> (&'static str, &'static str) {
        match self {
            Notice::StrangeHost => ("notice.host", "notice.host.text"),
            Notice::ForeignOrigin => ("notice.origin", "notice.origin.text"),
            Notice::NotFound => ("notice.not_found", "notice.not_found.text"),
            Notice::Method => ("notice.method", "notice.method.text"),
            Notice::Malformed => ("notice.malformed", "notice.malformed.text"),
            Notice::TooLarge => ("notice.too_large", "notice.too_large.text"),
            Notice::Suspended => ("notice.suspended", "notice.suspended.text"),
            Notice::Busy => ("notice.busy", "notice.busy.text"),
            Notice::Unavailable => ("notice.unavailable", "notice.unavailable.text"),
        }
    }

    /// Whether the way back leads to a page of ours.
    pub const fn leads_home(self) -> bool {
        !matches!(self, Notice::StrangeHost | Notice::Suspended)
    }
}

impl IntoResponse for Notice {
    fn into_response(self) -> Response {
        let mut answer = self.status().into_response();
        answer.extensions_mut().insert(self);
        answer
    }
}

impl From<Failure> for Notice {
    fn from(failure: Failure) -> Notice {
        tracing::warn!(%failure, "a page of the console could not be made");
        Notice::Unavailable
    }
}

impl From<TaskError> for Notice {
    fn from(error: TaskError) -> Notice {
        match error {
            TaskError::NotFound(_) | TaskError::NotThere(..) => Notice::NotFound,
            TaskError::Unusable(_) | TaskError::Conflict(_) => Notice::Malformed,
            TaskError::Store(failure) => failure.into(),
            TaskError::Failed(reason) => {
                tracing::error!(reason, "a page of the console could not be made");
                Notice::Unavailable
            }
        }
    }
}
