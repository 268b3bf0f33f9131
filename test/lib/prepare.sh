# Sourced by deploy/demo.sh and test/run.sh: installs what a build or a test tier needs, once.
#
#   prepare_packages PURPOSE PACKAGE...    Debian packages; says what is missing and installs it with
#                                          apt-get, as root or through sudo; fails with the command to run
#                                          when neither is possible.

packages_build=(gcc libc6-dev cmake make pkg-config libcurl4-openssl-dev libcjson-dev libyaml-dev libssl-dev
    libmicrohttpd-dev libgnutls28-dev libncurses-dev zlib1g-dev
    check libnghttp2-dev) # the last two for the tests, which cmake configures with the rest
packages_demo=(python3 python3-yaml python3-cryptography openssl curl)
packages_test=(clang clang-format-14 clang-tidy-14 libclang-rt-14-dev llvm-14 python3 python3-yaml python3-kubernetes python3-cryptography jq openssl curl valgrind time)
packages_arm64=(gcc-aarch64-linux-gnu libc6-dev-arm64-cross clang mmdebstrap qemu-user)

prepare_missing() {
    local package
    for package in "$@"; do
        dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || echo "$package"
    done
}

prepare_packages() {
    local purpose=$1 missing run=()
    shift
    command -v dpkg-query >/dev/null || {
        echo "This needs Debian 12 (no dpkg here). For $purpose install the equivalent of: $*" >&2
        return 1
    }
    mapfile -t missing < <(prepare_missing "$@")
    [ ${#missing[@]} -gt 0 ] || return 0
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || {
            echo "For $purpose run as root: apt-get install -y ${missing[*]}" >&2
            return 1
        }
        run=(sudo)
    fi
    echo "Installing for $purpose: ${missing[*]}"
    "${run[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -q >"${TMPDIR:-/tmp}/plumb-apt.$$" 2>&1 &&
        "${run[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends \
            "${missing[@]}" >>"${TMPDIR:-/tmp}/plumb-apt.$$" 2>&1 || {
        tail -n 20 "${TMPDIR:-/tmp}/plumb-apt.$$" >&2
        rm -f "${TMPDIR:-/tmp}/plumb-apt.$$"
        echo "Could not install: ${missing[*]}" >&2
        return 1
    }
    rm -f "${TMPDIR:-/tmp}/plumb-apt.$$"
}

# Reads a build's output and shows how far it is: one line on a terminal, else a line for each quarter.
prepare_progress() {
    local line share=0 told=0
    while IFS= read -r line; do
        case $line in
        \[*%\]*) share=${line#[}; share=$((${share%%\%*})) ;;
        *) continue ;;
        esac
        if [ -t 1 ]; then
            printf '\r  built: %3d %%' "$share"
        elif [ $((share / 25)) -gt $((told / 25)) ]; then
            told=$share
            echo "  built: $share %"
        fi
    done
    [ ! -t 1 ] || printf '\r%20s\r' ''
}

# prepare_build PRESET [TARGET...]: configures and builds build/PRESET and shows how far it is; the compiler's output
# only when it fails.
prepare_build() {
    local preset=$1 log status=0
    shift
    log=$(mktemp)
    cmake --preset "$preset" >"$log" 2>&1 || status=$?
    if [ $status -eq 0 ]; then
        cmake --build "build/$preset" -j "$(nproc)" ${1:+--target "$@"} 2>&1 | tee -a "$log" | prepare_progress
        status=${PIPESTATUS[0]}
    fi
    if [ $status -ne 0 ]; then
        grep -nE 'error|Error|warning|undefined reference' "$log" | head -n 40 >&2
        tail -n 30 "$log" >&2
        echo "The build of preset $preset failed." >&2
    fi
    rm -f "$log"
    return $status
}

# prepare_prometheus PROGRAM: prints where prometheus or promtool is. Out of Debian's package prometheus, which is unpacked and not
# installed: installed it would be a running server. Fails where the package cannot be had.
prepare_prometheus() {
    local folder=${XDG_CACHE_HOME:-$HOME/.cache}/plumb/bin work status=0
    command -v "$1" && return 0
    if [ ! -x "$folder/$1" ]; then
        work=$(mktemp -d)
        (cd "$work" && apt-get download -q prometheus >/dev/null 2>&1 && dpkg-deb -x prometheus_*.deb . &&
            mkdir -p "$folder" && mv usr/bin/prometheus usr/bin/promtool "$folder") || status=1
        rm -rf "$work"
        [ $status -eq 0 ] || return 1
    fi
    echo "$folder/$1"
}
