//! Permissions: their texts, and whether what somebody was granted covers what a route asks for.
//!
//! A route asks for one permission ([`Wanted`]), such as `p_<p>_read` of one project. What was granted are *intents*: a
//! target (the tenant, a workspace, a project) and permission texts. In the text of an intent whose target is a
//! workspace or the tenant, `*` stands for every project (or workspace) of that target, now and later: nothing needs to
//! be granted again when a project is made.

/// What can be done in a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Read everything in it.
    Read,
    /// Change the project itself.
    Manage,
    /// Upload files, set key context.
    FilesWrite,
    /// Export files.
    Export,
    /// Change glossary and style.
    GlossaryWrite,
    /// Make releases, ask for approvals and licences.
    Release,
    /// Write translations.
    Translate,
    /// Review and reject translations.
    Review,
    /// Approve and revoke translations.
    Approve,
}

impl Action {
    /// Its word in permissions.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Action::Read => "read",
            Action::Manage => "manage",
            Action::FilesWrite => "files-write",
            Action::Export => "export",
            Action::GlossaryWrite => "glossary-write",
            Action::Release => "release",
            Action::Translate => "translate",
            Action::Review => "review",
            Action::Approve => "approve",
        }
    }

    /// Whether it is conferred for one locale or for all.
    #[must_use]
    pub const fn is_of_locale(self) -> bool {
        matches!(self, Action::Translate | Action::Review | Action::Approve)
    }
}

/// A permission, as templates confer it. `None` for a workspace or project: every one of the target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Permission {
    /// Over the tenant itself.
    Org(&'static str),
    /// The administration of a workspace.
    WorkspaceAdmin(Option<String>),
    /// Something in a project.
    InProject {
        /// The project's short id.
        project: Option<String>,
        /// What.
        action: Action,
        /// For which locale, where that matters; `None`: for any.
        locale: Option<String>,
    },
}

impl Permission {
    /// Its text.
    #[must_use]
    pub fn text(&self) -> String {
        let or_every = |id: &Option<String>| id.clone().unwrap_or_else(|| "*".to_owned());
        match self {
            Permission::Org(name) => (*name).to_owned(),
            Permission::WorkspaceAdmin(workspace) => format!("ws_{}_admin", or_every(workspace)),
            Permission::InProject { project, action, locale } => {
                let project = or_every(project);
                match (action.is_of_locale(), locale) {
                    (false, _) => format!("p_{project}_{}", action.name()),
                    (true, None) => format!("p_{project}_anyloc_{}", action.name()),
                    (true, Some(tag)) => format!("p_{project}_loc_{tag}_{}", action.name()),
                }
            }
        }
    }
}

/// Where an intent holds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// In the whole tenant.
    Org,
    /// In one workspace, by its short id.
    Workspace(String),
    /// In one project, by its short id.
    Project(String),
}

impl Target {
    /// Its text: `org`, `ws_<w>` or `p_<p>`.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Target::Org => "org".to_owned(),
            Target::Workspace(short_id) => format!("ws_{short_id}"),
            Target::Project(short_id) => format!("p_{short_id}"),
        }
    }

    /// The target of a text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Target> {
        match text.split_once('_') {
            None if text == "org" => Some(Target::Org),
            Some(("ws", short_id)) => Some(Target::Workspace(short_id.to_owned())),
            Some(("p", short_id)) => Some(Target::Project(short_id.to_owned())),
            _ => None,
        }
    }
}

/// Permissions at a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intent {
    /// Where.
    pub target: Target,
    /// What, as texts.
    pub permissions: Vec<String>,
}

/// A project as permissions know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProjectPlace<'a> {
    /// Its workspace's short id.
    pub workspace: &'a str,
    /// Its own.
    pub project: &'a str,
}

/// What a route asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted<'a> {
    /// A permission over the tenant.
    Org(&'static str),
    /// The administration of a workspace, by its short id.
    WorkspaceAdmin(&'a str),
    /// Something in a project that has nothing to do with a locale.
    InProject(ProjectPlace<'a>, Action),
    /// Something in a project for one locale, by its canonical tag.
    InLocale(ProjectPlace<'a>, Action, &'a str),
}

/// What a caller was granted, in all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Granted(pub Vec<Intent>);

impl Granted {
    /// Whether it covers what is wanted.
    #[must_use]
    pub fn covers(&self, wanted: Wanted<'_>) -> bool {
        self.0.iter().any(|intent| intent.covers(wanted))
    }

    /// Whether anything can be read in a project.
    #[must_use]
    pub fn may_read(&self, place: ProjectPlace<'_>) -> bool {
        self.covers(Wanted::InProject(place, Action::Read))
    }

    /// The texts that hold over the tenant itself.
    #[must_use]
    pub fn org_texts(&self) -> Vec<String> {
        let over_tenant = self.0.iter().filter(|intent| intent.target == Target::Org);
        over_tenant.flat_map(|intent| &intent.permissions).filter(|text| text.starts_with("org_")).cloned().collect()
    }

    /// All texts that hold for one project, with its short id put in the place of `*`; sorted, each once.
    #[must_use]
    pub fn texts_in(&self, place: ProjectPlace<'_>) -> Vec<String> {
        let mut texts: Vec<String> = self.0.iter().flat_map(|intent| intent.texts_in(place)).collect();
        texts.sort_unstable();
        texts.dedup();
        texts
    }
}

impl Intent {
    fn has(&self, text: &str) -> bool {
        self.permissions.iter().any(|known| known == text)
    }

    fn covers(&self, wanted: Wanted<'_>) -> bool {
        match wanted {
            Wanted::Org(name) => self.target == Target::Org && self.has(name),
            Wanted::WorkspaceAdmin(workspace) => match &self.target {
                Target::Org => self.has("ws_*_admin") || self.has(&format!("ws_{workspace}_admin")),
                Target::Workspace(own) => own == workspace && self.has(&format!("ws_{workspace}_admin")),
                Target::Project(_) => false,
            },
            Wanted::InProject(place, action) => self.has_in(place, action.name()),
            Wanted::InLocale(place, action, tag) => {
                self.has_in(place, &format!("anyloc_{}", action.name()))
                    || self.has_in(place, &format!("loc_{tag}_{}", action.name()))
            }
        }
    }

    /// Whether it holds for every project of its target that a project is among.
    fn reaches(&self, place: ProjectPlace<'_>) -> bool {
        match &self.target {
            Target::Org => true,
            Target::Workspace(own) => own == place.workspace,
            Target::Project(_) => false,
        }
    }

    fn is_own(&self, place: ProjectPlace<'_>) -> bool {
        match &self.target {
            Target::Project(own) => own == place.project,
            Target::Org | Target::Workspace(_) => self.reaches(place),
        }
    }

    fn has_in(&self, place: ProjectPlace<'_>, what: &str) -> bool {
        (self.reaches(place) && self.has(&format!("p_*_{what}")))
            || (self.is_own(place) && self.has(&format!("p_{}_{what}", place.project)))
    }

    fn texts_in(&self, place: ProjectPlace<'_>) -> Vec<String> {
        let own = format!("p_{}_", place.project);
        let shown = |text: &String| -> Option<String> {
            match text.strip_prefix("p_*_") {
                Some(rest) if self.reaches(place) => Some(format!("{own}{rest}")),
                Some(_) => None,
                None => (self.is_own(place) && text.starts_with(&own)).then(|| text.clone()),
            }
        };
        self.permissions.iter().filter_map(shown).collect()
    }
}

/// The permissions a key may carry by itself, with `*` for every workspace and project of the tenant: everything that
/// the template `org_admin` confers, which a key gets when nothing is asked for.
pub const KEY_PERMISSIONS: &[&str] = &[
    "org_members-manage",
    "org_audit-read",
    "org_billing-read",
    "ws_*_admin",
    "p_*_read",
    "p_*_manage",
    "p_*_files-write",
    "p_*_export",
    "p_*_glossary-write",
    "p_*_release",
    "p_*_anyloc_translate",
    "p_*_anyloc_review",
    "p_*_anyloc_approve",
];

/// Whether a key's permission is this service's.
#[must_use]
pub fn is_ours(text: &str) -> bool {
    KEY_PERMISSIONS.contains(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: ProjectPlace<'static> = ProjectPlace { workspace: "w1", project: "p1" };
    const BESIDE: ProjectPlace<'static> = ProjectPlace { workspace: "w1", project: "p2" };
    const ELSEWHERE: ProjectPlace<'static> = ProjectPlace { workspace: "w2", project: "p3" };

    fn granted(target: Target, permissions: &[&str]) -> Granted {
        Granted(vec![Intent { target, permissions: permissions.iter().map(|text| (*text).to_owned()).collect() }])
    }

    #[test]
    fn what_reaches_how_far() {
        let reads = |granted: &Granted| [HERE, BESIDE, ELSEWHERE].map(|place| granted.may_read(place));
        assert_eq!(reads(&granted(Target::Org, &["p_*_read"])), [true, true, true]);
        assert_eq!(reads(&granted(Target::Org, &["p_p1_read"])), [true, false, false]);
        assert_eq!(reads(&granted(Target::Workspace("w1".into()), &["p_*_read"])), [true, true, false]);
        assert_eq!(reads(&granted(Target::Project("p1".into()), &["p_p1_read"])), [true, false, false]);
        // Texts that do not belong to their target confer nothing.
        assert_eq!(reads(&granted(Target::Project("p1".into()), &["p_*_read", "p_p2_read"])), [false; 3]);
        assert_eq!(reads(&granted(Target::Workspace("w1".into()), &["p_p3_read"])), [false; 3]);
        assert_eq!(reads(&granted(Target::Org, &["p_*_manage", "org_audit-read"])), [false; 3]);
    }

    #[test]
    fn locales() {
        let translate = |granted: &Granted, tag| granted.covers(Wanted::InLocale(HERE, Action::Translate, tag));
        let german = granted(Target::Project("p1".into()), &["p_p1_loc_de_translate"]);
        assert!(translate(&german, "de"));
        assert!(!translate(&german, "de-AT") && !translate(&german, "fr"));
        assert!(!german.covers(Wanted::InLocale(HERE, Action::Review, "de")));
        let any = granted(Target::Workspace("w1".into()), &["p_*_anyloc_translate"]);
        assert!(translate(&any, "de") && translate(&any, "fr"));
    }

    #[test]
    fn workspaces_and_the_tenant() {
        let own = granted(Target::Workspace("w1".into()), &["ws_w1_admin"]);
        assert!(own.covers(Wanted::WorkspaceAdmin("w1")) && !own.covers(Wanted::WorkspaceAdmin("w2")));
        assert!(granted(Target::Org, &["ws_*_admin"]).covers(Wanted::WorkspaceAdmin("w2")));
        assert!(!granted(Target::Workspace("w1".into()), &["ws_w2_admin"]).covers(Wanted::WorkspaceAdmin("w2")));
        assert!(granted(Target::Org, &["org_audit-read"]).covers(Wanted::Org("org_audit-read")));
        assert!(!granted(Target::Project("p1".into()), &["org_audit-read"]).covers(Wanted::Org("org_audit-read")));
    }

    #[test]
    fn what_is_shown_of_a_project() {
        let mut all = granted(Target::Org, &["p_*_read", "org_audit-read", "p_p2_manage"]);
        all.0.extend(granted(Target::Project("p1".into()), &["p_p1_read", "p_p1_loc_de_review"]).0);
        assert_eq!(all.texts_in(HERE), ["p_p1_loc_de_review", "p_p1_read"]);
        assert_eq!(all.texts_in(BESIDE), ["p_p2_manage", "p_p2_read"]);
    }

    #[test]
    fn targets_have_one_text() {
        for target in [Target::Org, Target::Workspace("w1".into()), Target::Project("p1".into())] {
            assert_eq!(Target::parse(&target.text()), Some(target));
        }
        assert_eq!(Target::parse("x"), None);
    }

    #[test]
    fn a_key_may_carry_what_an_administrator_may_do() {
        let admin = crate::templates::template("org_admin").unwrap();
        let intents = admin.expand(&crate::templates::Place::default()).unwrap();
        assert_eq!(intents[0].permissions, KEY_PERMISSIONS);
    }
}
