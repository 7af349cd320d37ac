//! A headless Chromium that is told what to do by the DevTools protocol, over two pipes.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "the helpers of tests fail as tests do"
)]
#![allow(dead_code, reason = "every user has its own choice of them")]

use std::env;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};
use tempfile::TempDir;

/// The names it goes by; Ubuntu's `chromium-browser` starts a snap.
const NAMES: [&str; 5] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
];
/// How long anything may take before the test fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// A browser with one page.
pub struct Browser {
    child: Child,
    to: File,
    from: Receiver<Value>,
    session: String,
    last: u64,
    events: Vec<Value>,
    folder: TempDir,
}

fn program() -> PathBuf {
    if let Some(named) = env::var_os("QUALIFY_CHROMIUM") {
        return named.into();
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = env::split_paths(&path).collect();
    let found = NAMES
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)))
        .find(|program| program.is_file());
    found.unwrap_or_else(|| {
        panic!(
            "no Chromium to test the HTML page with: install the package `chromium` (Debian) or \
             `google-chrome-stable` (Ubuntu), or name one in QUALIFY_CHROMIUM"
        )
    })
}

impl Browser {
    /// Starts one, whose files are in a folder below this one.
    pub fn start(below: &Path) -> Browser {
        let folder = TempDir::new_in(below).unwrap();
        let pipe = |name: &str| {
            let pipe = folder.path().join(name);
            let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
            assert!(made.success(), "mkfifo {}", pipe.display());
            pipe
        };
        let (input, output) = (pipe("in"), pipe("out"));
        let child = Command::new("sh")
            .args(["-c", r#"exec "$0" "$@" 3<"$IN" 4>"$OUT""#])
            .arg(program())
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--no-first-run",
            ])
            .args(["--remote-debugging-pipe", "--disable-background-networking"])
            .args(["--disable-dev-shm-usage", "--disable-component-update"])
            .arg(format!(
                "--user-data-dir={}",
                folder.path().join("profile").display()
            ))
            .env("IN", &input)
            .env("OUT", &output)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let to = OpenOptions::new().write(true).open(input).unwrap();
        let output = File::open(output).unwrap();
        let (sender, from) = channel();
        thread::spawn(move || {
            for message in BufReader::new(output).split(0) {
                let Ok(message) = message else { return };
                if sender
                    .send(serde_json::from_slice(&message).unwrap())
                    .is_err()
                {
                    return;
                }
            }
        });
        let mut browser = Browser {
            child,
            to,
            from,
            session: String::new(),
            last: 0,
            events: Vec::new(),
            folder,
        };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }));
        let wanted = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = browser.call("Target.attachToTarget", wanted);
        browser.session = attached["sessionId"].as_str().unwrap().to_owned();
        for domain in ["Page", "Runtime", "Network", "Log"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        let focused = json!({ "enabled": true });
        browser.call("Emulation.setFocusEmulationEnabled", focused);
        browser
    }

    fn receive(&mut self) -> Value {
        match self.from.recv_timeout(PATIENCE) {
            Ok(message) => message,
            Err(error) => panic!("Chromium does not answer: {error}"),
        }
    }

    /// A command and its result.
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        self.last += 1;
        let mut message = json!({ "id": self.last, "method": method, "params": params });
        if !self.session.is_empty() {
            message["sessionId"] = self.session.as_str().into();
        }
        let mut text = serde_json::to_vec(&message).unwrap();
        text.push(0);
        self.to.write_all(&text).unwrap();
        loop {
            let mut answer = self.receive();
            if answer["id"] == self.last {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].take();
            }
            self.events.push(answer);
        }
    }

    /// Opens an address and waits until it is loaded.
    pub fn open(&mut self, address: &str) {
        self.events.clear();
        // Another fragment of the same page would load nothing.
        self.call("Page.navigate", json!({ "url": "about:blank" }));
        self.loaded();
        self.events.clear();
        self.call("Page.navigate", json!({ "url": address }));
        self.loaded();
    }

    fn loaded(&mut self) {
        while !self
            .events
            .iter()
            .any(|e| e["method"] == "Page.loadEventFired")
        {
            let event = self.receive();
            self.events.push(event);
        }
    }

    /// The value of an expression in the page; a promise is waited for.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let wanted = json!({
            "expression": expression, "returnByValue": true, "awaitPromise": true,
        });
        let mut result = self.call("Runtime.evaluate", wanted);
        assert!(
            result["exceptionDetails"].is_null(),
            "{expression}: {result}"
        );
        result["result"]["value"].take()
    }

    /// Waits until an expression is true: what a key or a link sets off is done later.
    pub fn until(&mut self, expression: &str) {
        for _ in 0..500 {
            if self.evaluate(expression) == true {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        panic!("never true: {expression}");
    }

    /// The text of the first element that a selector finds.
    pub fn text(&mut self, selector: &str) -> String {
        let selector = Value::from(selector);
        let found = self.evaluate(&format!("document.querySelector({selector})?.textContent"));
        found
            .as_str()
            .unwrap_or_else(|| panic!("no {selector} in the page"))
            .to_owned()
    }

    /// How many elements a selector finds.
    pub fn count(&mut self, selector: &str) -> u64 {
        let selector = Value::from(selector);
        let found = self.evaluate(&format!("document.querySelectorAll({selector}).length"));
        found.as_u64().unwrap()
    }

    /// Presses and releases a key.
    pub fn press(&mut self, key: &str) {
        for kind in ["keyDown", "keyUp"] {
            let code = match key {
                "Enter" => 13,
                "Tab" => 9,
                "ArrowRight" => 39,
                "ArrowDown" => 40,
                _ => panic!("the code of {key} is not known here"),
            };
            let mut event = json!({
                "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code,
            });
            if key == "Enter" && kind == "keyDown" {
                event["text"] = "\r".into();
            }
            self.call("Input.dispatchKeyEvent", event);
        }
    }

    /// Sets the size of the window, in CSS pixels, and the scheme of colours.
    pub fn look(&mut self, width: u32, height: u32, scheme: &str) {
        let size = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600,
        });
        self.call("Emulation.setDeviceMetricsOverride", size);
        let scheme = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.call("Emulation.setEmulatedMedia", scheme);
    }

    /// Writes what is seen as PNG; with `all`, what scrolling would show as well.
    pub fn screenshot(&mut self, file: &Path, all: bool) {
        let wanted = json!({ "format": "png", "captureBeyondViewport": all });
        let shot = self.call("Page.captureScreenshot", wanted);
        let png = BASE64.decode(shot["data"].as_str().unwrap()).unwrap();
        fs::write(file, png).unwrap();
    }

    /// What the page said to the console, threw, or was refused.
    pub fn complaints(&mut self) -> Vec<String> {
        // Whatever was to be said has been, once this is answered.
        self.evaluate("new Promise((done) => setTimeout(done, 50))");
        let said = [
            "Runtime.exceptionThrown",
            "Runtime.consoleAPICalled",
            "Log.entryAdded",
        ];
        let events = self.events.iter();
        let of = events.filter(|e| said.iter().any(|&method| e["method"] == method));
        of.map(|e| e["params"].to_string()).collect()
    }

    /// The addresses that were asked for since the last was opened.
    pub fn requests(&self) -> Vec<String> {
        let events = self.events.iter();
        let sent = events.filter(|e| e["method"] == "Network.requestWillBeSent");
        sent.map(|e| e["params"]["request"]["url"].as_str().unwrap().to_owned())
            .collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self
            .to
            .write_all(b"{\"id\":0,\"method\":\"Browser.close\"}\0");
        for _ in 0..100 {
            if let Ok(Some(_)) = self.child.try_wait() {
                return;
            }
            thread::sleep(Duration::from_millis(50));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The address of a file.
pub fn address(file: &Path) -> String {
    format!("file://{}", fs::canonicalize(file).unwrap().display())
}
