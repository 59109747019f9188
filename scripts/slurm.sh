#!/bin/sh
# A real Slurm with two nodes on this one machine, for tests. It needs the Debian
# packages slurm-wlm, munge and libpmix2, no systemd and nothing in /etc.
#
#   slurm.sh run COMMAND...   runs the command with SLURM_CONF set, then removes all
#   slurm.sh start DIR        starts Slurm in the new folder DIR. Then set
#                             SLURM_CONF=DIR/slurm.conf and use srun, sbatch, …
#   slurm.sh stop DIR         ends all jobs and daemons and removes DIR
#
# The nodes n1 and n2 have four processors and two pretended GPUs each, whatever
# the machine has. Every file is in DIR, every port is one that was free.
set -eu

say() { printf '%s\n' "$*" >&2; }
fail() { say "slurm.sh: $*"; exit 1; }

usage() {
	sed -n '/^#   /s/^# *//p' "$0" >&2
	exit 2
}

# Debian keeps daemons where an ordinary user does not look.
PATH=$PATH:/usr/sbin:/sbin

# free_ports N prints N ports, in order, that nothing listens on; they lie below
# the range from which the system hands out ports of its own accord.
free_ports() {
	cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | awk -v n="$1" -v seed="$$" '
		function hex(s,   i, v) {
			for (i = 1; i <= length(s); i++) v = 16 * v + index("0123456789ABCDEF", substr(s, i, 1)) - 1
			return v
		}
		{ split($2, a, ":"); used[hex(a[2])] = 1 }
		END {
			for (p = 10000 + 10 * (seed % 2000); n > 0; p++) if (!(p in used)) { print p; n-- }
		}'
}

# write_conf says what the two nodes are, in DIR.
write_conf() {
	host=$(uname -n)
	host=${host%%.*}
	user=$(id -un)
	# shellcheck disable=SC2046 # one port a word
	set -- $(free_ports 3)
	cat >"$dir/slurm.conf" <<CONF
ClusterName=lsm
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$1
SlurmUser=$user
SlurmdUser=$user
# A requeued job waits until its credential has expired: two minutes by default.
AuthType=auth/munge
AuthInfo=socket=$dir/munge.socket,cred_expire=5
CredType=cred/munge
StateSaveLocation=$dir/state
SlurmctldPidFile=$dir/slurmctld.pid
SlurmctldLogFile=$dir/slurmctld.log
SlurmdPidFile=$dir/slurmd.%n.pid
SlurmdLogFile=$dir/slurmd.%n.log
SlurmdSpoolDir=$dir/spool.%n
# Steps of one job on both nodes keep their PMIx files here: a folder for each.
TmpFS=$dir/tmp.%n
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
TaskProlog=$dir/task-prolog
JobAcctGatherType=jobacct_gather/none
# Look at once for what may start.
SchedulerParameters=sched_interval=1,bf_interval=1
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SwitchType=switch/none
MpiDefault=pmix
MailProg=/bin/true
KillWait=5
ReturnToService=2
GresTypes=gpu
NodeName=n1 NodeHostname=$host NodeAddr=127.0.0.1 Port=$2 CPUs=4 RealMemory=1000 Gres=gpu:2
NodeName=n2 NodeHostname=$host NodeAddr=127.0.0.1 Port=$3 CPUs=4 RealMemory=1000 Gres=gpu:2
PartitionName=all Nodes=n1,n2 Default=YES MaxTime=INFINITE OverSubscribe=YES
CONF
	# Real nodes do not share their memory: let Open MPI's ranks not find files
	# there that have the same name on both. And real ones have the processors
	# that they say they have, so that a rank may keep one busy while it waits.
	cat >"$dir/task-prolog" <<PROLOG
#!/bin/sh
echo export OMPI_MCA_btl_vader_backing_directory=$dir/tmp.\$SLURMD_NODENAME
echo export OMPI_MCA_btl_sm_backing_directory=$dir/tmp.\$SLURMD_NODENAME
echo export OMPI_MCA_mpi_yield_when_idle=1
PROLOG
	chmod 755 "$dir/task-prolog"
	echo "NodeName=n[1-2] Name=gpu Flags=nvidia_gpu_env File=$dir/gpu[0-1]" >"$dir/gres.conf"
	# Nothing here uses control groups. A kind is named, or slurmd looks for a mounted one and
	# ends where there is none, as in many containers.
	echo "CgroupPlugin=cgroup/v1" >"$dir/cgroup.conf"
}

idle_nodes() { sinfo --noheader --Node --format=%T 2>/dev/null | grep -c '^idle$' || true; }

# start brings everything up in the empty folder $dir, or returns 1.
start() {
	mkdir "$dir"/state "$dir"/spool.n1 "$dir"/spool.n2 "$dir"/tmp.n1 "$dir"/tmp.n2
	ln -s /dev/null "$dir/gpu0"
	ln -s /dev/zero "$dir/gpu1"
	write_conf
	(umask 077 && head -c 1024 /dev/urandom >"$dir/munge.key")
	munged --key-file="$dir/munge.key" --socket="$dir/munge.socket" --pid-file="$dir/munged.pid" \
		--log-file="$dir/munged.log" --seed-file="$dir/munge.seed" >&2 || return 1
	slurmctld -c && slurmd -N n1 && slurmd -N n2 || return 1
	await 30 both_idle
}

both_idle() { [ "$(sinfo --noheader --Node --format=%T 2>/dev/null)" = "idle
idle" ]; }

# await SECONDS COMMAND... returns 1 when the command has not succeeded by then.
await() {
	tries=$((5 * $1))
	shift
	until "$@"; do
		[ $tries -gt 0 ] || return 1
		tries=$((tries - 1))
		sleep 0.2
	done
}

no_jobs() { [ -z "$(squeue --noheader 2>/dev/null)" ]; }
gone() { ! kill -0 "$1" 2>/dev/null; }

# stop ends jobs, then daemons, then what is left of jobs: processes that know
# this Slurm by the name of its configuration and have a job's number.
stop() {
	if [ -e "$dir/slurmctld.pid" ] && ! no_jobs; then
		scancel --user="$(id -un)" 2>/dev/null || true
		await 15 no_jobs || true
	fi
	pids=$(cat "$dir"/*.pid 2>/dev/null) || true
	for pid in $pids; do kill "$pid" 2>/dev/null || true; done
	for pid in $pids; do await 10 gone "$pid" || kill -KILL "$pid" 2>/dev/null || true; done
	for file in $(grep -lzxF "SLURM_CONF=$dir/slurm.conf" /proc/[0-9]*/environ 2>/dev/null); do
		if grep -qz '^SLURM_JOB_ID=' "$file" 2>/dev/null; then
			pid=${file#/proc/}
			kill -KILL "${pid%/environ}" 2>/dev/null || true
		fi
	done
	rm -rf "$dir"
}

# start_or_remove leaves nothing behind where the start fails.
start_or_remove() {
	missing=
	for program in munged slurmctld slurmd srun; do
		command -v $program >/dev/null || missing="$missing $program"
	done
	[ -z "$missing" ] || fail "not installed:$missing (Debian: slurm-wlm munge libpmix2)"
	# A socket's whole name has room for 107 bytes.
	[ ${#dir} -le 90 ] || fail "$dir: the name is too long for a socket in it; take a folder with a shorter one"
	chmod 755 "$dir"
	export SLURM_CONF="$dir/slurm.conf"
	start && return
	for log in "$dir"/*.log; do
		say "--- $log"
		tail -n 20 "$log" >&2
	done
	stop
	fail "Slurm did not start"
}

case "${1:-}" in
run)
	[ $# -ge 2 ] || usage
	shift
	dir=$(mktemp -d /tmp/slurm.XXXXXX)
	exec 3<&0 # what runs in the background would lose its input
	command=
	trap 'stop' EXIT
	trap 'exit 130' INT
	trap '[ -z "$command" ] || kill "$command" 2>/dev/null; exit 143' TERM HUP
	start_or_remove 3<&-
	"$@" <&3 3<&- &
	command=$!
	wait $command
	;;
start)
	[ $# -eq 2 ] || usage
	mkdir "$2"
	dir=$(cd "$2" && pwd)
	trap 'trap - INT TERM; stop; exit 1' INT TERM
	start_or_remove
	say "export SLURM_CONF=$SLURM_CONF"
	;;
stop)
	[ $# -eq 2 ] || usage
	dir=$(cd "$2" && pwd)
	[ -e "$dir/slurm.conf" ] && [ -e "$dir/munge.key" ] || fail "$dir: has no Slurm of this script"
	export SLURM_CONF="$dir/slurm.conf"
	stop
	;;
*) usage ;;
esac
