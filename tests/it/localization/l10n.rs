//! `quintet l10n`: a repository's string files to and from a running appliance.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::{Value, json};

use crate::localization::files::Shelf;
use crate::localization::text;
use crate::support::appliance::{quintet, shared, stderr, stdout};

/// A repository with a map.
struct Repository {
    directory: tempfile::TempDir,
    shelf: Shelf,
    key: String,
}

impl Repository {
    fn open(files: &str) -> Repository {
        let shelf = Shelf::open(shared());
        let issued = shared().cli_json(&["key", "issue", "--tenant", &shelf.desk.tenant_id, "--template", "ci"]);
        let directory = tempfile::tempdir().unwrap();
        let map = format!(
            "url = \"http://{}\"\ntenant = \"{}\"\nproject = \"{}\"\n{files}",
            shared().address("localization"),
            shelf.desk.tenant_id,
            shelf.project_id
        );
        std::fs::write(directory.path().join(".quintet-l10n.toml"), map).unwrap();
        Repository { directory, shelf, key: text(&issued, "api_key") }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn write(&self, name: &str, content: &str) {
        std::fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        std::fs::write(self.path(name), content).unwrap();
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    fn run_in(&self, directory: &Path, arguments: &[&str]) -> Output {
        let mut command = quintet();
        command.current_dir(directory).env("L10N_KEY", &self.key).arg("l10n").args(arguments);
        command.output().unwrap()
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.run_in(self.directory.path(), arguments)
    }

    /// With `--json`; what it says, if it ends with this code.
    #[track_caller]
    fn says(&self, arguments: &[&str], code: i32) -> Value {
        let output = self.run(&[arguments, &["--json"]].concat());
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}{}", stdout(&output), stderr(&output));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// It ends with this code and says this.
    #[track_caller]
    fn fails(&self, arguments: &[&str], code: i32, told: &str) {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(told), "{arguments:?}: {}", stderr(&output));
    }
}

const WEB: &str = "[[files]]\nsource = \"web/en/**/*.json\"\ntarget = \"web/{locale}/**/*.json\"\nlocales = [\"de\", \"pt-BR\"]\n\
    fallback = \"omit\"\n[names]\n\"pt-BR\" = \"pt_BR\"\n";

#[test]
fn sources_go_there_and_translations_come_back() {
    let repository = Repository::open(WEB);
    repository.write("web/en/shop.json", "{\"pay\": \"Pay\", \"cancel\": \"Cancel\"}\n");
    repository.write("web/en/deep/er/mail.json", r#"{"subject": "Hello", "n_one": "one", "n_other": "some"}"#);
    repository.write("web/fr/shop.json", "not the map's");
    // A trial changes nothing and says what would be.
    let trial = repository.says(&["push", "--dry-run"], 5);
    assert_eq!(trial["dry_run"], true);
    let item = |answer: &Value, path: &str| {
        let items = answer["items"].as_array().unwrap().clone();
        items.into_iter().find(|item| item["path"] == path).unwrap_or_else(|| panic!("{answer}"))
    };
    let expected =
        json!({"path": "web/en/shop.json", "result": "new", "version": 0, "added": 2, "changed": 0, "obsoleted": 0});
    assert_eq!(item(&trial, "web/en/shop.json"), expected);
    assert!(repository.shelf.keys().is_empty());
    let pushed = repository.says(&["push"], 0);
    assert_eq!(
        (pushed["items"].as_array().unwrap().len(), item(&pushed, "web/en/deep/er/mail.json")["version"].clone()),
        (2, json!(1))
    );
    assert_eq!(repository.shelf.keys().len(), 4);
    let again = repository.says(&["push", "--dry-run"], 0);
    assert_eq!(item(&again, "web/en/shop.json")["result"], "unchanged");
    // What differs, and how.
    repository.write("web/en/shop.json", r#"{"pay": "Pay now", "ship": "Ship"}"#);
    let trial = repository.says(&["push", "--dry-run"], 5);
    let expected = json!({"path": "web/en/shop.json", "result": "changed", "version": 1, "added": 1, "changed": 1, "obsoleted": 1});
    assert_eq!(item(&trial, "web/en/shop.json"), expected);
    let output = repository.run(&["push"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let told = stdout(&output);
    assert!(told.contains("1 added, 1 changed, 1 obsoleted"), "{told}");
    assert_eq!(repository.shelf.keys()["pay"]["source"], "Pay now");

    // The other way.
    let pay = repository.shelf.key_id("pay");
    repository.shelf.translate(&pay, "de", &json!({"text": "Jetzt zahlen"})).expect(201);
    let trial = repository.says(&["pull", "--dry-run"], 5);
    assert_eq!(trial["items"].as_array().unwrap().len(), 4);
    assert_eq!(item(&trial, "web/pt_BR/deep/er/mail.json")["locale"], "pt-BR");
    assert!(!repository.path("web/de").exists());
    repository.says(&["pull"], 0);
    // A member that is left out goes with one comma, and no other byte does.
    assert_eq!(repository.read("web/de/shop.json"), r#"{"pay": "Jetzt zahlen" }"#);
    assert_eq!(repository.read("web/pt_BR/shop.json"), "{ }");
    assert_eq!(repository.read("web/fr/shop.json"), "not the map's");
    let written = |name: &str| std::fs::metadata(repository.path(name)).unwrap().modified().unwrap();
    let before = (written("web/de/shop.json"), written("web/pt_BR/shop.json"));
    assert_eq!(repository.says(&["pull", "--dry-run"], 0)["items"][0]["result"], "unchanged");
    repository.shelf.translate(&pay, "de", &json!({"text": "Zahlen"})).expect(200);
    let pulled = repository.says(&["pull"], 0);
    assert_eq!(item(&pulled, "web/de/shop.json")["result"], "changed");
    assert_eq!(repository.read("web/de/shop.json"), r#"{"pay": "Zahlen" }"#);
    assert_ne!(written("web/de/shop.json"), before.0);
    assert_eq!(written("web/pt_BR/shop.json"), before.1, "what did not change is not written");
    let left: Vec<_> =
        std::fs::read_dir(repository.path("web/de")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "a file and a folder: {left:?}");

    // In step, and out of step again; from a folder below, too.
    let status = repository.says(&["status"], 0);
    assert_eq!((status["sources"].as_array().unwrap().len(), status["targets"].as_array().unwrap().len()), (2, 4));
    std::fs::remove_file(repository.path("web/en/deep/er/mail.json")).unwrap();
    let status = repository.says(&["status"], 0);
    assert_eq!(status["sources"][1]["result"], "only_there", "nothing is deleted there");
    repository.write("web/en/shop.json", "{}");
    let output = repository.run_in(&repository.path("web/en"), &["status", "--dry-run"]);
    assert_eq!(output.status.code(), Some(5), "{}", stderr(&output));
    assert!(stdout(&output).contains("0 added, 0 changed, 2 obsoleted"), "{}", stdout(&output));
}

#[test]
fn rails_and_properties_have_their_ways() {
    let files = "[[files]]\nsource = \"config/en.yml\"\ntarget = \"config/{locale}.yml\"\nprofile = \"rails\"\nlocales = [\"de\"]\n\
        [[files]]\nsource = \"*.properties\"\ntarget = \"*_{locale}.properties\"\nlocales = [\"de\"]\nstate = \"approved\"\n";
    let repository = Repository::open(files);
    repository.write("config/en.yml", "en:\n  pay: Pay\n");
    repository.write("messages.properties", "pay=Pay\n");
    repository.says(&["push"], 0);
    for key in repository.shelf.desk.get(&repository.shelf.path("/keys")).expect(200)["keys"].as_array().unwrap() {
        repository.shelf.translate(&text(key, "id"), "de", &json!({"text": "Zahlen"})).expect(201);
    }
    repository.says(&["pull"], 0);
    assert_eq!(repository.read("config/de.yml"), "de:\n  pay: Zahlen\n");
    assert_eq!(repository.read("messages_de.properties"), "pay=Pay\n", "a draft is not approved");
    // What was pulled matches the pattern of the sources: it would go there as one, and is told apart by its place.
    let trial = repository.says(&["push", "--dry-run"], 5);
    assert_eq!(trial["items"][2]["path"], "messages_de.properties");
    repository.write("config/en.yml", "fr:\n  pay: Payer\n");
    std::fs::remove_file(repository.path("messages_de.properties")).unwrap();
    repository.fails(&["push"], 1, "config/en.yml: key_invalid at line 1, column 1");
    repository.write("config/en.yml", "en:\n  pay: [");
    repository.write("messages.properties", "pay=Pay more\n");
    repository.fails(&["push"], 1, "config/en.yml: malformed at line");
    let keys = repository.shelf.desk.get(&repository.shelf.path("/keys")).expect(200);
    assert!(!keys.to_string().contains("Pay more"), "one that is malformed stops all");
}

#[test]
fn nothing_is_written_outside() {
    // Anybody who may upload names paths; the map takes all of them.
    let repository =
        Repository::open("[[files]]\nsource = \"**/*.json\"\ntarget = \"**/*.json.{locale}\"\nlocales = [\"de\"]\n");
    repository.shelf.json(".git/hooks.json", &json!({"a": "A"}));
    repository.fails(&["pull"], 1, "is none to write to: .git/hooks.json.de");
    assert!(!repository.path(".git").exists());
    let repository =
        Repository::open("[[files]]\nsource = \"in/*.json\"\ntarget = \"out/*.{locale}.json\"\nlocales = [\"de\"]\n");
    repository.shelf.json("in/a.json", &json!({"a": "A"}));
    let elsewhere = tempfile::tempdir().unwrap();
    symlink(elsewhere.path(), repository.path("out")).unwrap();
    repository.fails(&["pull"], 1, "symbolic link");
    assert_eq!(std::fs::read_dir(elsewhere.path()).unwrap().count(), 0);
    std::fs::remove_file(repository.path("out")).unwrap();
    std::fs::create_dir(repository.path("out")).unwrap();
    symlink(elsewhere.path().join("x"), repository.path("out/a.de.json")).unwrap();
    repository.fails(&["pull"], 1, "symbolic link");
    assert_eq!(std::fs::read_dir(elsewhere.path()).unwrap().count(), 0);
    // Two files with one target, or a target that is a source.
    let repository = Repository::open(
        "[[files]]\nsource = \"a.json\"\ntarget = \"{locale}.json\"\nlocales = [\"de\"]\n\
        [[files]]\nsource = \"b.json\"\ntarget = \"{locale}.json\"\nlocales = [\"de\"]\n",
    );
    repository.shelf.json("a.json", &json!({"a": "A"}));
    repository.shelf.json("b.json", &json!({"b": "B"}));
    repository.fails(&["pull"], 2, "de.json would be written for");
    assert!(!repository.path("de.json").exists());
}

#[test]
fn what_is_wrong_is_told_with_what_to_do() {
    let repository = Repository::open(WEB);
    repository.fails(&["push"], 1, "no file here matches");
    repository.write("web/en/a.json", r#"{"a": "A"}"#);
    repository.fails(&["push", "--url", "http://1.1.1.1"], 1, "in the clear");
    repository.fails(&["push", "--url", "ftp://x"], 2, "the url cannot be used");
    repository.fails(&["push", "--project", "x"], 2, "cannot be used");
    repository.fails(&["push", "--key", "rak_wrong"], 1, "unauthenticated");
    repository.fails(&["push", "--project", "01890000-0000-7000-8000-000000000000"], 1, "not_found");
    repository.fails(&["push", "--map", "nowhere.toml"], 2, "nowhere.toml");
    repository.fails(&["push", "--key", "file:nowhere"], 2, "nowhere");
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    repository.write(".quintet-l10n.toml", "colour = 1");
    repository.fails(&["status"], 2, "unknown field `colour`");
    repository.write(".quintet-l10n.toml", &format!("url = \"http://127.0.0.1:{port}\"\n{WEB}"));
    repository.fails(&["status"], 2, "--tenant");
    let elsewhere = tempfile::tempdir().unwrap();
    let output = repository.run_in(elsewhere.path(), &["status"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("there is no .quintet-l10n.toml"), "{}", stderr(&output));
    let mut command = quintet();
    let output = command.current_dir(repository.directory.path()).args(["l10n", "push"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("L10N_KEY"), "{}", stderr(&output));
    let viewer =
        shared().cli_json(&["key", "issue", "--tenant", &repository.shelf.desk.tenant_id, "--template", "viewer"]);
    let repository = Repository { key: text(&viewer, "api_key"), ..Repository::open(WEB) };
    repository.write("web/en/a.json", "{}");
    repository.fails(&["push"], 1, "");
    // A key in a file; the secret is in no message.
    repository.write("key", &format!("{}\n", repository.key));
    let output = repository.run(&["push", "--key", "file:key"]);
    assert!(!stderr(&output).contains(&repository.key), "{}", stderr(&output));
}
