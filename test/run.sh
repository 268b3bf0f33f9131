#!/usr/bin/env bash
# Builds and runs the tests.
#
#   test/run.sh                   everything that a change must pass: lint unit golden hostile scenarios real fuzz
#                                 mutants bench; a sample of the older control plane, of the mutants, of what only
#                                 valgrind counts in "hostile", and of the longest vectors with sanitizers: by name
#                                 a tier runs whole
#   test/run.sh TIER...           only these tiers; also: images, arm64, coverage, faults, endurance
#   test/run.sh golden [-v] DIR   the golden vectors of DIR instead of the project's own
#
# Each tier ends with "<tier>: N passed, N failed, N skipped", the whole with the sum. A tier that cannot
# run here is skipped with its reason. Missing Debian packages are installed (as root or through sudo).
#
#   PLUMB_FUZZ_SECONDS    seconds per fuzz target (default 10, in the whole 6; below 60 whole daemons three times as long; 3600 for a release)
#   PLUMB_MUTANTS         mutants in the sample (default 400, in the whole 40); PLUMB_MUTANTS_SEED: another than 1's
#   PLUMB_FAULT_MINUTES   minutes of faults on each real control plane (default 60)
#   PLUMB_ENDURANCE_DAYS  days of the simulated cluster (default 30)
#   VPA_KUBE_ASSETS       folder with etcd, kube-apiserver, ... for the tier "real"
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2
. test/lib/prepare.sh

all_tiers=(lint unit golden hostile scenarios real fuzz mutants bench)
total_passed=0 total_failed=0 total_skipped=0
core_branches='' # what the tier "coverage" found

# close_tier NAME PASSED FAILED SKIPPED
close_tier() {
    echo "$1: $2 passed, $3 failed, $4 skipped"
    total_passed=$((total_passed + $2))
    total_failed=$((total_failed + $3))
    total_skipped=$((total_skipped + $4))
}
skip_tier() {
    echo "SKIPPED tier $1: $2"
    close_tier "$1" 0 0 1
}
say() { printf '== %s\n' "$*"; }

# check NAME COMMAND...: one check of the tier, its output only when it fails; status 77: it cannot run here, and says why.
check() {
    local name=$1 out status=0 begin=$SECONDS
    shift
    out=$("$@" 2>&1) || status=$?
    [ $((SECONDS - begin)) -lt 10 ] || echo "   $name: $((SECONDS - begin)) s"
    if [ $status -eq 0 ]; then
        passed=$((passed + 1))
    elif [ $status -eq 77 ]; then
        skipped=$((skipped + 1))
        echo "SKIPPED $name: $out"
    else
        failed=$((failed + 1))
        echo "FAILED $name"
        head -n 40 <<<"$out"
    fi
}

tier_lint() {
    local passed=0 failed=0 skipped=0
    check "layers" test/lint/check-layers
    check "texts" test/lint/check-text
    local script
    for script in test/lint/check-*; do
        case $script in */check-layers | */check-text) continue ;; esac
        check "$(basename "$script")" "$script"
    done
    check "shell syntax" bash -n test/run.sh deploy/demo.sh deploy/gencerts
    check "flag pages" flag_pages
    test/lint/check-complexity | grep -v 'BEYOND:' # the figures, whether bounds hold or not
    close_tier lint $passed $failed $skipped
}

# docs/flags.md is generated: stale pages fail.
flag_pages() {
    prepare_build release vpa-recommender vpa-updater vpa-admission-controller || return 1
    test/lint/make-flags-page build/release/bin | diff -u docs/flags.md - ||
        { echo "docs/flags.md is stale: test/lint/make-flags-page build/release/bin > docs/flags.md"; return 1; }
}

# run_ctest PRESET [ctest arguments]: adds Check's counts (and one per other test) to passed and failed.
run_ctest() {
    local preset=$1 log counts
    shift
    log=$(mktemp)
    # Check allows a test four seconds, which a sanitizer on a busy machine may need many times over.
    # Some tests wait for real time: more of them than processors.
    (cd "build/$preset" && CK_TIMEOUT_MULTIPLIER=20 ctest --timeout 1200 -j "$(($(nproc) * 2))" --verbose "$@") >"$log" 2>&1
    # Check prints "100%: Checks: N, Failures: F, Errors: E" per program; ctest tells of crashed programs.
    counts=$(awk '/Checks: [0-9]+, Failures: [0-9]+, Errors: [0-9]+/ {
            for (i = 1; i <= NF; i++) { if ($i == "Checks:") c += $(i+1); if ($i == "Failures:") f += $(i+1); if ($i == "Errors:") f += $(i+1) } }
        /Test +#[0-9]+:.*Passed/ { programs++ }
        /tests failed out of/ { broken = $4 + 0; known = 1 }
        END { print c - f + 0, (known ? broken : 1), programs + 0 }' "$log")
    read -r ok bad programs <<<"$counts"
    [ "$ok" -gt 0 ] || ok=$programs
    if [ "$bad" -gt 0 ]; then
        echo "FAILED tests of preset $preset"
        grep -E '\*\*\*|:[EF]:|ERROR: |runtime error|SUMMARY:' "$log" | head -n 60
    fi
    [ "$((ok + bad))" -gt 0 ] || { tail -n 20 "$log"; bad=1; }
    passed=$((passed + ok)) failed=$((failed + bad))
    echo "   $preset: $ok checks passed, $bad failed in $((programs)) passing programs"
    rm -f "$log"
}

tier_unit() {
    local passed=0 failed=0 skipped=0 preset threaded=(test_http test_http_tls test_connections test_hostile_server test_loop test_owner test_observe
        test_json test_admission_admit test_admission_bounds test_admission_daemon test_shared_map test_admission_snapshot test_admission_adviser test_recommender_query
        test_recommender_query_api test_ledger)
    for preset in asan clang tsan; do
        say "unit tests, preset $preset"
        local targets=()
        [ "$preset" != tsan ] || targets=("${threaded[@]}")
        if ! prepare_build "$preset" "${targets[@]+"${targets[@]}"}"; then
            failed=$((failed + 1))
            continue
        fi
        if [ "$preset" = tsan ]; then
            run_ctest tsan -R "^($(IFS='|'; echo "${threaded[*]}"))\$"
        else
            run_ctest "$preset" -E '^(golden|scenario|bench)'
        fi
    done
    close_tier unit $passed $failed $skipped
}

tier_golden() {
    local passed=0 failed=0 skipped=0 unbuilt=0 preset dirs=() verbose=() dir
    while [ $# -gt 0 ]; do
        case $1 in -v) verbose=(-v) ;; *) dirs+=("$1") ;; esac
        shift
    done
    if [ ${#dirs[@]} -eq 0 ]; then
        dirs=(test/golden/data)
        [ ! -d ../shared/golden ] || dirs=(../shared/golden) # it holds the project's own ones
    fi
    local p_all f_all s_all
    for preset in release asan; do
        prepare_build "$preset" golden || { unbuilt=$((unbuilt + 1)); continue; }
        p_all=0 f_all=0 s_all=0
        for dir in "${dirs[@]}"; do
            if [ $preset = asan ] && [ $golden_sampled = yes ] && [ "$dir" = ../shared/golden ]; then
                # Days of a whole recommender take minutes: with sanitizers the project's own ones only.
                golden_once "$dir" --set recommender_scenario --others
                golden_once test/golden/data --set recommender_scenario
            else
                golden_once "$dir"
            fi
        done
        # Each case counts once: as it went where it went worst. A build that fails is a failure beside them.
        [ $((p_all + f_all)) -le "$passed" ] || passed=$((p_all + f_all)) skipped=$s_all
        [ "$f_all" -lt "$failed" ] || failed=$f_all
    done
    close_tier golden $((passed - failed)) $((failed + unbuilt)) $skipped
}

# golden_once DIR [OPTION...]: adds what came out to the figures of the preset.
golden_once() {
    local out p f s
    say "golden vectors of $*, preset $preset"
    out=$(mktemp)
    "build/$preset/bin/golden" "${verbose[@]}" "${@:2}" "$1" 2>&1 | tee "$out"
    read -r p f s < <(sed -nE 's/^golden: ([0-9]+) passed, ([0-9]+) failed, ([0-9]+) skipped$/\1 \2 \3/p' "$out")
    [ -n "${s:-}" ] || { echo "golden ended without its closing line"; p=0 f=1 s=0; }
    p_all=$((p_all + p)) f_all=$((f_all + f)) s_all=$((s_all + s))
    rm -f "$out"
}

tier_hostile() {
    prepare_build release hostile || { close_tier hostile 0 1 0; return; }
    run_counted hostile test/hostile/run "${hostile_arguments[@]+"${hostile_arguments[@]}"}"
}

tier_scenarios() {
    prepare_build asan && prepare_build release || { close_tier scenarios 0 1 0; return; }
    run_counted scenarios test/scenarios/run --jobs "$(($(nproc) * 3))" # they mostly wait
}

# run_counted TIER COMMAND...: a program that prints the tier's closing line itself.
run_counted() {
    local tier=$1 out counts
    shift
    out=$(mktemp)
    "$@" 2>&1 | tee "$out"
    counts=$(sed -nE "s/^$tier: ([0-9]+) passed, ([0-9]+) failed, ([0-9]+) skipped\$/\1 \2 \3/p" "$out" | tail -n 1)
    rm -f "$out"
    if [ -z "$counts" ]; then
        echo "$tier ended without its closing line"
        close_tier "$tier" 0 1 0
        return
    fi
    local p f s
    read -r p f s <<<"$counts"
    total_passed=$((total_passed + p)) total_failed=$((total_failed + f)) total_skipped=$((total_skipped + s))
}

# fuzz_one WORK SECONDS TARGET: the log ends in "ok" when the target ran clean. Whole daemons need longer for as much.
# From a minute on they have what all have.
fuzz_one() {
    local name=$3 corpus=$1/$3 seconds=$2
    case $name in fuzz_whole_*) [ "$seconds" -ge 60 ] || seconds=$((seconds * 3)) ;; esac
    mkdir -p "$corpus"
    "build/fuzz/bin/$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -artifact_prefix="$1/$name-" \
        "$corpus" "test/fuzz/corpus/${name#fuzz_}" >"$1/$name.log" 2>&1 && echo ok >>"$1/$name.log"
}
export -f fuzz_one

tier_fuzz() {
    local passed=0 failed=0 skipped=0 seconds=${PLUMB_FUZZ_SECONDS:-$fuzz_seconds} name targets work
    mapfile -t targets < <(basename -s .c test/fuzz/fuzz_*.c)
    prepare_build fuzz "${targets[@]}" || { close_tier fuzz 0 1 0; return; }
    work=$(mktemp -d)
    say "${#targets[@]} fuzz targets, $seconds s each"
    printf '%s\n' "${targets[@]}" | xargs -P "$(nproc)" -I{} bash -c "fuzz_one '$work' '$seconds' {}" || true
    for name in "${targets[@]}"; do
        if [ "$(tail -n 1 "$work/$name.log")" = ok ]; then
            passed=$((passed + 1))
        else
            failed=$((failed + 1))
            echo "FAILED $name"
            tail -n 30 "$work/$name.log"
        fi
    done
    rm -rf "$work"
    close_tier fuzz $passed $failed $skipped
}

# Each benchmark once, on a small amount of work: that it runs, not how fast.
tier_bench() {
    local passed=0 failed=0 skipped=0 name arguments
    prepare_build release || { close_tier bench 0 1 0; return; }
    for name in $(basename -s .c test/bench/bench_*.c); do
        case $name in
        bench_admission) arguments="--vpas 100 --requests 2000" ;;
        bench_model) arguments="1000" ;;
        bench_query) arguments="--containers 1000 --seconds 1" ;;
        bench_recommender) arguments="--containers 1000 --passes 2" ;;
        bench_updater) arguments="--vpas 50" ;;
        *) arguments="" ;;
        esac
        say "$name $arguments"
        # shellcheck disable=SC2086 -- the words of the arguments
        if timeout 300 "build/release/bin/$name" $arguments; then
            passed=$((passed + 1))
        else
            failed=$((failed + 1))
            echo "FAILED $name"
        fi
    done
    close_tier bench $passed $failed $skipped
}

# The first build of the control planes takes long: in the whole command it goes on beside what comes before, with the
# time that tests leave. The tier waits for it.
build_planes_ahead() {
    test/realcluster/run --why-not >/dev/null 2>&1 && [ -z "${VPA_KUBE_ASSETS:-}" ] || return 0
    nice -n 19 test/realcluster/build etcd 1.36 1.34 state-metrics >/dev/null 2>&1 </dev/null &
}

tier_real() {
    [ -x test/realcluster/run ] || { skip_tier real "test/realcluster/run is not there"; return; }
    local reason
    reason=$(test/realcluster/run --why-not) || { skip_tier real "$reason"; return; }
    prepare_build release || { close_tier real 0 1 0; return; }
    run_counted real test/realcluster/run "${real_arguments[@]+"${real_arguments[@]}"}"
}

# An hour of faults on both minors side by side; not part of the whole command, which would take an hour longer.
tier_faults() {
    local reason
    reason=$(test/realcluster/run --why-not) || { skip_tier faults "$reason"; return; }
    [ -n "${VPA_KUBE_ASSETS:-}" ] || test/realcluster/build || true # what is missing then, the program says
    prepare_build release || { close_tier faults 0 1 0; return; }
    run_counted faults test/realcluster/faults
}

# Weeks of the simulated cluster in hours; not part of the whole command either.
tier_endurance() {
    prepare_build release || { close_tier endurance 0 1 0; return; }
    run_counted endurance test/scenarios/endurance
}

# Images for this machine's kind: built twice, no larger than promised, and run as a node runs them.
tier_images() {
    local passed=0 failed=0 skipped=0 arch
    arch=$(dpkg --print-architecture)
    prepare_packages "the images" mmdebstrap dpkg-dev binutils || { skip_tier images "mmdebstrap and dpkg-dev are not there"; return; }
    prepare_build release kubesim fakelet || { close_tier images 0 1 0; return; }
    check "deploy/images" images_built "$arch" build/images build/image-work
    check "the same sources give the same digests" images_again "$arch"
    check "12 MiB at most" awk '$4 > 12 * 1024 * 1024 { print; bad = 1 } END { exit bad || NR != 4 }' build/images/list
    check "daemons out of their images" test/scenarios/run --preset release images
    cat build/images/list
    close_tier images $passed $failed $skipped
}
images_built() { mkdir -p "$2" && deploy/images --arch "$1" --output "$2" --work "$3" | tee "$2/list"; }
images_again() {
    images_built "$1" build/images-again build/image-work-again >/dev/null && diff build/images/list build/images-again/list
}

tier_arm64() {
    local passed=0 failed=0 skipped=0
    check "arm64 under qemu-user" test/lint/check-arm64 --run
    close_tier arm64 $passed $failed $skipped
}

# Does a test notice when the meaning of the sources is changed?
tier_mutants() {
    prepare_build mutants || { close_tier mutants 0 1 0; return; }
    # A slow machine is no reason to leave tests out of the few mutants of the whole command.
    run_counted mutants test/mutate/run --seed "${PLUMB_MUTANTS_SEED:-1}" --count "${PLUMB_MUTANTS:-$mutants}" \
        --seconds $((mutants < 100 ? 600 : 60))
}

# Unit tests, corpora and the project's own golden vectors on an instrumented build. Every branch counts,
# those of assertions too, so that the figure is the same on every machine and nothing is hidden in it;
# docs/testing.md says what is not covered and why.
tier_coverage() {
    local passed=0 failed=0 skipped=0 percent reader
    prepare_packages "the tier coverage" gcovr || { skip_tier coverage "gcovr is not there"; return; }
    prepare_build coverage || { close_tier coverage 0 1 0; return; }
    find build/coverage -name '*.gcda' -delete
    run_ctest coverage -E '^(golden|contract|scenario|bench)'
    check "golden vectors" build/coverage/bin/golden test/golden/data
    reader=(gcovr -r . build/coverage --filter 'src/(base|json|api|model|policy)/' --branches)
    rm -f build/coverage/summary.json
    "${reader[@]}" --txt build/coverage/branches.txt --json-summary build/coverage/summary.json 2>&1 |
        grep -vE '^\((INFO|WARNING)\)'
    tail -n +6 build/coverage/branches.txt
    percent=$(jq -r .branch_percent build/coverage/summary.json) || percent=0
    check "more than 95 % of the core's branches" jq -e '.branch_percent > 95' build/coverage/summary.json
    close_tier coverage $passed $failed $skipped
    core_branches="branch coverage of the core: $percent %"
}

prepare_packages "building" "${packages_build[@]}" || exit 1
prepare_packages "the tests" "${packages_test[@]}" || exit 1

tiers=()
golden_args=()
while [ $# -gt 0 ]; do
    case $1 in
    -h | --help) sed -n '2,18s/^# \{0,1\}//p' "$0"; exit 0 ;;
    lint | unit | golden | hostile | scenarios | images | arm64 | fuzz | bench | real | coverage | mutants | faults | endurance) tiers+=("$1") ;;
    *)
        if [ ${#tiers[@]} -gt 0 ] && [ "${tiers[-1]}" = golden ]; then
            golden_args+=("$1")
        else
            echo "run.sh: unknown tier '$1' (lint unit golden hostile scenarios images arm64 fuzz bench real coverage mutants faults endurance)" >&2
            exit 2
        fi
        ;;
    esac
    shift
done
real_arguments=() hostile_arguments=() mutants=400 fuzz_seconds=10 golden_sampled=no
[ ${#tiers[@]} -gt 0 ] || tiers=("${all_tiers[@]}") real_arguments=(--sample) hostile_arguments=(--sample 40) mutants=40 fuzz_seconds=6 golden_sampled=yes

# measure_work: sets work to the seconds that all programs that have ended worked so far. (times counts for this very shell.)
times_file=$(mktemp)
output=''
trap 'rm -f "$times_file" "$output"; kill $(jobs -rp) 2>/dev/null' EXIT
measure_work() {
    times >"$times_file"
    work=$(awk -F '[ms ]+' 'NR == 2 { print int(60 * $1 + $2 + 60 * $3 + $4) }' "$times_file")
}

# Hours of output end with what failed, so that nobody has to look for it: also which tier it was, whatever it printed.
tell_failures() {
    awk '
        /^[a-z]+: [0-9]+ passed, [1-9][0-9]* failed/ { print }
        /^(== |[a-z]+: [0-9]+ passed)/ { left = 0 }
        /^   [^ ]+ \[[^]]+\]: (passed|skipped)/ { left = 0 }
        /^FAILED |^   .*\]: failed( in|:)|ended without its closing line/ { left = 25 }
        /^(SURVIVED|NOT JUDGED|MISMATCH) / { left = left > 3 ? left : 3 }
        left-- > 0 { print }' "$1"
}

started=$SECONDS
output=$(mktemp)
exec 3>&1 > >(tee "$output")
teller=$!
[ ${#real_arguments[@]} -eq 0 ] || build_planes_ahead
for tier in "${tiers[@]}"; do
    begin=$SECONDS
    measure_work
    worked=$work
    say "tier $tier"
    if [ "$tier" = golden ]; then tier_golden "${golden_args[@]+"${golden_args[@]}"}"; else "tier_$tier"; fi
    measure_work
    say "tier $tier took $((SECONDS - begin)) s, $((work - worked)) s of work"
done
exec >&3 3>&-
timeout 10 tail --pid="$teller" -f /dev/null # whoever still holds the pipe does not hold this
[ $total_failed -eq 0 ] || { say "what failed"; tell_failures "$output"; }
say "all took $((SECONDS - started)) s, $work s of work"
echo "$total_passed passed, $total_failed failed, $total_skipped skipped"
[ -z "$core_branches" ] || echo "$core_branches" # the last line of a run with the tier "coverage"
[ $total_failed -eq 0 ]
