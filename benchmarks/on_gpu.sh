#!/usr/bin/env bash
# What a GPU is worth here, from a bare clone in MINUTES (8) minutes; results as JSON:
#
#   bash benchmarks/on_gpu.sh [--out DIR] [--tiny] [--parts batches,precision,paper,circles,courses]
#
# PYTHON      an interpreter to use; else the first of .venv, python3, python and conda that has what
#             is needed, and else one is set up in build/on_gpu_venv
# PIP_TORCH   what pip installs for torch: "torch==2.13.0", or with another index,
#             "torch --index-url https://download.pytorch.org/whl/cu126"
# MINUTES     for everything, setting up included; the measurement has 3 at least
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
minutes=${MINUTES:-8}
venv=${ON_GPU_VENV:-$root/build/on_gpu_venv}
export PYTHONPATH="$root${PYTHONPATH:+:$PYTHONPATH}"
# An --out is meant from where the script was called.
options=() tiny=
while [ $# -gt 0 ]; do
  case $1 in
    --out) options+=(--out "$(realpath -m -- "${2:?a folder}")"); shift ;;
    --tiny) tiny=1; options+=(--tiny) ;;
    *) options+=("$1") ;;
  esac
  shift
done
cd "$root"

say() { echo "on_gpu: $*" >&2; }

# torch with a GPU that it can use; for the tiny form any torch.
has_torch() {
  "$1" -c "import sys, torch
sys.exit(not (sys.version_info >= (3, 11) and (${tiny:-0} or torch.cuda.is_available())))" \
    >/dev/null 2>&1
}

has_packages() {
  "$1" -c "import safetensors, benchmarks.on_gpu.batches, benchmarks.on_gpu.courses" >/dev/null 2>&1
}

pip() { "$venv/bin/python" -m pip --disable-pip-version-check --quiet install --no-compile "$@"; }

# A new environment, made with an interpreter and options of venv.
set_up() {
  if ! "$1" -c "import ensurepip" 2>/dev/null; then
    [ "$(id -u)" = 0 ] || { say "Python has no ensurepip: apt-get install python3-venv"; exit 1; }
    apt-get update -qq && apt-get install -y -qq python3-venv
  fi
  "$1" -m venv --clear "${@:2}" "$venv"
  # torch comes from elsewhere, or is there.
  grep -v '^torch==' constraints.txt >"$venv/constraints.txt"
}

python= with_torch=
for candidate in "${PYTHON:-}" "$venv/bin/python" .venv/bin/python python3 python \
  /opt/conda/bin/python; do
  [ -n "$candidate" ] && command -v "$candidate" >/dev/null || continue
  has_torch "$candidate" || continue
  if has_packages "$candidate"; then python=$candidate; break; fi
  # An environment that was left half done is no ground for the next.
  [ "$candidate" = "$venv/bin/python" ] || with_torch=${with_torch:-$candidate}
done

if [ -z "$python" ]; then
  if [ -n "$with_torch" ]; then
    say "setting up beside the torch of $with_torch, in $venv"
    set_up "$with_torch" --system-site-packages
  else
    if [ -z "$tiny" ] && ! nvidia-smi -L >&2; then
      say "nvidia-smi sees no GPU; --tiny runs on the CPU"
      exit 1
    fi
    say "setting up torch for CUDA in $venv: some gigabytes the first time"
    set_up "${PYTHON:-python3}"
    # shellcheck disable=SC2086
    pip ${PIP_TORCH:-$(grep '^torch==' constraints.txt)}
  fi
  pip -c "$venv/constraints.txt" -e ".[torch]"
  python=$venv/bin/python
  has_torch "$python" || { say "this torch sees no GPU: PIP_TORCH names another"; exit 1; }
fi

remaining=$(awk -v all="$minutes" -v spent="$SECONDS" \
  'BEGIN { left = all - spent / 60; print (left < 3 ? 3 : left) }')
say "$python, $remaining minutes"
exec "$python" -m benchmarks.on_gpu --minutes "$remaining" "${options[@]}"
