//! What becomes of arguments that a tool does not call, or write, as its route does.

/// An argument of a tool's own.
#[derive(Clone, Copy, Debug)]
pub struct Argument {
    /// What the tool calls it.
    pub(super) name: &'static str,
    pub(super) becomes: Becomes,
    /// What it means; empty: what the route says.
    pub(super) about: &'static str,
}

/// What it is to the route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Becomes {
    /// A field of the request's header.
    Field(&'static str),
    /// The segment or the parameter of this name.
    Called(&'static str),
    /// A member that is a list; a text is a list of one.
    List,
}

impl Argument {
    /// A text that becomes a field of the request's header, its name in lower case.
    #[must_use]
    pub const fn field(name: &'static str, field: &'static str, about: &'static str) -> Argument {
        Argument { name, becomes: Becomes::Field(field), about }
    }

    /// What the route has under another name, in its path or its query.
    #[must_use]
    pub const fn called(name: &'static str, routes_name: &'static str, about: &'static str) -> Argument {
        Argument { name, becomes: Becomes::Called(routes_name), about }
    }

    /// A member of the body that is a list, for which a text may stand.
    #[must_use]
    pub const fn list(name: &'static str) -> Argument {
        Argument { name, becomes: Becomes::List, about: "" }
    }
}

/// How a tool's arguments differ from what its route takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Form {
    pub(super) arguments: &'static [Argument],
    /// What of the route the tool does not take.
    pub(super) left_out: &'static [&'static str],
    /// The segment that is whoever asks where no argument says it; empty: none.
    pub(super) own: &'static str,
}

impl Form {
    /// They do not differ.
    pub(super) const PLAIN: Form = Form { arguments: &[], left_out: &[], own: "" };

    /// The argument that says what the route calls so; `None`: none does.
    pub(super) fn argument_for(&self, routes_name: &'static str) -> Option<&'static str> {
        let renamed = self.arguments.iter().find(|argument| argument.becomes == Becomes::Called(routes_name));
        match renamed {
            Some(argument) => Some(argument.name),
            None if self.own == routes_name || self.left_out.contains(&routes_name) => None,
            None => Some(routes_name),
        }
    }

    /// Whether the route knows something of this name that the tool does not take so.
    pub(super) fn is_strange(&self, name: &str) -> bool {
        let is_renamed = |argument: &Argument| matches!(argument.becomes, Becomes::Called(known) if known == name);
        self.left_out.contains(&name) || self.arguments.iter().any(is_renamed)
    }

    /// The argument of its own that has this name.
    pub(super) fn own_argument(&self, name: &str) -> Option<&'static Argument> {
        self.arguments.iter().find(|argument| argument.name == name)
    }
}
