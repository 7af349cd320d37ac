# shellcheck shell=bash disable=SC2034 # those that source it read `target` and `native`
# Sourced by the other scripts: what a build needs to know about the parts scripts/setup installed.
# .cargo/config.toml says the same for a plain `cargo build` with the default target folder.
target=${CARGO_TARGET_DIR:-$root/target}
native=$target/native
export CMAKE=$native/cmake/bin/cmake
export LIBCLANG_PATH=$native/libclang/lib
export C_INCLUDE_PATH=$native/libclang/include

# The build script of eerie-sys asks cargo to watch a folder that its own CMake run writes to, so
# that cargo would build it, and all that depends on it, anew each time. What that run wrote gets
# the time at which it began.
settle() {
    local build began
    for build in "$target"/*/build/eerie-sys-*; do
        began=$build/invoked.timestamp
        if [[ -f $began && -d $build/out ]]; then
            find "$build/out" -newer "$began" -exec touch --no-create --reference="$began" {} +
        fi
    done
}

# CMake's cache and the library names in the programs are absolute: where the clone was moved, the
# two packages that hold them are built again.
forget_moved() {
    local build name
    for build in "$target"/*/build/{eerie-sys,mlx-sys}-*; do
        if [[ -f $build/root-output && $(<"$build/root-output") != "$build/out" ]]; then
            name=${build##*/}
            echo "setup: this folder was moved: ${name%-*} is built again" >&2
            rm -rf -- "$build" "${build%/build/*}/.fingerprint/$name"
        fi
    done
}
forget_moved
settle
