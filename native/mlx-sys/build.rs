//! Stands in for the published `mlx-sys`, whose build script fetches MLX from GitHub and links
//! macOS frameworks. The mlx-c sources come from the published crate, MLX itself from the wheel
//! that `scripts/setup` installed; nothing of either is kept in this repository.
//!
//! `MLX_ROOT`            an unpacked wheel's `mlx` folder (include/, lib/); default: the one below
//!                       `<target>/native`
//! `MLX_C_SOURCE`        an mlx-c source folder; default: the one inside the pinned mlx-sys crate
//! `MLX_SYS_RELOCATABLE` set to 1: record plain library names, to be found with LD_LIBRARY_PATH

use std::{
    env,
    fmt::Write,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

fn main() {
    for name in ["MLX_ROOT", "MLX_C_SOURCE", "MLX_SYS_RELOCATABLE"] {
        println!("cargo::rerun-if-env-changed={name}");
    }
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/format.h");
    println!("cargo::rerun-if-changed=upstream/Cargo.lock");

    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap());
    let mlx = env::var_os("MLX_ROOT").map_or_else(|| installed_mlx(&out), PathBuf::from);
    let mlx = mlx.canonicalize().unwrap_or_else(|e| panic!("{}: {e}", mlx.display()));
    println!("cargo::rerun-if-changed={}", mlx.join("lib/libmlx.so").display());
    let mlx_c = env::var_os("MLX_C_SOURCE").map_or_else(published_mlx_c, PathBuf::from);

    let lib = build_mlx_c(&mlx_c, &mlx, &out);
    println!("cargo::rustc-link-search=native={}", lib.display());
    println!("cargo::rustc-link-lib=dylib=mlxc");
    println!("cargo::metadata=root={}", mlx.display());
    println!("cargo::metadata=lib={}", lib.display());
    bindings(&mlx_c).write_to_file(out.join("bindings.rs")).unwrap();
}

/// The MLX that `scripts/setup` unpacked below the target folder, which holds OUT_DIR.
fn installed_mlx(out: &Path) -> PathBuf {
    out.ancestors()
        .map(|folder| folder.join("native/mlx/mlx"))
        .find(|mlx| mlx.join("lib/libmlx.so").is_file())
        .unwrap_or_else(|| {
            // Built again once it is there.
            println!("cargo::rerun-if-changed=does-not-exist");
            panic!("no native/mlx in the target folder: run scripts/setup, or set MLX_ROOT")
        })
}

/// The mlx-c folder inside the mlx-sys crate that `upstream/Cargo.lock` pins (with its checksum).
fn published_mlx_c() -> PathBuf {
    let manifest = manifest_dir().join("upstream/Cargo.toml");
    let output = Command::new(env::var_os("CARGO").unwrap())
        .args(["metadata", "--locked", "--format-version=1", "--manifest-path"])
        .arg(&manifest)
        .output()
        .expect("cargo metadata");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let package = metadata["packages"]
        .as_array()
        .unwrap()
        .iter()
        .find(|package| package["name"] == "mlx-sys")
        .expect("mlx-sys in upstream/Cargo.lock");
    Path::new(package["manifest_path"].as_str().unwrap()).with_file_name("src").join("mlx-c")
}

/// Builds libmlxc.so against the installed libmlx.so and returns the folder it lies in.
///
/// Its soname is its absolute path: a program linked to it then records that path, so programs,
/// tests and examples all start without an rpath or LD_LIBRARY_PATH, which a build script cannot
/// set for its dependents; its own runpath names MLX's folder.
fn build_mlx_c(mlx_c: &Path, mlx: &Path, out: &Path) -> PathBuf {
    // One unit for all sources: nearly all of the time goes into MLX's headers.
    let unit = out.join("mlx-c.cpp");
    let mut text = String::new();
    for source in files(&mlx_c.join("mlx/c"), "cpp") {
        writeln!(text, "#include \"{}\"", source.display()).unwrap();
    }
    fs::write(&unit, text).unwrap();

    let mut build = cc::Build::new();
    build
        .cpp(true)
        .std("c++20")
        .opt_level(1)
        .debug(false)
        .warnings(false)
        .pic(true)
        .flag("-include")
        .flag(manifest_dir().join("src/format.h"))
        // The file name is part of every MLX message: `mlx-c/ops.cpp:2291`, not this machine's path.
        .flag(format!("-fmacro-prefix-map={}=mlx-c", mlx_c.join("mlx/c").display()))
        .include(mlx_c)
        .include(mlx.join("include"))
        .file(&unit);
    let objects = build.compile_intermediates();

    let lib = out.join("lib");
    fs::create_dir_all(&lib).unwrap();
    let file = lib.join("libmlxc.so");
    let mut link = build.get_compiler().to_command();
    link.arg("-shared").arg("-o").arg(&file).args(&objects);
    link.arg("-L").arg(mlx.join("lib")).arg("-lmlx");
    // A CUDA wheel's library needs CUDA libraries that the build machine may lack.
    link.arg("-Wl,--allow-shlib-undefined");
    if env::var("MLX_SYS_RELOCATABLE").is_ok_and(|v| v == "1") {
        link.arg("-Wl,-soname,libmlxc.so").arg("-Wl,-rpath,$ORIGIN:$ORIGIN/mlx/lib");
    } else {
        link.arg(format!("-Wl,-soname,{}", file.display()));
        link.arg(format!("-Wl,-rpath,{}", mlx.join("lib").display()));
    }
    run(&mut link);
    lib
}

fn bindings(mlx_c: &Path) -> bindgen::Bindings {
    let headers = files(&mlx_c.join("mlx/c"), "h");
    headers
        .iter()
        .fold(bindgen::Builder::default(), |builder, header| builder.header(header.to_string_lossy()))
        .rust_target("1.73.0".parse().unwrap())
        .clang_arg(format!("-I{}", mlx_c.display()))
        .blocklist_function("malloc")
        .blocklist_function("realloc")
        .generate()
        .expect("bindings")
}

/// The files in `dir` whose names end in `extension`, in order.
fn files(dir: &Path, extension: &str) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(dir)
        .unwrap_or_else(|e| panic!("{}: {e}", dir.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == extension))
        .collect();
    files.sort();
    files
}

fn manifest_dir() -> PathBuf {
    PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap())
}

fn run(command: &mut Command) {
    let status = command.status().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    assert!(status.success(), "{command:?}: {status}");
}
