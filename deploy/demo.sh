#!/usr/bin/env bash
# Shows Plumb at work on a simulated cluster: real usage in, right-sized pods out.
#
#   deploy/demo.sh            live table until Ctrl-C
#   deploy/demo.sh --once     until every workload is right-sized, then the final table; exit status 0
#   deploy/demo.sh --rate R   cluster seconds per second (default 300: a day in five minutes)
#
# Debian 12, as root or with sudo: what is missing is installed with apt-get. Nothing runs on afterwards.
set -euo pipefail
cd "$(dirname "$0")/.."
case " $* " in
*" -h "* | *" --help "*) sed -n '2,9s/^# \{0,1\}//p' deploy/demo.sh; exit 0 ;;
esac
. test/lib/prepare.sh

prepare_packages "building" "${packages_build[@]}"
prepare_packages "the demo" "${packages_demo[@]}"
echo "Building Plumb (build/release) ..."
started=$SECONDS
prepare_build release vpa-recommender vpa-updater vpa-admission-controller kubesim fakelet
echo "Built in $((SECONDS - started)) s."
exec /usr/bin/python3 -B deploy/demo/run.py "$@"
