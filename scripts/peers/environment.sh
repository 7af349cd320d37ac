# Sourced by the scripts that run peers; expects `root`.
export PYTHONDONTWRITEBYTECODE=1 TRANSFORMERS_VERBOSITY=error HF_HUB_OFFLINE=1

# peers_python NAME REQUIREMENTS: prints the Python of target/peers/NAME, an environment of what
# REQUIREMENTS pins, which is made on first use and again whenever the pins change.
peers_python() {
    local folder=$root/target/peers/$1 requirements=$root/scripts/peers/$2 pins
    pins=$(sha256sum < "$requirements")
    if [[ $(cat "$folder/pins" 2>/dev/null) != "$pins" ]]; then
        rm -rf -- "$folder"
        python3 -m venv "$folder"
        "$folder/bin/pip" install --quiet --no-deps --requirement "$requirements" >&2
        echo "$pins" > "$folder/pins"
    fi
    echo "$folder/bin/python"
}
