//! Who sees every container start, whatever is killed meanwhile and whoever says what afterwards.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::runs::House;

/// Looks at the runner's directory all the time, and keeps what each container writes: an open file outlives its name.
pub struct Witness {
    /// What the containers write first, by their names.
    outputs: Arc<Mutex<BTreeMap<String, File>>>,
    is_over: Arc<AtomicBool>,
    looks: Option<JoinHandle<()>>,
}

impl Witness {
    pub fn of(house: &House) -> Witness {
        let containers = house.runner.state().join("containers");
        let (outputs, is_over) = (Arc::<Mutex<BTreeMap<String, File>>>::default(), Arc::<AtomicBool>::default());
        let (found, over) = (Arc::clone(&outputs), Arc::clone(&is_over));
        let looks = std::thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                look(&containers, &mut found.lock().unwrap());
                std::thread::sleep(Duration::from_millis(2));
            }
        });
        Witness { outputs, is_over, looks: Some(looks) }
    }

    /// How often containers of this run wrote `started`, all of its containers together.
    pub fn starts(&self, run: &str) -> usize {
        let outputs = self.outputs.lock().unwrap();
        let of_run = outputs.iter().filter(|(name, _)| name.starts_with(run));
        of_run.map(|(_, output)| text_of(output).matches("started").count()).sum()
    }
}

fn look(containers: &PathBuf, found: &mut BTreeMap<String, File>) {
    let Ok(entries) = std::fs::read_dir(containers) else { return };
    for entry in entries.flatten() {
        let Ok(name) = entry.file_name().into_string() else { continue };
        if !found.contains_key(&name) {
            let first = entry.path().join(format!("streams/stdout.{:020}", 0));
            found.extend(File::open(first).ok().map(|file| (name, file)));
        }
    }
}

fn text_of(output: &File) -> String {
    let mut bytes = vec![0; usize::try_from(output.metadata().unwrap().len()).unwrap()];
    output.read_exact_at(&mut bytes, 0).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

impl Drop for Witness {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(looks) = self.looks.take() {
            let _ = looks.join();
        }
    }
}
