//! Permissions: their texts, and whether what somebody was granted covers what a route asks for.
//!
//! A route asks for one permission ([`Wanted`]), such as `p_<p>_read` of one project. What was granted are *intents*: a
//! target (the tenant, a workspace, a project) and permission texts. In the text of an intent whose target is a
//! workspace or the tenant, `*` stands for every project (or workspace) of that target, now and later: nothing needs to
//! be granted again when a project is made.

use std::collections::{BTreeSet, HashMap};

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

/// Everything that can be done in a project.
const ACTIONS: [Action; 9] = [
    Action::Read,
    Action::Manage,
    Action::FilesWrite,
    Action::Export,
    Action::GlossaryWrite,
    Action::Release,
    Action::Translate,
    Action::Review,
    Action::Approve,
];

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

impl Wanted<'_> {
    /// Whether texts cover it that hold over the tenant itself; `has` says of each whether it does.
    #[must_use]
    pub fn is_covered_over_tenant(&self, has: impl Fn(&str) -> bool) -> bool {
        match *self {
            Wanted::Org(name) => has(name),
            Wanted::WorkspaceAdmin(workspace) => has(EVERY_WORKSPACE_ADMIN) || has(&admin_of(workspace)),
            Wanted::InProject(..) | Wanted::InLocale(..) => self.project_texts().flatten().any(|text| has(&text)),
        }
    }

    /// The texts that cover it in its project: each for every project of a target and for this one alone.
    fn project_texts(&self) -> impl Iterator<Item = [String; 2]> {
        let (project, whats) = match *self {
            Wanted::Org(_) | Wanted::WorkspaceAdmin(_) => ("", Vec::new()),
            Wanted::InProject(place, action) => (place.project, vec![action.name().to_owned()]),
            Wanted::InLocale(place, action, tag) => {
                let action = action.name();
                (place.project, vec![format!("anyloc_{action}"), format!("loc_{tag}_{action}")])
            }
        };
        whats.into_iter().map(move |what| [format!("{EVERY_PROJECT}{what}"), format!("p_{project}_{what}")])
    }
}

/// The permission to administrate a workspace.
fn admin_of(workspace: &str) -> String {
    format!("ws_{workspace}_admin")
}

/// Permission texts at one target, in order: those that begin alike lie side by side.
type Texts = BTreeSet<String>;

/// What a caller was granted, in all, by target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Granted {
    org: Texts,
    workspaces: HashMap<String, Texts>,
    projects: HashMap<String, Texts>,
}

impl FromIterator<Intent> for Granted {
    fn from_iter<I: IntoIterator<Item = Intent>>(intents: I) -> Granted {
        let mut granted = Granted::default();
        for Intent { target, permissions } in intents {
            let texts = match target {
                Target::Org => &mut granted.org,
                Target::Workspace(short_id) => granted.workspaces.entry(short_id).or_default(),
                Target::Project(short_id) => granted.projects.entry(short_id).or_default(),
            };
            texts.extend(permissions);
        }
        granted
    }
}

impl Granted {
    /// About how many bytes it takes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let all = self.workspaces.iter().chain(&self.projects).map(|(target, texts)| (target.len(), texts));
        let all = all.chain([(0, &self.org)]);
        all.map(|(target, texts)| 96 + target + texts.iter().map(|text| 48 + text.len()).sum::<usize>()).sum()
    }

    /// Whether it covers what is wanted.
    #[must_use]
    pub fn covers(&self, wanted: Wanted<'_>) -> bool {
        if wanted.is_covered_over_tenant(|text| self.org.contains(text)) {
            return true;
        }
        match wanted {
            Wanted::Org(_) => false,
            Wanted::WorkspaceAdmin(workspace) => {
                self.workspaces.get(workspace).is_some_and(|texts| texts.contains(&admin_of(workspace)))
            }
            Wanted::InProject(place, _) | Wanted::InLocale(place, ..) => {
                let (there, own) = (self.workspaces.get(place.workspace), self.projects.get(place.project));
                wanted.project_texts().any(|[of_every, of_own]| {
                    there.is_some_and(|texts| texts.contains(&of_every) || texts.contains(&of_own))
                        || own.is_some_and(|texts| texts.contains(&of_own))
                })
            }
        }
    }

    /// Whether anything can be read in a project.
    #[must_use]
    pub fn may_read(&self, place: ProjectPlace<'_>) -> bool {
        self.covers(Wanted::InProject(place, Action::Read))
    }

    /// Whether something can be done in a project for any locale at all.
    #[must_use]
    pub fn may_somewhere(&self, place: ProjectPlace<'_>, action: Action) -> bool {
        let end = format!("_{}", action.name());
        self.texts_in(place).iter().any(|text| text.ends_with(&end))
    }

    /// Whether it covers the administration of any workspace at all.
    #[must_use]
    pub fn is_some_workspaces_admin(&self) -> bool {
        let admins = |texts: &Texts| beginning(texts, "ws_").next().is_some();
        admins(&self.org) || self.workspaces.iter().any(|(short_id, texts)| texts.contains(&admin_of(short_id)))
    }

    /// Whether every permission of an intent is held at its target or above it; `workspace` is that in which a target that is
    /// a project lies (localization, S3).
    #[must_use]
    pub fn holds(&self, intent: &Intent, workspace: Option<&str>) -> bool {
        let here = |texts: Option<&Texts>, wanted: &[String]| {
            texts.is_some_and(|texts| wanted.iter().any(|text| texts.contains(text)))
        };
        intent.permissions.iter().all(|text| {
            let [wide, own] = covering(text);
            here(Some(&self.org), &wide)
                || here(Some(&self.org), &own)
                || match &intent.target {
                    Target::Org => false,
                    Target::Workspace(short_id) => here(self.workspaces.get(short_id), &own),
                    Target::Project(short_id) => {
                        let there = workspace.and_then(|workspace| self.workspaces.get(workspace));
                        here(there, &wide) || here(there, &own) || here(self.projects.get(short_id), &own)
                    }
                }
        })
    }

    /// What holds at targets that a project is among, for all of their projects.
    fn reaching(&self, place: ProjectPlace<'_>) -> impl Iterator<Item = &Texts> {
        std::iter::once(&self.org).chain(self.workspaces.get(place.workspace))
    }

    /// The texts that hold over the tenant itself.
    #[must_use]
    pub fn org_texts(&self) -> Vec<String> {
        beginning(&self.org, "org_").cloned().collect()
    }

    /// All texts that hold for one project, with its short id put in the place of `*`; sorted, each once.
    #[must_use]
    pub fn texts_in(&self, place: ProjectPlace<'_>) -> Vec<String> {
        let own = format!("p_{}_", place.project);
        let of_every = self.reaching(place).flat_map(|texts| beginning(texts, EVERY_PROJECT));
        let of_every = of_every.filter_map(|text| Some(format!("{own}{}", text.strip_prefix(EVERY_PROJECT)?)));
        let there = self.reaching(place).chain(self.projects.get(place.project));
        let of_own = there.flat_map(|texts| beginning(texts, &own)).cloned();
        let mut texts: Vec<String> = of_every.chain(of_own).collect();
        texts.sort_unstable();
        texts.dedup();
        texts
    }

    /// All texts as they were granted, `*` among them; sorted, each once.
    #[must_use]
    pub fn texts(&self) -> Vec<String> {
        let texts = std::iter::once(&self.org).chain(self.workspaces.values()).chain(self.projects.values());
        texts.flatten().cloned().collect::<Texts>().into_iter().collect()
    }
}

/// The texts that cover a text: those with `*` in the place of a workspace or project, and those with its own.
fn covering(text: &str) -> [Vec<String>; 2] {
    match parse(text) {
        Some(Parsed::Workspace(_)) => [vec![EVERY_WORKSPACE_ADMIN.to_owned()], vec![text.to_owned()]],
        Some(Parsed::Project(project, locale)) => {
            let own = format!("p_{project}_");
            let what = text.strip_prefix(&own).unwrap_or_default();
            let any = locale.and_then(|_| Some(format!("anyloc_{}", what.rsplit_once('_')?.1)));
            let whats: Vec<String> = any.into_iter().chain([what.to_owned()]).collect();
            let with = |begin: &str| whats.iter().map(|what| format!("{begin}{what}")).collect();
            [with(EVERY_PROJECT), with(&own)]
        }
        Some(Parsed::Org) | None => [Vec::new(), vec![text.to_owned()]],
    }
}

/// What begins a text that holds for every project of its target.
const EVERY_PROJECT: &str = "p_*_";
/// The text that holds for every workspace of the tenant.
const EVERY_WORKSPACE_ADMIN: &str = "ws_*_admin";

fn beginning<'t>(texts: &'t Texts, prefix: &str) -> impl Iterator<Item = &'t String> {
    let prefix = prefix.to_owned();
    texts.range(prefix.clone()..).take_while(move |text| text.starts_with(&prefix))
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

/// A permission text, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parsed<'t> {
    /// Over the tenant.
    Org,
    /// The administration of a workspace: its short id, or `*`.
    Workspace(&'t str),
    /// Something in a project: its short id, or `*`; and of which locale, where that is said.
    Project(&'t str, Option<&'t str>),
}

/// Takes a permission text apart; `None`: it is none of this service's. Whether there is such a workspace or project, and
/// whether the tag is one, is not looked at.
#[must_use]
pub fn parse(text: &str) -> Option<Parsed<'_>> {
    if text.starts_with("org_") {
        return KEY_PERMISSIONS.contains(&text).then_some(Parsed::Org);
    }
    let (kind, rest) = text.split_once('_')?;
    let (place, what) = rest.split_once('_')?;
    match kind {
        "ws" => (what == "admin").then_some(Parsed::Workspace(place)),
        "p" => {
            let action = |name: &str| ACTIONS.into_iter().find(|action| action.name() == name);
            let (action, locale) = match what.split_once('_') {
                None => (action(what).filter(|action| !action.is_of_locale()), None),
                Some(("anyloc", name)) => (action(name).filter(|action| action.is_of_locale()), None),
                Some(("loc", rest)) => {
                    let (tag, name) = rest.split_once('_')?;
                    (action(name).filter(|action| action.is_of_locale()), Some(tag))
                }
                Some(_) => (None, None),
            };
            action.map(|_| Parsed::Project(place, locale))
        }
        _ => None,
    }
}

/// Whether a key's permission is this service's.
#[must_use]
pub fn is_ours(text: &str) -> bool {
    parse(text).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: ProjectPlace<'static> = ProjectPlace { workspace: "w1", project: "p1" };
    const BESIDE: ProjectPlace<'static> = ProjectPlace { workspace: "w1", project: "p2" };
    const ELSEWHERE: ProjectPlace<'static> = ProjectPlace { workspace: "w2", project: "p3" };

    fn granted(target: Target, permissions: &[&str]) -> Granted {
        let permissions = permissions.iter().map(|text| (*text).to_owned()).collect();
        Granted::from_iter([Intent { target, permissions }])
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
    fn what_is_held_at_a_target_or_above_it() {
        let intent = |target: Target, text: &str| Intent { target, permissions: vec![text.to_owned()] };
        let (w1, p1) = (Target::Workspace("w1".into()), Target::Project("p1".into()));
        let everywhere = granted(Target::Org, &["p_*_read", "ws_*_admin", "org_audit-read", "p_*_anyloc_translate"]);
        let in_w1 = granted(w1.clone(), &["p_*_read", "ws_w1_admin", "p_*_anyloc_translate"]);
        let in_p1 = granted(p1.clone(), &["p_p1_read", "p_p1_anyloc_translate"]);
        let german = granted(p1.clone(), &["p_p1_loc_de_translate"]);
        let key = granted(Target::Org, &["p_p1_read", "ws_w1_admin"]);
        // Each with whom it is held by: everywhere, in the workspace, in the project, for German there, by a key.
        for (intent, expected) in [
            (intent(Target::Org, "p_*_read"), [true, false, false, false, false]),
            (intent(Target::Org, "ws_*_admin"), [true, false, false, false, false]),
            (intent(Target::Org, "org_audit-read"), [true, false, false, false, false]),
            (intent(Target::Org, "org_members-manage"), [false; 5]),
            (intent(Target::Org, "p_*_loc_de_translate"), [true, false, false, false, false]),
            (intent(w1.clone(), "p_*_read"), [true, true, false, false, false]),
            (intent(w1.clone(), "ws_w1_admin"), [true, true, false, false, true]),
            (intent(w1, "p_*_manage"), [false; 5]),
            (intent(p1.clone(), "p_p1_read"), [true, true, true, false, true]),
            (intent(p1.clone(), "p_p1_loc_de_translate"), [true, true, true, true, false]),
            (intent(p1.clone(), "p_p1_loc_fr_translate"), [true, true, true, false, false]),
            (intent(p1.clone(), "p_p1_anyloc_translate"), [true, true, true, false, false]),
            (intent(p1, "p_p1_anyloc_review"), [false; 5]),
            (intent(Target::Workspace("w2".into()), "p_*_read"), [true, false, false, false, false]),
            (intent(Target::Workspace("w2".into()), "ws_w2_admin"), [true, false, false, false, false]),
        ] {
            let held = [&everywhere, &in_w1, &in_p1, &german, &key].map(|granted| granted.holds(&intent, Some("w1")));
            assert_eq!(held, expected, "{intent:?}");
        }
        // A project of another workspace is above nothing that is held in this one.
        let elsewhere = intent(Target::Project("p3".into()), "p_p3_read");
        assert!(!in_w1.holds(&elsewhere, Some("w2")) && everywhere.holds(&elsewhere, Some("w2")));
        let both = Intent { target: Target::Org, permissions: vec!["p_*_read".into(), "p_*_manage".into()] };
        assert!(!everywhere.holds(&both, None), "every one of them");
    }

    #[test]
    fn texts_are_taken_apart() {
        assert!(KEY_PERMISSIONS.iter().all(|text| is_ours(text)));
        for (text, expected) in [
            ("ws_abcdefghij_admin", Parsed::Workspace("abcdefghij")),
            ("p_abcdefghij_files-write", Parsed::Project("abcdefghij", None)),
            ("p_abcdefghij_anyloc_review", Parsed::Project("abcdefghij", None)),
            ("p_*_loc_de-AT_approve", Parsed::Project("*", Some("de-AT"))),
        ] {
            assert_eq!(parse(text), Some(expected), "{text}");
        }
        for text in [
            "",
            "org_",
            "org_read",
            "ws_x",
            "ws_x_read",
            "p_x_admin",
            "p_x_translate",
            "p_x_anyloc_read",
            "p_x_loc_de",
            "p_x_loc_de_read",
            "p_x_loc_de_at_review",
            "q_x_read",
            "diagrams_render",
            "svc_run_read",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn what_is_shown_of_a_project() {
        let intent = |target, permissions: &[&str]| Intent {
            target,
            permissions: permissions.iter().map(|text| (*text).to_owned()).collect(),
        };
        let all = Granted::from_iter([
            intent(Target::Org, &["p_*_read", "org_audit-read", "p_p2_manage"]),
            intent(Target::Project("p1".into()), &["p_p1_read", "p_p1_loc_de_review"]),
        ]);
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
        let admin = crate::access::templates::template("org_admin").unwrap();
        let intents = admin.expand(&crate::access::templates::Place::default()).unwrap();
        assert_eq!(intents[0].permissions, KEY_PERMISSIONS);
    }
}
