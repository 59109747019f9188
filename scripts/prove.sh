#!/bin/bash
# prove.sh [-o FOLDER] [SECTION ...]: runs what gpu-bundle.sh packed beside this script on this
# machine's GPU, all sections or those named, and writes report.txt, report.json and log.txt
# into FOLDER (gpu-report). Each section ends as OK, FAILED or SKIPPED. What did nothing on a GPU
# is never OK, and what was cut has FAILED. The exit status is 0 if none failed and all had their
# time. It ends within PROVE_SECONDS (520) and some seconds, whatever hangs. PROVE_SMALL=1 makes what is timed small
# and waits longer, for an emulated GPU.
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
if [ -e "$here/more.txz" ]; then
	tar -xJf "$here/more.txz" -C "$work" 2>/dev/null ||
		python3 -c 'import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2])' "$here/more.txz" "$work" 2>/dev/null ||
		echo "more.txz: neither xz nor Python unpacks it here: without the solver's tests, and two ranks by this machine's MPI"
fi
cd "$work" || exit 2
mkdir -p tmp cache
export TMPDIR=$work/tmp XDG_CACHE_HOME=${XDG_CACHE_HOME:-$work/cache} HOME=${HOME:-$work} PATH=$work/bin:$PATH
: >"$out/log.txt"

now() { echo $((${EPOCHREALTIME/./} / 1000)); } # ms
began=$(now)
small=${PROVE_SMALL:-}
slow=1
[ -z "$small" ] || slow=4
last=$((began + slow * 1000 * ${PROVE_SECONDS:-520}))

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

failed=0 ok=0 skipped=0 late=0 due=$began
sections=()

# section NAME SECONDS FUNCTION ...: runs a function in a process group of its own. A section has
# its seconds, and what those before it left over. All seconds together are PROVE_SECONDS.
section() {
	local name=$1 limit=$2 status=OK reason='' start code pid end
	shift 2
	due=$((due + slow * 1000 * limit))
	if [ ${#only[@]} -gt 0 ] && [ "$name" != machine ] && [[ " ${only[*]} " != *" $name "* ]]; then return; fi
	start=$(now)
	end=$due
	[ "$end" -gt $((start + slow * 1000 * limit)) ] || end=$((start + slow * 1000 * limit))
	[ $end -lt $last ] || end=$last
	rm -f figures rows commands
	: >section.log
	if [ "$name" != machine ] && [ "$(known gpu)" = "" ]; then
		status=SKIPPED reason='no GPU that lsm can use'
	elif [ "$start" -ge "$last" ]; then
		status=SKIPPED reason='no time was left' late=$((late + 1))
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
		fi
	fi
	case $status in
	OK) ok=$((ok + 1)) ;;
	FAILED) failed=$((failed + 1)) ;;
	SKIPPED) skipped=$((skipped + 1)) ;;
	esac
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
	printf '{%s"ok":%d,"failed":%d,"skipped":%d,"sections":[\n%s\n]}\n' "$facts_json" $ok $failed $skipped "${all//\},\{\"section\"/$'},\n{"section"'}" >"$out/report.json"
	{
		printf '%s\n' "$facts_text"
		cat text
		printf '\n%d OK, %d failed, %d skipped, %d s\n' $ok $failed $skipped $((($(now) - began) / 1000))
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
		lsm doctor | grep -m 1 '^ *not engine cuda'
		return 1
	}
	fact arch "$(get arch <gpus)"
	fact gpu "$(get name <gpus)"
	figure "$(head -n 1 gpus)"
	worked
}

# worked fails where lsm doctor found a GPU that did not compute.
worked() {
	! lsm doctor | grep -m 1 '^ *not engine cuda' && ! grep -q '"event":"build".*"cuda":false' doctor
}

# carried: the same without NVRTC, by the programs that lsm carries as PTX.
carried() {
	export LSM_NVRTC_LIB=/none/libnvrtc.so
	try lsm doctor || return
	lsm doctor --json >doctor || return
	worked || return
	lsm doctor | grep -q '^ *engine cuda: programs carried' || {
		echo 'lsm: lsm doctor does not say that programs are carried'
		return 1
	}
}

# ran TEST: whether it did something, by what was printed: it passed, and so did some test within
# it where there are any. Go calls a test passed that skipped all within it.
ran() {
	awk -v test="$1" '
		$1 == "---" && $2 ~ /^(PASS|SKIP|FAIL):$/ {
			if ($3 == test && $2 == "PASS:") passed = 1
			if (index($3, test "/") == 1) { within[$3] = $2; parent = $3; while (sub(/\/[^\/]*$/, "", parent) && parent != test) inner[parent] = 1 }
		}
		END {
			for (name in within) if (!(name in inner)) { leaves++; if (within[name] == "PASS:") did++ }
			exit !(passed && (leaves == 0 || did > 0))
		}' section.log
}

# tests NAME TEST [VARIABLE=VALUE]: the GPU's tests of a package, of which TEST must have run.
tests() {
	local folder list='' code passed=0 failures skips=0 name
	[ -f "bin/$1.test" ] || skip "the bundle has no tests of $1"
	[ "$1" != device-driver ] || [[ $(known compiler) = compiled* ]] || skip 'no NVRTC that works was found'
	[ ! -f "bin/$1.run" ] || list="^($(cat "bin/$1.run"))\$"
	folder=$(mktemp -d)
	cd "$folder" || return
	try env LSM_TEST_GPU=1 "${@:3}" "$work/bin/$1.test" -test.v -test.timeout 0 -test.run "$list"
	code=$?
	cd "$work" || return
	for name in $(sed -n 's/^--- PASS: \([^ ]*\).*/\1/p' section.log); do
		if ran "$name"; then passed=$((passed + 1)); else skips=$((skips + 1)); fi
	done
	failures=$(grep -c -e '^--- FAIL' section.log)
	skips=$((skips + $(grep -c -e '^--- SKIP' section.log)))
	row "$passed passed, $failures failed, $skips are for the emulator or for other machines"
	figure "{\"passed\":$passed,\"failed\":$failures,\"skipped\":$skips}"
	[ $code = 0 ] || return $code
	ran "$2" || {
		# What a test says stands behind the line that begins it.
		echo "lsm: $2 did not run: $({ sed -n "/^=== RUN  *$2/,\$p" section.log; cat section.log; } | grep -m 1 '_test\.go:[0-9]*: ')"
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
	e=$(grep '"event":"kernel"' one | grep '"verdict":"OK"') || {
		echo "lsm: the operator gave no result: $*"
		return 1
	}
	figure "{\"case\":$(quoted "$name"),${e#\{}"
	for way in forward adjoint; do
		row "$(awk -v name="$name" -v way=$way -v ns="$(get ${way}_ns <<<"$e")" -v copy="$(get ${way}_copy_share <<<"$e")" \
			-v issue="$(get ${way}_issue_share <<<"$e")" -v exact="$(get ${way}_exact_ratio <<<"$e")" \
			'BEGIN { printf "%-14s %-8s %10.3g %8.1f %8.1f %8.2f", name, way, 1e9/ns, 100*copy, 100*issue, exact }')"
	done
}

# kernels: one operator in 2-D and in 3-D, with the programs at hand and with those carried.
kernels() {
	local size2='--shape 201,101 --sources 8 --receivers 64 --runs 1' size3='--shape 40,40,40 --sources 4 --receivers 64 --runs 1'
	[ -z "$small" ] || size2='--shape 30,20 --sources 2 --receivers 6 --runs 1' size3='--shape 9,9,9 --sources 2 --receivers 6 --runs 1'
	row 'size           way       triples/s  copy %  issue %  exact x'
	# shellcheck disable=SC2086 # lists of options
	kernel '2-D' $size2 && kernel '3-D' $size3 && export LSM_NVRTC_LIB=/none/libnvrtc.so &&
		kernel '2-D, carried' $size2 && kernel '3-D, carried' $size3
}

speed() {
	local size2='--shape 801,401 --sources 64 --receivers 256' size3='--shape 128,128,128 --sources 16 --receivers 256'
	[ -z "$small" ] || size2='--shape 30,20 --sources 2 --receivers 6 --runs 1' size3='--shape 9,9,9 --sources 2 --receivers 6 --runs 1'
	row 'size           way       triples/s  copy %  issue %  exact x'
	# shellcheck disable=SC2086 # lists of options
	{
		kernel '2-D' $size2 && kernel '2-D, weights' $size2 --dynamic &&
			kernel '3-D' $size3 && kernel '3-D, weights' $size3 --dynamic
	} || return
	row "the card copies $(get copy_bytes <figures) bytes/s and issues $(get issue <figures) instructions/s, measured here"
}

# found PROGRAM: where a program of CUDA's toolkit is.
found() {
	command -v "$1" || ls -d /usr/local/cuda*/bin/"$1" /opt/nvidia/*/"$1" /opt/nvidia/nsight-compute/*/"$1" 2>/dev/null | sort -V | tail -n 1
}

# What ncu counts of a kernel: instructions issued, wavefronts and conflicts of shared memory, bytes
# of the second-level cache, warps that are active, the clock, and the busiest of the units.
metrics=smsp__inst_issued.sum,l1tex__data_pipe_lsu_wavefronts_mem_shared.sum,l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum
metrics+=,lts__t_bytes.sum,sm__warps_active.avg.pct_of_peak_sustained_active,sm__cycles_elapsed.avg.per_second,gpu__time_duration.sum
metrics+=,smsp__issue_active.avg.pct_of_peak_sustained_active,l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed
metrics+=,lts__t_bytes.avg.pct_of_peak_sustained_elapsed

# counters: what one forward and one adjoint did, as the card counted it.
counters() {
	local program size='--shape 801,401 --sources 16 --receivers 256' way triples n=0
	program=$(found ncu)
	[ -n "$program" ] || skip 'there is no ncu here'
	for way in forward adjoint; do
		# shellcheck disable=SC2086 # a list of options
		try "$program" --clock-control none --csv --print-units base --kernel-name "$way" --launch-count 1 --metrics $metrics \
			"$work/bin/lsm" bench kernel --engine cuda --json --runs 1 $size >one 2>&1
		local code=$?
		cat one
		! grep -q ERR_NVGPUCTRPERM one || skip 'ncu may not read the counters: the driver lets only root (ERR_NVGPUCTRPERM)'
		[ $code = 0 ] || return $code
		triples=$(grep '"event":"kernel"' one | get triples)
		while IFS=$'\t' read -r metric value; do
			n=$((n + 1))
			figure "{\"kernel\":\"$way\",\"metric\":$(quoted "$metric"),\"value\":$value,\"triples\":${triples:-0}}"
			row "$(printf '%-8s %-70s %.6g' "$way" "$metric" "$value")"
		done < <(sed -n 's/^"[0-9]*",.*"\([a-z0-9_.]*__[a-z0-9_.]*\)","[^"]*","\([0-9.,]*\)"$/\1\t\2/p' one | tr -d ,)
	done
	[ $n -gt 0 ] || {
		echo 'lsm: ncu counted nothing'
		return 1
	}
}

sanitizer() {
	local tool=$1 program code
	program=$(found compute-sanitizer)
	[ -n "$program" ] || skip 'there is no compute-sanitizer here'
	for size in '30,20' '12,10,9'; do
		for weights in '' --dynamic; do
			# shellcheck disable=SC2086 # an option or none
			try "$program" --tool "$tool" --error-exitcode 99 "$work/bin/lsm" bench kernel --engine cuda --shape $size \
				--sources 4 --receivers 9 --samples 60 --runs 1 $weights >one 2>&1
			code=$?
			cat one
			[ $code = 0 ] || return $code
			grep -q 'SUMMARY: 0 ' one || {
				echo "lsm: $tool says nothing of what it saw"
				return 1
			}
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

# launcher sets the array launch to what starts two ranks: the MPICH that is packed, or the
# machine's own MPI.
launcher() {
	if [ -x bin/mpiexec.hydra ]; then
		launch=(env "LD_LIBRARY_PATH=$work/lib" UCX_TLS=self,sm mpiexec.hydra -launcher fork -n 2)
		return
	fi
	local program
	for program in mpiexec.hydra mpiexec.mpich mpirun mpiexec; do
		command -v $program >/dev/null || continue
		launch=($program -n 2)
		if $program --version 2>&1 | grep -qi 'open.\{0,1\}mpi\|PRRTE'; then
			launch=(env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 $program --oversubscribe -n 2)
		fi
		return
	done
	return 1
}

# ranks: two ranks that share the card, their sums through the host and, where it agrees, by NCCL.
ranks() {
	survey || return
	launcher || skip 'the bundle has no MPI, nor has this machine: two ranks cannot be started'
	solved two kirchhoff.engine=cuda comm.backend=mpi-staged || return
	try lsm compare survey/two.h5 survey/gpu.h5 --tolerance 0 || return
	row 'through the host: the bits of one rank'
	[ -n "$(known nccl)" ] || return 0
	export NCCL_MULTI_RANK_GPU_ENABLE=1 # NCCL 2.30 and newer; older ones refuse
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
iterations=20
[ -z "$small" ] || iterations=2
locate LSM_CUDA_LIB 'libcuda.so.1'
locate LSM_NVRTC_LIB 'libnvrtc.so.*'
locate LSM_NCCL_LIB 'libnccl.so.2*'
locate LSM_CUBLAS_LIB 'libcublas.so.*'
# Seconds add up to 520. What is worth most comes first.
section machine 20 machine
section carried 15 carried
section kernels 30 kernels
section speed 60 speed
section counters 20 counters
section memcheck 30 sanitizer memcheck
section solve 30 solve
section nccl 20 nccl
section vectors 15 tests device-gpu TestCUDA
section operator 65 tests kirchhoff-gpu TestConformance
section matrices 15 matrices
section ranks 25 ranks
section images 10 tests imaging TestOnCards
section traveltimes 15 tests traveltime-gpu TestTimes
section driver 10 tests device-driver TestKernels
section nccl-tests 15 tests comm-nccl TestRealCard
section operator-carried 35 tests kirchhoff-gpu TestConformance LSM_NVRTC_LIB=/none
section solver 35 tests internal-pipeline TestConformance
for tool in racecheck synccheck initcheck; do
	section $tool 15 sanitizer $tool
done
section peers 10 peers
echo "$out/report.txt: $ok OK, $failed failed, $skipped skipped, $late of them for lack of time"
[ $failed = 0 ] && [ $late = 0 ]
