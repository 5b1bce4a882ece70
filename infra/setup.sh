#!/usr/bin/env bash
# Set up what a target needs: system packages, virtual environment, Python packages. Quick when nothing is missing.
#   infra/setup.sh run       what `make run` needs
#   infra/setup.sh test      that, and what the tests need
#   infra/setup.sh packages  system packages of both, nothing else
set -euo pipefail
cd "$(dirname "$0")/.."
target=${1:-run}

say() { printf 'setup: %s\n' "$*" >&2; }

listed() { grep -hvE '^\s*(#|$)' "$@"; }

system_packages() {
    local lists=(infra/packages.desktop.txt) missing=() name
    [ "$target" = run ] || lists+=(infra/packages.{test,record,accessibility}.txt)
    command -v dpkg-query >/dev/null || {
        say "this is no Debian or Ubuntu; install the programs of ${lists[*]} by hand for the desktop tasks"
        return 0
    }
    while read -r name; do
        [ "$(dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null)" = installed ] || missing+=("$name")
    done < <(listed "${lists[@]}")
    [ ${#missing[@]} -gt 0 ] || return 0
    local as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
            as_root=(sudo)
        else
            say "an administrator has to install system packages; until then desktop tasks are VOID(no desktop):"
            say "  sudo apt-get update && sudo apt-get install -y --no-install-recommends ${missing[*]}"
            return 0
        fi
    fi
    say "installing ${#missing[@]} system packages (${missing[*]})"
    local log=.state/setup-apt.log
    mkdir -p .state
    if ! { "${as_root[@]}" apt-get -o DPkg::Lock::Timeout=500 update &&
        DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get -o DPkg::Lock::Timeout=500 install -y \
            --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
        tail -n 5 "$log" >&2
        say "system packages could not be installed (log: $log); desktop tasks will be VOID(no desktop). By hand:"
        say "  sudo apt-get update && sudo apt-get install -y --no-install-recommends ${missing[*]}"
    fi
}

find_python() {
    local name
    for name in "${PYTHON:-python3}" python3.13 python3.12 python3.11; do
        if command -v "$name" >/dev/null && "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
            echo "$name"
            return 0
        fi
    done
    say "Python 3.11 or later is needed and was not found: install it, or set PYTHON to its name"
    exit 2
}

python_packages() {
    local extras=$1 python stamp
    stamp=.venv/.matassay-$(cat pyproject.toml <(echo "$extras") | sha256sum | cut -c1-16)
    [ ! -e "$stamp" ] || return 0
    python=$(find_python)
    if [ ! -x .venv/bin/python ]; then
        say "creating .venv with $($python --version)"
        "$python" -m venv .venv || {
            rm -rf .venv
            say "the module venv is missing: sudo apt-get install -y python3-venv"
            exit 2
        }
    fi
    say "installing Python packages (a few minutes the first time)"
    local log=.state/setup-pip.log
    mkdir -p .state
    if ! .venv/bin/python -m pip install --disable-pip-version-check -e ".$extras" >"$log" 2>&1; then
        tail -n 15 "$log" >&2
        say "Python packages could not be installed; the whole log is in $log"
        exit 2
    fi
    touch "$stamp"
}

case $target in
run) system_packages && python_packages "[serve,databases,afm]" ;;
test) system_packages && python_packages "[serve,test,afm]" ;;
packages) system_packages ;;
*)
    say "unknown target '$target': give run, test or packages"
    exit 2
    ;;
esac
