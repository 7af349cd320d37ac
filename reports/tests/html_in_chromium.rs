//! The HTML page in a browser: what it shows, that it is quiet, and that it asks nobody.
#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as tests do")]

mod chromium;
mod sample;

use std::fs;
use std::path::{Path, PathBuf};

use chromium::{Browser, address};
use reports::Grid;
use reports::html::render;
use reports::verdict::Verdict;
use reports::wire::Report;
use sample::{HOSTILE, boundary, exact, hostile, many, mixed, outcome, report};

struct Page {
    browser: Browser,
    address: String,
    _folder: tempfile::TempDir,
}

/// Where a browser out of a snap may read, too.
fn place() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}

fn page(report: &Report) -> Page {
    let folder = tempfile::TempDir::new_in(place()).unwrap();
    let file: PathBuf = folder.path().join("report.html");
    fs::write(&file, render(report).unwrap()).unwrap();
    let address = address(&file);
    let mut browser = Browser::start(place());
    browser.look(1280, 900, "light");
    browser.open(&address);
    Page {
        browser,
        address,
        _folder: folder,
    }
}

impl Page {
    /// The cell of a line of the table of measurements.
    fn metric(&mut self, title: &str, side: usize) -> String {
        self.browser.text(&format!(
            "#metrics tr[data-metric='{title}'] td:nth-child({})",
            side + 2
        ))
    }

    /// Asserts that nothing was asked for but the page, and nothing said.
    fn is_quiet(&mut self) {
        assert_eq!(self.browser.complaints(), Vec::<String>::new());
        let asked = self.browser.requests();
        let foreign: Vec<_> = asked
            .iter()
            .filter(|url| !url.starts_with(&self.address))
            .collect();
        // The icon is data of the page.
        assert!(foreign.iter().all(|url| *url == "data:,"), "{foreign:?}");
    }
}

#[test]
fn the_page_shows_the_numbers_of_the_report() {
    let report = mixed();
    let mut page = page(&report);
    let browser = &mut page.browser;
    assert_eq!(browser.text("#verdict"), "✗ diverged");
    assert_eq!(
        browser.text("#counts"),
        "1 of 7 boundaries bit-exact, 1 vacuous, 1 inconclusive, 4 diverged"
    );
    assert_eq!(browser.text("#code"), "1");
    assert_eq!(browser.text("#forms"), "production = tapped = chained");
    assert_eq!(
        browser.text("#first-local"),
        "sscp_conv_0.norm.cumulative_sum"
    );
    assert_eq!(browser.text("#command"), "qualify run --stage sscp_conv_1");
    let print = browser.text("#fingerprint");
    assert!(
        print.contains("mlx.version0.32.2") && print.contains("host.glibc2.36"),
        "{print}"
    );
    // The map: a cell for each boundary, in graph order and by stage.
    assert_eq!(browser.count("#stages .cells a"), 7);
    assert_eq!(browser.count("#stages .stage"), 3);
    let marks = browser.evaluate(
        "[...document.querySelectorAll('#stages .cells a')].map((a) => a.textContent).join('')",
    );
    assert_eq!(marks, "✓∅✗✗↳?✗");
    // The list.
    let row = |at: usize, column: usize| format!("#rows tr:nth-child({at}) td:nth-child({column})");
    assert_eq!(browser.count("#rows tr"), 7);
    assert_eq!(browser.text(&row(5, 4)), "0");
    assert_eq!(browser.text(&row(5, 5)), "13,834");
    assert_eq!(browser.text(&row(5, 6)), "131,072");
    assert_eq!(browser.text(&row(4, 6)), "off grid");
    // The detail is that of the first divergence.
    assert_eq!(browser.text("#title"), "sscp_conv_0.norm.cumulative_sum");
    let detail = browser.text("#detail");
    assert!(detail.contains("the compiler or runtime did not honour the graph"));
    assert!(detail.contains("from the reference in 0, from the candidate in 3 elements"));
    assert!(
        detail.contains("policy, local – demands bit_exact by its entry sscp_conv_0.**; broken: 3")
    );
    let facts = browser.text("#facts");
    assert!(
        facts.contains("each side run 3 times: the candidate differs from itself"),
        "{facts}"
    );
    assert_eq!(page.metric("differing", 0), "3 of 549 (0.546 %)");
    assert_eq!(page.metric("max F32 ULP", 1), "1");
    assert_eq!(page.metric("max abs", 0), "1.562e-2");
    let browser = &mut page.browser;
    assert!(
        browser
            .text("#share")
            .contains("100 % of the error in the whole model is made here")
    );
    assert_eq!(
        browser.text("#truth tr[data-side=candidate] td:nth-child(2)"),
        "1.562e-2"
    );
    assert!(
        browser
            .text("#truth")
            .contains("condition among the worst elements: 12.5")
    );
    let worst = browser.text("#worst tbody[data-element='0,7,0,0']");
    assert!(
        worst.contains("141237.16") && worst.contains("0x4809ed4a"),
        "{worst}"
    );
    assert_eq!(browser.count("#worst tbody"), 2 * 3);
    page.is_quiet();
}

#[test]
fn nearly_all_is_not_all() {
    let a = vec![1.0; 20_000];
    let mut b = vec![2.0; 20_000];
    b[7] = 1.0;
    let off = outcome(&a, &b, &[20_000], Grid::F32);
    let sides = [&off; 2];
    let one = boundary("x", &[20_000], Grid::F32, sides, None, Verdict::BitExact);
    let mut page = page(&report(vec![one]));
    assert_eq!(page.metric("differing", 0), "19,999 of 20,000 (> 99.9 %)");
    page.is_quiet();
}

#[test]
fn histogram_and_heat_map_draw_what_was_measured() {
    let report = mixed();
    let b = report.boundary("sscp_conv_0.output").unwrap();
    let mut page = page(&report);
    let address = format!("{}#{}", page.address, b.name);
    let browser = &mut page.browser;
    browser.open(&address);
    assert_eq!(browser.text("#title"), b.name);
    // A bar for each bin of the one side that differs, with its count.
    let drawn = browser.evaluate(
        "Object.fromEntries([...document.querySelectorAll('#histogram rect')]
           .map((r) => [r.dataset.bin, Number(r.dataset.count)]))",
    );
    let bins = &b.inherited.ulp.as_ref().unwrap().histogram;
    assert_eq!(drawn, serde_json::to_value(bins).unwrap());
    let drawn = browser.evaluate(
        "[...document.querySelectorAll('#heat rect')].map((r) => r.dataset.digit).join('')",
    );
    let heat = b.inherited.heat.as_ref().unwrap();
    assert_eq!(drawn.as_str().unwrap(), heat.cells);
    assert_eq!((heat.rows, heat.columns), (31, 32));
    let last = browser.text("#heat rect:last-of-type title");
    assert_eq!(
        last,
        "axis 1: 540–548, axis 2: 124–127: at most 131,072–262,143 F32 ULP"
    );
    assert!(browser.text("#share").contains("0 % of the error"));
    page.is_quiet();
}

#[test]
fn names_are_text_whatever_they_are() {
    let report = hostile();
    let mut page = page(&report);
    for (at, _) in HOSTILE.iter().enumerate() {
        let address = page.address.clone();
        let browser = &mut page.browser;
        // By the link that the page makes itself.
        let link =
            format!("document.querySelectorAll('#stages .cells a')[{at}].getAttribute('href')");
        let fragment = browser.evaluate(&link);
        browser.open(&format!("{address}{}", fragment.as_str().unwrap()));
        let shown = browser.text("#title");
        let name = HOSTILE[at];
        let seen = |c: char| !c.is_control() && !('\u{200b}'..='\u{202e}').contains(&c);
        assert!(shown.chars().all(seen), "{shown:?}");
        let plain: String = name.chars().filter(|&c| seen(c)).collect();
        let without = |text: &str| {
            let mut out = String::new();
            let mut rest = text;
            while let Some(from) = rest.find("\\u{") {
                out.push_str(&rest[..from]);
                rest = rest[from..].split_once('}').unwrap().1;
            }
            out + rest
        };
        assert_eq!(without(&shown), plain);
        assert_eq!(browser.count("script"), 3);
        page.is_quiet();
    }
}

#[test]
fn the_list_grows_as_it_is_looked_at_and_filters_by_name_and_verdict() {
    let mut page = page(&many(500));
    let browser = &mut page.browser;
    assert_eq!(browser.count("#stages .cells a"), 500);
    let drawn = browser.count("#rows tr");
    assert!(drawn < 500, "{drawn}");
    browser.evaluate("document.querySelector('#end').scrollIntoView(); new Promise((done) => setTimeout(done, 300))");
    assert!(browser.count("#rows tr") > drawn);
    let find = |text: &str| {
        format!(
            "{{ const box = document.querySelector('#find'); box.value = '{text}';
               box.dispatchEvent(new Event('input')); }}"
        )
    };
    browser.evaluate(&find("BOUNDARY_49"));
    assert_eq!(browser.text("#shown"), "11 of 500");
    assert_eq!(browser.count("#rows tr"), 11);
    assert_eq!(browser.count("#stages .cells a:not(.off)"), 11);
    browser.evaluate("document.querySelector('[data-kind=diverged]').click()");
    assert_eq!(browser.text("#shown"), "0 of 500");
    browser.evaluate("document.querySelector('[data-kind=diverged]').click()");
    browser.evaluate(&find(""));
    assert_eq!(browser.text("#shown"), "500");
    page.is_quiet();
}

#[test]
fn the_keyboard_alone_opens_a_boundary() {
    let mut page = page(&mixed());
    let browser = &mut page.browser;
    browser.evaluate("document.querySelector('#stages .cells a').focus()");
    browser.press("ArrowRight");
    browser.press("ArrowDown");
    browser.press("Enter");
    browser.until("document.querySelector('#title').textContent === 'sscp_conv_1.convolution'");
    assert_eq!(browser.text("#title"), "sscp_conv_1.convolution");
    assert_eq!(
        browser.evaluate("location.hash"),
        "#sscp_conv_1.convolution"
    );
    assert_eq!(page.metric("verdict", 0), "inconclusive");
    assert_eq!(page.metric("differing", 0), "–");
    let browser = &mut page.browser;
    assert!(
        browser
            .text("#detail")
            .contains("the candidate returned 3 of 4 results")
    );
    assert_eq!(browser.count("#detail svg"), 0);
    page.is_quiet();
}

#[test]
fn nothing_is_wider_than_a_phone() {
    let mut page = page(&mixed());
    let address = format!("{}#sscp_conv_0.output", page.address);
    let browser = &mut page.browser;
    for scheme in ["light", "dark"] {
        browser.look(360, 740, scheme);
        browser.open(&address);
        assert_eq!(
            browser.evaluate("document.documentElement.scrollWidth"),
            360
        );
    }
    let dark = browser.evaluate("getComputedStyle(document.body).backgroundColor");
    browser.look(360, 740, "light");
    assert_ne!(
        browser.evaluate("getComputedStyle(document.body).backgroundColor"),
        dark
    );
    page.is_quiet();
}

#[test]
fn a_run_without_boundaries_and_an_exact_one_have_pages() {
    let mut report = exact();
    let mut shown = page(&report);
    assert_eq!(shown.browser.text("#verdict"), "✓ bit-exact");
    assert_eq!(shown.browser.count("#detail svg"), 0);
    shown.is_quiet();
    report.boundaries.clear();
    report.conclude();
    let mut shown = page(&report);
    assert_eq!(shown.browser.text("#detail"), "No boundary was judged.");
    shown.is_quiet();
}
