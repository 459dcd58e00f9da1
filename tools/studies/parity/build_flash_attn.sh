#!/bin/sh
# Builds flash-attn's CUDA extension for one architecture, in the background and within a time limit.
#
#   build_flash_attn.sh start SOURCE.tar.gz [DIR]    begin, and return at once; DIR is built/ by default
#   build_flash_attn.sh wait SECONDS [DIR]           wait that long; 0 built, 1 failed, 2 still building
#   build_flash_attn.sh status [DIR]                 the same without waiting, and the end of the log
#
# Needs nvcc, ninja and the torch of the machine; no network. FLASH_ATTN_CUDA_ARCHS (90), MAX_JOBS (the cores, but at
# least 6 GiB of memory for each) and BUILD_LIMIT (1500 seconds) may be set. What comes of it is
# DIR/flash_attn_2_cuda*.so and DIR/VERSION, which `python -m tools.studies.parity` finds by itself.
set -eu

follow() {
    if [ -f "$1/VERSION" ]; then echo "built: flash-attn $(cat "$1/VERSION")"; return 0; fi
    if [ -f "$1/failed" ]; then echo "failed: $(cat "$1/failed")"; tail -n 20 "$1/log"; return 1; fi
    if [ ! -d "$1" ]; then echo "not begun"; return 1; fi
    echo "building: $(find "$1/source" -name '*.o' 2>/dev/null | wc -l) objects"; return 2
}

build() {
    mkdir -p "$2/source" "$2/temporary"
    tar -xzf "$1" -C "$2/source" --strip-components=1
    cd "$2/source"
    # Makes no other architecture, and downloads nothing.
    export FLASH_ATTENTION_FORCE_BUILD=TRUE TMPDIR="$2/temporary"
    export FLASH_ATTN_CUDA_ARCHS="${FLASH_ATTN_CUDA_ARCHS:-90}" NVCC_THREADS=1
    memory=$(awk '/MemAvailable/ {print int($2 / 6291456)}' /proc/meminfo)
    cores=$(nproc)
    export MAX_JOBS="${MAX_JOBS:-$([ "$memory" -gt 0 ] && [ "$memory" -lt "$cores" ] && echo "$memory" || echo "$cores")}"
    timeout "${BUILD_LIMIT:-1500}" python3 setup.py build_ext --inplace
    cp flash_attn_2_cuda*.so "$2/"
    version=$(sed -n 's/^__version__ = "\(.*\)"/\1/p' flash_attn/__init__.py)
    echo "$version" > "$2/VERSION"
}

command="${1:-}"
case "$command" in
start)
    source=$(realpath "$2")
    folder=$(realpath -m "${3:-built}")
    mkdir -p "$folder"
    rm -f "$folder/failed" "$folder/VERSION"
    setsid sh "$0" build "$source" "$folder" > "$folder/log" 2>&1 < /dev/null &
    echo "building in $folder; its log is $folder/log"
    ;;
build)
    began=$(date +%s)
    trap 'code=$?; [ -f "$3/VERSION" ] || echo "status $code after $(($(date +%s) - began)) seconds" > "$3/failed"' EXIT
    build "$2" "$3"
    ;;
wait)
    folder="${3:-built}"
    end=$(($(date +%s) + $2))
    while [ "$(date +%s)" -lt "$end" ] && [ ! -f "$folder/VERSION" ] && [ ! -f "$folder/failed" ]; do sleep 2; done
    follow "$folder"
    ;;
status) follow "${2:-built}" ;;
*) sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 64 ;;
esac
