//! The sixteen templates of grants, in one table; and what each expands to within a scope.
//!
//! | template | scopes | confers |
//! |---|---|---|
//! | `org_admin` | | `org_members-manage`, `org_audit-read`, `org_billing-read`; every workspace's `admin`; everything in every project |
//! | `org_auditor` | | `org_audit-read`; `read` in every project |
//! | `org_billing` | | `org_billing-read` |
//! | `member_manager` | | `org_members-manage` |
//! | `ws_admin` | workspace (required) | the workspace's `admin`; everything in its projects |
//! | `project_manager` | project, workspace, locale | `read`, `manage`, `files-write`, `export`, `glossary-write`, `release`, `translate`, `review` |
//! | `viewer` | project, workspace | `read` |
//! | `translator` | project, workspace, locale | `read`, `export`, `translate` |
//! | `reviewer` | project, workspace, locale | `read`, `export`, `translate`, `review` |
//! | `approver` | project, workspace, locale | `read`, `export`, `review`, `approve` |
//! | `ci` | project, workspace | `read`, `files-write`, `export` |
//! | `push` | project, workspace | `read`, `files-write` |
//! | `build` | project, workspace | `read`, `export` |
//! | `publisher` | project, workspace | `read`, `export`, `release` |
//! | `runner` | project, workspace, locale | `read`, `export`, `translate` |
//! | `terminologist` | project, workspace | `read`, `glossary-write` |
//!
//! A project scope confers in that project, a workspace scope in every project of the workspace now and later, no scope
//! in every project of the tenant. `translate`, `review` and `approve` are `loc_<tag>_…` with a locale scope, `anyloc_…`
//! without. A scope that the table does not offer is refused.

use super::permissions::{Action, Intent, Permission, Target};

/// A template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Template {
    /// Its name.
    pub name: &'static str,
    /// What it confers over the tenant itself.
    pub org: &'static [&'static str],
    /// Whether it confers the administration of workspaces.
    pub is_workspace_admin: bool,
    /// What it confers in projects.
    pub actions: &'static [Action],
    /// Which scopes it takes.
    pub scopes: Scopes,
}

/// Which scopes a template takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scopes {
    /// None: it is about the tenant.
    Nothing,
    /// A workspace, always.
    Workspace,
    /// A project or a workspace.
    Project,
    /// A project or a workspace, and a locale.
    ProjectAndLocale,
}

use Action::{Approve, Export, FilesWrite, GlossaryWrite, Manage, Read, Release, Review, Translate};

/// Everything that can be done in a project.
const EVERYTHING: &[Action] = &[Read, Manage, FilesWrite, Export, GlossaryWrite, Release, Translate, Review, Approve];

const fn of_org(name: &'static str, org: &'static [&'static str], actions: &'static [Action]) -> Template {
    Template { name, org, is_workspace_admin: false, actions, scopes: Scopes::Nothing }
}

const fn of_projects(name: &'static str, scopes: Scopes, actions: &'static [Action]) -> Template {
    Template { name, org: &[], is_workspace_admin: false, actions, scopes }
}

/// Every template, in the order of the contract.
pub const TEMPLATES: &[Template] = &[
    Template {
        is_workspace_admin: true,
        ..of_org("org_admin", &["org_members-manage", "org_audit-read", "org_billing-read"], EVERYTHING)
    },
    of_org("org_auditor", &["org_audit-read"], &[Read]),
    of_org("org_billing", &["org_billing-read"], &[]),
    of_org("member_manager", &["org_members-manage"], &[]),
    Template { is_workspace_admin: true, ..of_projects("ws_admin", Scopes::Workspace, EVERYTHING) },
    of_projects(
        "project_manager",
        Scopes::ProjectAndLocale,
        &[Read, Manage, FilesWrite, Export, GlossaryWrite, Release, Translate, Review],
    ),
    of_projects("viewer", Scopes::Project, &[Read]),
    of_projects("translator", Scopes::ProjectAndLocale, &[Read, Export, Translate]),
    of_projects("reviewer", Scopes::ProjectAndLocale, &[Read, Export, Translate, Review]),
    of_projects("approver", Scopes::ProjectAndLocale, &[Read, Export, Review, Approve]),
    of_projects("ci", Scopes::Project, &[Read, FilesWrite, Export]),
    of_projects("push", Scopes::Project, &[Read, FilesWrite]),
    of_projects("build", Scopes::Project, &[Read, Export]),
    of_projects("publisher", Scopes::Project, &[Read, Export, Release]),
    of_projects("runner", Scopes::ProjectAndLocale, &[Read, Export, Translate]),
    of_projects("terminologist", Scopes::Project, &[Read, GlossaryWrite]),
];

/// The template of a name.
#[must_use]
pub fn template(name: &str) -> Option<&'static Template> {
    TEMPLATES.iter().find(|known| known.name == name)
}

/// Where a template is to hold, by short ids and a canonical tag.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// A workspace's short id.
    pub workspace: Option<String>,
    /// A project's short id.
    pub project: Option<String>,
    /// A canonical tag.
    pub locale: Option<String>,
}

/// Why a template cannot be granted within a scope: the member of the scope at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScopeFault(pub &'static str);

impl Template {
    /// What it confers, in words.
    #[must_use]
    pub fn confers(&self) -> Vec<&'static str> {
        let admin = self.is_workspace_admin.then_some("ws_<w>_admin");
        self.org.iter().copied().chain(admin).chain(self.actions.iter().map(|action| action.name())).collect()
    }

    /// Whether it takes a scope that has, or lacks, a workspace, a project and a locale.
    ///
    /// # Errors
    /// [`ScopeFault`] for a member that the template does not take, or one that it needs.
    pub fn check_scope(&self, has_workspace: bool, has_project: bool, has_locale: bool) -> Result<(), ScopeFault> {
        let (takes_workspace, takes_project, takes_locale) = match self.scopes {
            Scopes::Nothing => (false, false, false),
            Scopes::Workspace => (true, false, false),
            Scopes::Project => (true, true, false),
            Scopes::ProjectAndLocale => (true, true, true),
        };
        let given = [
            ("workspace_id", has_workspace, takes_workspace),
            ("project_id", has_project, takes_project),
            ("locale", has_locale, takes_locale),
        ];
        if let Some((name, ..)) = given.into_iter().find(|(_, is_given, is_taken)| *is_given && !is_taken) {
            return Err(ScopeFault(name));
        }
        if self.scopes == Scopes::Workspace && !has_workspace {
            return Err(ScopeFault("workspace_id"));
        }
        Ok(())
    }

    /// What it confers within a scope. A project outweighs the workspace it lies in, which the caller has checked.
    ///
    /// # Errors
    /// [`ScopeFault`] for a scope that the template does not take, or one that it needs.
    pub fn expand(&self, place: &Place) -> Result<Vec<Intent>, ScopeFault> {
        self.check_scope(place.workspace.is_some(), place.project.is_some(), place.locale.is_some())?;
        let target = match (&place.project, &place.workspace) {
            (Some(project), _) => Target::Project(project.clone()),
            (None, Some(workspace)) => Target::Workspace(workspace.clone()),
            (None, None) => Target::Org,
        };
        let mut permissions: Vec<Permission> = self.org.iter().map(|name| Permission::Org(name)).collect();
        if self.is_workspace_admin {
            permissions.push(Permission::WorkspaceAdmin(place.workspace.clone()));
        }
        let in_project = |action: &Action| Permission::InProject {
            project: place.project.clone(),
            action: *action,
            locale: place.locale.clone().filter(|_| action.is_of_locale()),
        };
        permissions.extend(self.actions.iter().map(in_project));
        Ok(vec![Intent { target, permissions: permissions.iter().map(Permission::text).collect() }])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(name: &str, place: &Place) -> Vec<String> {
        let intents = template(name).unwrap().expand(place).unwrap();
        intents.into_iter().flat_map(|intent| intent.permissions).collect()
    }

    #[test]
    fn every_template_of_the_contract_is_there() {
        let names: Vec<&str> = TEMPLATES.iter().map(|template| template.name).collect();
        assert_eq!(
            names,
            [
                "org_admin",
                "org_auditor",
                "org_billing",
                "member_manager",
                "ws_admin",
                "project_manager",
                "viewer",
                "translator",
                "reviewer",
                "approver",
                "ci",
                "push",
                "build",
                "publisher",
                "runner",
                "terminologist"
            ]
        );
    }

    #[test]
    fn the_table_in_the_documentation_is_the_one_in_the_code() {
        let source = include_str!("templates.rs");
        for template in TEMPLATES {
            let row = source.lines().find(|line| line.starts_with(&format!("//! | `{}` |", template.name)));
            let row = row.unwrap_or_else(|| panic!("{} is not documented", template.name));
            let confers = row.rsplit_once(" | ").unwrap().1;
            for name in template.org {
                assert!(row.contains(&format!("`{name}`")), "{row}: {name}");
            }
            assert_eq!(row.contains("everything"), template.actions == EVERYTHING, "{row}");
            if template.actions != EVERYTHING {
                let mut words: Vec<&str> = confers.split('`').skip(1).step_by(2).collect();
                words.retain(|word| !word.starts_with("org_"));
                let actions: Vec<&str> = template.actions.iter().map(|action| action.name()).collect();
                assert_eq!(words, actions, "{row}");
            }
            assert_eq!(row.contains("locale"), template.scopes == Scopes::ProjectAndLocale, "{row}");
        }
    }

    #[test]
    fn scopes_narrow() {
        let project = Place { project: Some("pppppppppp".into()), ..Place::default() };
        assert_eq!(texts("viewer", &project), ["p_pppppppppp_read"]);
        assert_eq!(texts("viewer", &Place::default()), ["p_*_read"]);
        let german = Place { locale: Some("de-AT".into()), ..project };
        assert_eq!(
            texts("translator", &german),
            ["p_pppppppppp_read", "p_pppppppppp_export", "p_pppppppppp_loc_de-AT_translate"]
        );
        let workspace = Place { workspace: Some("wwwwwwwwww".into()), ..Place::default() };
        let admin = texts("ws_admin", &workspace);
        assert_eq!(admin.first().map(String::as_str), Some("ws_wwwwwwwwww_admin"));
        assert!(admin.contains(&"p_*_anyloc_approve".to_owned()), "{admin:?}");
        let org = texts("org_admin", &Place::default());
        assert_eq!(org.len(), 3 + 1 + EVERYTHING.len());
        assert!(org.contains(&"ws_*_admin".to_owned()), "{org:?}");
    }

    #[test]
    fn scopes_that_do_not_fit() {
        let fault = |name: &str, place: &Place| template(name).unwrap().expand(place).unwrap_err().0;
        let project = Place { project: Some("p".into()), ..Place::default() };
        let locale = Place { locale: Some("de".into()), ..Place::default() };
        assert_eq!(fault("org_admin", &project), "project_id");
        assert_eq!(fault("org_auditor", &locale), "locale");
        assert_eq!(fault("ws_admin", &project), "project_id");
        assert_eq!(fault("ws_admin", &Place::default()), "workspace_id");
        assert_eq!(fault("viewer", &locale), "locale");
        assert_eq!(fault("member_manager", &Place { workspace: Some("w".into()), ..Place::default() }), "workspace_id");
    }
}
