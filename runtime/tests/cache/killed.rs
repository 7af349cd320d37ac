//! Processes that share a cache and are killed at any time.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Stdio},
    thread::sleep,
    time::{Duration, Instant, SystemTime},
};

use runtime::{Key, KeyHasher, Store};

use crate::process;

const KIND: &str = "reference";
/// Few, so that processes meet at the same ones.
const KEYS: u64 = 12;
const PROCESSES: usize = 8;
const KILLS: usize = 200;
/// For which a process goes on by itself.
const LONGEST: Duration = Duration::from_secs(120);

/// A sequence that looks random (xorshift64).
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Random {
        Random(seed | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: u64) -> u64 {
        (self.next() >> 11) % end
    }
}

fn key(index: u64) -> Key {
    KeyHasher::new()
        .part("index", &index.to_le_bytes())
        .finish()
}

/// A content that says which it is: its seed, then what follows from that, up to 1 MiB. Contents
/// of one key differ, so that a mixture of two would be noticed.
fn content(index: u64, version: u64) -> Vec<u8> {
    let seed = index << 32 | version;
    let mut random = Random::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let words = random.below(1 << 17);
    let mut bytes = seed.to_le_bytes().to_vec();
    bytes.extend((0..words).flat_map(|_| random.next().to_le_bytes()));
    bytes
}

/// Gets and puts entries; each that is got must be one that somebody put under that key.
fn round(store: &Store, random: &mut Random) {
    let index = random.below(KEYS);
    if let Some(entry) = store.get(KIND, &key(index)).unwrap() {
        let (seed, _) = entry.split_first_chunk::<8>().unwrap();
        let seed = u64::from_le_bytes(*seed);
        assert_eq!(seed >> 32, index);
        assert!(*entry == content(index, seed & 0xffff_ffff));
    }
    let bytes = content(index, random.below(1 << 32));
    store.put(KIND, &key(index), &bytes).unwrap();
}

/// Also what the other test starts: as a process of its own it goes on until it is killed, or a file
/// says that it is enough.
#[test]
fn one_process_reads_what_it_wrote() {
    let own = tempfile::tempdir().unwrap();
    let given = process::given();
    let folder = given.clone().unwrap_or_else(|| own.path().to_owned());
    let process = u64::from(std::process::id());
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let mut random = Random::new(process << 32 ^ u64::from(now.unwrap().subsec_nanos()));
    let last = last(&folder);
    let begun = Instant::now();
    for done in 0_u64.. {
        assert!(begun.elapsed() < LONGEST, "nobody ended this process");
        // Opened anew each time: what others left is swept while they write.
        round(&Store::open(folder.join("cache")).unwrap(), &mut random);
        if done >= 20 && (given.is_none() || last.exists()) {
            break;
        }
    }
}

/// The file that tells the processes to come to an end.
fn last(folder: &Path) -> PathBuf {
    folder.join("last")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .flat_map(|path| {
            if path.is_dir() {
                files(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}

/// Processes that end with the test, also where it fails.
struct Running(Vec<Child>);

impl Drop for Running {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[test]
fn processes_that_are_killed_leave_whole_entries_and_no_litter() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let start = || -> Child {
        process::another(
            &[],
            "killed::one_process_reads_what_it_wrote",
            folder.path(),
        )
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
    };
    let cache = folder.path().join("cache");
    let mut random = Random::new(7);
    let mut running = Running((0..PROCESSES).map(|_| start()).collect());
    let mut most = 0;
    for _ in 0..KILLS {
        sleep(Duration::from_millis(random.below(40)));
        let which = usize::try_from(random.below(PROCESSES as u64)).unwrap();
        let victim = &mut running.0[which];
        // One that has ended by itself has failed.
        assert!(victim.try_wait().unwrap().is_none());
        victim.kill().unwrap();
        victim.wait().unwrap();
        *victim = start();
        most = most.max(files(&cache.join("partial")).len());
    }
    // Those that live, and as many again that nobody has swept yet, are not many.
    assert!(most > 0, "nobody was killed while writing");
    assert!(most <= 4 * PROCESSES, "{most} partial files");

    fs::write(last(folder.path()), "").unwrap();
    let begun = Instant::now();
    for child in &mut running.0 {
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            assert!(begun.elapsed() < LONGEST / 2, "a process hangs");
            sleep(Duration::from_millis(5));
        };
        assert!(status.success(), "{status}");
    }
    // Not only is none read that is torn: none is there.
    let store = Store::open(&cache).unwrap();
    assert!(files(&cache.join("partial")).is_empty());
    let whole = (0..KEYS).filter(|&index| store.get(KIND, &key(index)).unwrap().is_some());
    assert_eq!(whole.count(), files(&cache.join(KIND)).len());
}
