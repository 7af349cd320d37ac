//! How long the HTML page of a large report takes to write and to open in headless Chromium.
//!
//! `cargo bench -p reports --bench html [-- --pictures FOLDER]`; the table is what
//! `docs/benchmarks/html.md` keeps. With a folder, the page is also looked at: pictures of it on a
//! desktop, light and dark, and on a telephone are put there.
#![expect(
    clippy::unwrap_used,
    reason = "a bench that cannot run has nothing else to say"
)]

#[path = "../tests/chromium/mod.rs"]
mod chromium;
#[path = "../tests/sample/mod.rs"]
mod sample;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use chromium::{Browser, address};
use reports::html::render;
use reports::wire::{Report, write_json};

const ROUNDS: usize = 5;

fn main() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut arguments = std::env::args().skip_while(|argument| argument != "--pictures");
    if let Some(pictures) = arguments.nth(1) {
        return look(folder.path(), Path::new(&pictures));
    }
    println!("| report | JSON, MB | HTML, MB | written in, ms | opened in, ms |");
    println!("|---|---:|---:|---:|---:|");
    let exact = sample::many_exact(2000);
    time(
        folder.path(),
        "2,000 boundaries × 1 M elements, all bit-exact",
        &exact,
    );
    let mut some = exact;
    let all = sample::many(2000);
    for (at, boundary) in all.boundaries.iter().enumerate().skip(200).step_by(10) {
        some.boundaries[at] = boundary.clone();
    }
    some.conclude();
    time(folder.path(), "the same, one in ten diverged", &some);
    time(folder.path(), "the same, all diverged", &all);
}

/// Writes the page once and opens it [`ROUNDS`] times, each in a new browser.
fn time(folder: &Path, what: &str, report: &Report) {
    let json = folder.join("report.json");
    write_json(&json, report).unwrap();
    let begun = Instant::now();
    let text = render(report).unwrap();
    let file = folder.join("report.html");
    fs::write(&file, &text).unwrap();
    let written = begun.elapsed();
    let mut opened: Vec<Duration> = (0..ROUNDS).map(|_| open(folder, &file)).collect();
    opened.sort();
    let megabytes = |bytes: u64| bytes as f64 / 1e6;
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    println!(
        "| {what} | {:.1} | {:.1} | {:.0} | {:.0} ({:.0}–{:.0}) |",
        megabytes(fs::metadata(json).unwrap().len()),
        megabytes(text.len() as u64),
        ms(written),
        ms(opened[ROUNDS / 2]),
        ms(opened[0]),
        ms(opened[ROUNDS - 1]),
    );
}

/// From the address being asked for until the page is drawn and a frame of it was shown.
fn open(folder: &Path, file: &Path) -> Duration {
    let mut browser = Browser::start(folder);
    browser.look(1280, 900, "light");
    browser.open(&address(file));
    // The clock of a page begins where it is navigated to.
    let shown = browser.evaluate(
        "new Promise((done) => requestAnimationFrame(() => setTimeout(() => {
           const paint = performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0;
           const drawn = performance.getEntriesByName('drawn')[0].startTime;
           const loaded = performance.getEntriesByType('navigation')[0].loadEventEnd;
           done(Math.max(paint, drawn, loaded));
         })))",
    );
    assert_eq!(browser.complaints(), Vec::<String>::new());
    Duration::from_secs_f64(shown.as_f64().unwrap() / 1e3)
}

/// Pictures for the eye.
fn look(folder: &Path, pictures: &Path) {
    fs::create_dir_all(pictures).unwrap();
    let put = |name: &str, report: &Report| -> PathBuf {
        let file = folder.join(format!("{name}.html"));
        fs::write(&file, render(report).unwrap()).unwrap();
        file
    };
    let (mixed, many) = (
        put("mixed", &sample::mixed()),
        put("many", &sample::many(300)),
    );
    let mut browser = Browser::start(folder);
    let drift = format!("{}#sscp_conv_0.output", address(&mixed));
    let shots = [
        ("desktop-light", 1366, 900, "light", address(&mixed)),
        ("desktop-dark", 1366, 900, "dark", drift.clone()),
        ("desktop-many", 1366, 900, "light", address(&many)),
        ("phone-light", 390, 844, "light", drift.clone()),
        ("phone-dark", 390, 844, "dark", drift),
    ];
    for (name, width, height, scheme, address) in shots {
        browser.look(width, height, scheme);
        browser.open(&address);
        let wide = "[...document.querySelectorAll('body *')].filter((e) =>
            e.getBoundingClientRect().right > innerWidth + 1 && !e.closest('.scroll'))
            .map((e) => `${e.tagName}#${e.id}.${e.className} ${e.getBoundingClientRect().right}`)
            .slice(0, 8).join(', ')";
        println!("{name}: too wide: {}", browser.evaluate(wide));
        browser.screenshot(&pictures.join(format!("{name}.png")), width < 600);
        browser.evaluate("document.querySelector('#histogram')?.scrollIntoView()");
        browser.screenshot(&pictures.join(format!("{name}-below.png")), false);
    }
}
