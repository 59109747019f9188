#!/bin/bash
# prove.sh [-o FOLDER] [SECTION ...]: runs what gpu-bundle.sh packed beside this script on this
# machine's GPU, all sections or those named, and writes report.txt, report.json and log.txt
# into FOLDER (gpu-report). Each section ends as OK, FAILED or SKIPPED. The exit status is 0
# if none failed. It ends within PROVE_SECONDS (520) and some seconds, whatever hangs.
# PROVE_SMALL=1 makes what is timed small and waits longer, for an emulated GPU.
set -u
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
out=gpu-report
if [ "${1:-}" = -o ]; then
	out=$2
	shift 2
fi
mkdir -p "$out" && out=$(cd "$out" && pwd) || exit 2
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
tar -xzf "$here/payload.tgz" -C "$work" || exit 2
cd "$work" || exit 2
mkdir -p tmp cache
export TMPDIR=$work/tmp XDG_CACHE_HOME=${XDG_CACHE_HOME:-$work/cache} HOME=${HOME:-$work} PATH=$work/bin:$PATH
: >"$out/log.txt"

now() { echo $((${EPOCHREALTIME/./} / 1000)); } # ms
began=$(now)
last=$((began + 1000 * ${PROVE_SECONDS:-520}))

# quoted prints a text as JSON, in one line.
quoted() {
	local text=${1//\\/\\\\}
	text=${text//\"/\\\"}
	printf '"%s"' "${text//[$'\001'-$'\037']/ }"
}

# What a section tells: fact NAME TEXT, of the whole report; figure JSON and row TEXT, of itself;
# skip TEXT, which ends it.
fact() { printf '%s\n' "$1=$2" >>"$work/facts"; }
figure() { printf '%s\n' "$1" >>"$work/figures"; }
row() { printf '%s\n' "$*" >>"$work/rows"; }
skip() {
	echo "$*"
	exit 77
}

# try logs a command and runs it.
try() {
	printf '%s\n' "$*" >>"$work/commands"
	echo "\$ $*"
	"$@"
}

# get KEY prints the last value of a key of the JSON that it reads.
get() { sed -n "s/.*\"$1\":\"\{0,1\}\([^\",}]*\).*/\1/p" | tail -n 1; }

known() { sed -n "s/^$1=//p" facts 2>/dev/null | tail -n 1; }

# ended waits until the process has ended or the time in ms is over.
ended() {
	while kill -0 "$1" 2>/dev/null; do
		[ "$(now)" -lt "$2" ] || return 1
		sleep 0.05
	done
}

failed=0
sections=()

# section NAME SECONDS FUNCTION ...: runs a function in a process group of its own.
section() {
	local name=$1 limit=$2 status=OK reason='' start code pid end
	shift 2
	if [ ${#only[@]} -gt 0 ] && [ "$name" != machine ] && [[ " ${only[*]} " != *" $name "* ]]; then return; fi
	[ -z "$small" ] || limit=$((4 * limit))
	start=$(now)
	end=$((start + 1000 * limit))
	[ $end -lt $last ] || end=$last
	rm -f figures rows commands
	: >section.log
	if [ "$name" != machine ] && [ "$(known gpu)" = "" ]; then
		status=SKIPPED reason='no GPU that lsm can use'
	elif [ "$start" -ge "$last" ]; then
		status=SKIPPED reason='no time was left'
	else
		set -m
		("$@") >section.log 2>&1 </dev/null &
		pid=$!
		set +m
		if ended $pid $end; then
			wait $pid
			code=$?
			case $code in
			0) ;;
			77) status=SKIPPED ;;
			*) status=FAILED ;;
			esac
			[ $code = 0 ] || reason=$(grep -m 1 -E -e '^ *--- FAIL|^(hint|lsm|error): |FAILED' section.log || grep -v '^ *$' section.log | tail -n 1)
			[ $code = 0 ] || [ $code = 77 ] || reason="exit status $code: $reason"
			[ $code != 77 ] || reason=$(tail -n 1 section.log)
		else
			kill -TERM -- -$pid 2>/dev/null
			ended $pid $(($(now) + 2000))
			kill -KILL -- -$pid 2>/dev/null # others of the group may go on
			ended $pid $(($(now) + 2000)) || reason='; it does not end when it is killed'
			disown $pid 2>/dev/null
			status=FAILED reason="cut after $((($(now) - start) / 1000)) s$reason"
			[ $end -lt "$last" ] || status=SKIPPED
		fi
	fi
	[ $status != FAILED ] || failed=$((failed + 1))
	tell "$name" $status "$reason" "$(($(now) - start))"
}

# tell adds a section to the report, and writes the report as it is so far.
tell() {
	local seconds line list='' commands=''
	printf -v seconds '%d.%03d' $(($4 / 1000)) $(($4 % 1000))
	printf -v line '%-22s %-8s %8s s  %s' "$1" "$2" "$seconds" "${3:0:200}"
	echo "$line"
	{
		printf '%s\n' "$line"
		[ ! -f rows ] || sed 's/^/    /' rows
	} >>text
	{
		echo "== $line"
		cat section.log
	} >>"$out/log.txt"
	[ ! -f figures ] || list=$(paste -sd , figures)
	[ ! -f commands ] || commands=$(while read -r command; do quoted "${command//$work\//}"; echo; done <commands | paste -sd ,)
	sections+=("{\"section\":$(quoted "$1"),\"status\":\"$2\",\"reason\":$(quoted "$3"),\"seconds\":$seconds,\"commands\":[$commands],\"figures\":[$list]}")
	publish
}

publish() {
	local key facts_text='' facts_json='' sep='' all
	for key in gpu arch driver cuda compiler nccl lsm commit kernel processor; do
		facts_text+=$(printf '%-10s %s' $key "$(known $key)")$'\n'
		facts_json+="\"$key\":$(quoted "$(known $key)"),"
	done
	all=$(IFS=$'\n' && echo "${sections[*]}" | paste -sd , -)
	printf '{%s"failed":%d,"sections":[\n%s\n]}\n' "$facts_json" $failed "${all//\},\{\"section\"/$'},\n{"section"'}" >"$out/report.json"
	{
		printf '%s\n' "$facts_text"
		cat text
		printf '\n%d failed, %d s\n' $failed $((($(now) - began) / 1000))
	} >"$out/report.txt"
}

# locate VARIABLE PATTERN sets a variable of lsm to the newest file of the pattern where the
# loader knows none: beside CUDA's toolkit, or what Python's packages bring.
locate() {
	local file site
	if [ -n "${!1:-}" ] || ldconfig -p 2>/dev/null | grep -q "${2%%\**}"; then return; fi
	site=$(python3 -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])' 2>/dev/null)
	# shellcheck disable=SC2086 # a pattern
	file=$(ls -d /usr/local/nvidia/lib64/$2 /usr/lib/wsl/lib/$2 /usr/local/cuda*/lib64/$2 /usr/local/cuda*/targets/x86_64-linux/lib/$2 \
		"${CONDA_PREFIX:-/opt/conda}"/lib/$2 "${site:-/none}"/nvidia/*/lib/$2 2>/dev/null | grep -v '\.alt\.' | sort -V | tail -n 1)
	if [ -n "$file" ]; then export "$1=$file"; fi
}

machine() {
	fact kernel "$(uname -sr), $(getconf GNU_LIBC_VERSION)"
	fact processor "$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1), $(nproc) threads"
	try lsm version || return
	fact lsm "$(lsm version | head -n 1)"
	try lsm doctor
	lsm doctor --json >doctor || return
	fact commit "$(grep '"event":"build"' doctor | get commit)"
	fact compiler "$(lsm doctor | sed -n 's/^ *engine cuda: programs //p')"
	fact nccl "$(lsm doctor | sed -n 's/^ *communicator nccl: //p')"
	fact cuda "$(nvidia-smi 2>/dev/null | sed -n 's/.*CUDA Version: *\([0-9.]*\).*/\1/p')"
	fact driver "$(cat /sys/module/nvidia/version 2>/dev/null || nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>/dev/null | head -n 1)"
	grep '"event":"gpu"' doctor | grep '"engine":"cuda"' >gpus || {
		lsm doctor | grep 'engine cuda'
		return 1
	}
	fact arch "$(get arch <gpus)"
	fact gpu "$(get name <gpus)"
	figure "$(head -n 1 gpus)"
}

# tests NAME TEST [VARIABLE=VALUE]: the GPU's tests of a package, of which TEST must have run.
tests() {
	local folder list='' code passed failures skipped
	[ -f "bin/$1.test" ] || skip "the bundle has no tests of $1"
	[ "$1" != device-driver ] || [[ $(known compiler) = compiled* ]] || skip 'no NVRTC was found'
	[ ! -f "bin/$1.run" ] || list="^($(cat "bin/$1.run"))\$"
	folder=$(mktemp -d)
	cd "$folder" || return
	try env LSM_TEST_GPU=1 "${@:3}" "$work/bin/$1.test" -test.v -test.timeout 0 -test.run "$list"
	code=$?
	cd "$work" || return
	passed=$(grep -c -e '^--- PASS' section.log) failures=$(grep -c -e '^--- FAIL' section.log) skipped=$(grep -c -e '^--- SKIP' section.log)
	row "$passed passed, $failures failed, $skipped are for the emulator or for other machines"
	figure "{\"passed\":$passed,\"failed\":$failures,\"skipped\":$skipped}"
	[ $code = 0 ] || return $code
	grep -q -e "^--- PASS: $2 " section.log || {
		echo "lsm: $2 did not run: $(grep -B 1 -e "^--- SKIP: $2 " section.log | head -n 1)"
		return 1
	}
}

# kernel NAME OPTIONS: times of one size beside the card's limits.
kernel() {
	local name=$1 e code
	shift
	try lsm bench kernel --engine cuda --json "$@" >one
	code=$?
	cat one
	[ $code = 0 ] || return $code
	e=$(grep '"event":"kernel"' one)
	figure "{\"case\":$(quoted "$name"),${e#\{}"
	for way in forward adjoint; do
		row "$(awk -v name="$name" -v way=$way -v ns="$(get ${way}_ns <<<"$e")" -v copy="$(get ${way}_copy_share <<<"$e")" \
			-v issue="$(get ${way}_issue_share <<<"$e")" -v exact="$(get ${way}_exact_ratio <<<"$e")" \
			'BEGIN { printf "%-14s %-8s %10.3g %8.1f %8.1f %8.2f", name, way, 1e9/ns, 100*copy, 100*issue, exact }')"
	done
}

speed() {
	local size2='--shape 801,401 --sources 64 --receivers 256' size3='--shape 128,128,128 --sources 16 --receivers 256'
	[ -z "$small" ] || size2='--shape 30,20 --sources 2 --receivers 6 --runs 1' size3='--shape 9,9,9 --sources 2 --receivers 6 --runs 1'
	row 'size           way       triples/s  copy %  issue %  exact x'
	# shellcheck disable=SC2086 # lists of options
	{
		kernel '2-D' $size2 && kernel '2-D, weights' $size2 --dynamic && kernel '2-D, 16 bits' $size2 --compact &&
			kernel '3-D' $size3 && kernel '3-D, weights' $size3 --dynamic
	} || return
	row "the card copies $(get copy_bytes <figures) bytes/s and issues $(get issue <figures) instructions/s, measured here"
}

sanitizer() {
	local tool=$1 program
	program=$(command -v compute-sanitizer || ls -d /usr/local/cuda*/bin/compute-sanitizer /opt/nvidia/*/compute-sanitizer 2>/dev/null | tail -n 1)
	[ -n "$program" ] || skip 'there is no compute-sanitizer here'
	for size in '30,20' '12,10,9'; do
		for weights in '' --dynamic; do
			# shellcheck disable=SC2086 # an option or none
			try "$program" --tool "$tool" --error-exitcode 99 "$work/bin/lsm" bench kernel --engine cuda --shape $size \
				--sources 4 --receivers 9 --samples 60 --runs 1 $weights || return
		done
	done
}

# survey makes a small survey with its traces, and its images on the cpu and the GPU.
survey() {
	[ ! -f survey/gpu.h5 ] || return 0
	try lsm synth points -o survey --quiet --force || return
	solved cpu kirchhoff.engine=cpu && solved gpu kirchhoff.engine=cuda
}

# solved NAME KEY=VALUE: the survey's image, with what stands before it in the array launch.
launch=()
solved() {
	try "${launch[@]}" lsm run survey/config.toml --set "solver.iterations=$iterations" --set "$2" ${3:+--set "$3"} -o "survey/$1.h5" --force
}

solve() {
	survey || return
	try lsm compare survey/gpu.h5 survey/cpu.h5 --tolerance 1e-4 || return
	try lsm migrate survey/config.toml --json -o survey/auto.h5 --force >one || return
	cat one
	figure "$(grep '"event":"engine"' one)"
	row "engine auto took $(grep '"event":"engine"' one | get taken): cpu $(grep '"event":"engine"' one | get cpu_seconds) s, GPU $(grep '"event":"engine"' one | get gpu_seconds) s"
}

nccl() {
	[ -n "$(known nccl)" ] || skip "no NCCL was found: $(lsm doctor | sed -n 's/.*not communicator nccl: //p')"
	local e last=64MiB
	[ -z "$small" ] || last=64KiB
	try lsm bench comm --backend nccl --engine cuda --json --last $last --factor 8 >one || return
	cat one
	e=$(grep '"operation":"all-reduce"' one | tail -n 1)
	figure "$e"
	row "all-reduce of $(get size <<<"$e") bytes on one rank: $(get time_us <<<"$e") us"
}

# matrices: products by cuBLAS, compared with gonum's.
matrices() {
	local e size=4096
	lsm doctor >one
	grep -q '^  matrices by cublas' one || skip "no cuBLAS that works was found: $(sed -n 's/.*not matrices by cublas: //p' one)"
	[ -z "$small" ] || size=40
	for type in float32 float64; do
		try lsm bench matmul --engine cuda --json --size $size --type $type >one || return
		cat one
		e=$(grep '"event":"matmul"' one)
		figure "$e"
		row "$type, $size x $size: $(get gflops <<<"$e") GFLOP/s, off by $(get error <<<"$e")"
	done
}

# ranks: two ranks that share the card, their sums through the host and, where it agrees, by NCCL.
ranks() {
	[ -x bin/mpiexec.hydra ] || skip 'the bundle has no MPI'
	survey || return
	launch=(env LD_LIBRARY_PATH="$work/lib" UCX_TLS=self,sm mpiexec.hydra -launcher fork -n 2)
	solved two kirchhoff.engine=cuda comm.backend=mpi-staged || return
	try lsm compare survey/two.h5 survey/gpu.h5 --tolerance 0 || return
	row 'through the host: the bits of one rank'
	[ -n "$(known nccl)" ] || return 0
	export NCCL_MULTI_RANK_GPU_ENABLE=1
	if solved three kirchhoff.engine=cuda comm.backend=nccl >one 2>&1; then
		cat one
		try lsm compare survey/three.h5 survey/gpu.h5 --tolerance 0 || return
		row 'by NCCL: the bits of one rank'
	else
		cat one
		grep -qi 'duplicate GPU\|share' one || return
		row 'this NCCL does not let two ranks share a card'
	fi
}

peers() {
	command -v python3 >/dev/null || skip 'there is no python3 here'
	try python3 peers/cards.py "$work/bin/lsm" >one
	local code=$?
	cat one
	grep '^{' one | while read -r line; do
		figure "$line"
		row "$line"
	done
	[ $code != 77 ] || skip "$(tail -n 1 one)"
	return $code
}

only=("$@")
small=${PROVE_SMALL:-} iterations=20
[ -z "$small" ] || iterations=2
locate LSM_CUDA_LIB 'libcuda.so.1'
locate LSM_NVRTC_LIB 'libnvrtc.so.*'
locate LSM_NCCL_LIB 'libnccl.so.2*'
locate LSM_CUBLAS_LIB 'libcublas.so.*'
section machine 30 machine
section vectors 60 tests device-gpu TestCUDA
section operator 180 tests kirchhoff-gpu TestConformance
section speed 90 speed
section solve 60 solve
section nccl 40 nccl
section matrices 60 matrices
section ranks 60 ranks
section solver 120 tests internal-job TestConformance
section driver 40 tests device-driver TestKernels
section operator-carried 150 tests kirchhoff-gpu TestConformance LSM_NVRTC_LIB=/none
section traveltimes 60 tests traveltime-gpu TestTimes
section images 40 tests imaging TestOnCards
section nccl-tests 60 tests comm-nccl TestRealCard
for tool in memcheck racecheck synccheck initcheck; do
	section $tool 60 sanitizer $tool
done
section peers 90 peers
echo "$out/report.txt: $failed failed"
[ $failed = 0 ]
