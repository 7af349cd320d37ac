# Sourced by the other scripts: what a build needs to know about the parts scripts/setup installed.
# .cargo/config.toml says the same for a plain `cargo build` with the default target folder.
native=${CARGO_TARGET_DIR:-$root/target}/native
export CMAKE=$native/cmake/bin/cmake
export LIBCLANG_PATH=$native/libclang/lib
export C_INCLUDE_PATH=$native/libclang/include${C_INCLUDE_PATH:+:$C_INCLUDE_PATH}
