#!/bin/bash
# A sweep inside one Slurm allocation: sbatch cluster.slurm.sh grid.yaml [KEY=VALUES]... [OPTIONS of the sweep]...
# Submit it where the project lies, on a directory that all nodes see. docs/howto/slurm.md walks through it.
#
# Edit the next lines; what is given to sbatch itself, as `sbatch --nodes=4 cluster.slurm.sh ...`, goes before them.
#SBATCH --job-name=sweep
#SBATCH --nodes=2
#SBATCH --cpus-per-task=8
##SBATCH --gpus-per-node=1
##SBATCH --partition=...
##SBATCH --account=...
#SBATCH --time=04:00:00
#SBATCH --output=slurm-%j.log
#
# Leave these as they are: one task a node; two minutes before the time is over, packs in flight finish and no new ones start;
# a job that is preempted starts again and goes on; the loss of a node other than the first costs its packs in flight only.
#SBATCH --ntasks-per-node=1
#SBATCH --signal=B:INT@120
#SBATCH --requeue
#SBATCH --no-kill
#SBATCH --open-mode=append

# shellcheck disable=SC2317 # functions are called on other nodes and at the end

# How a node gets at the project's Python; with modules or conda, their lines in place of these.
# shellcheck source=/dev/null
if [ -f .venv/bin/activate ]; then source .venv/bin/activate; fi
# Where results lie: on a directory that all nodes see.
results=${RESULTS:-results}
# Which network nodes talk over, as eth0 or ib0; empty: Ray chooses.
interface=${INTERFACE:-}
# Each node's own disk, for Ray's sockets and logs. Short: the name of a socket may have 107 characters.
scratch=${SCRATCH:-/tmp}
# How long nodes may take to join.
join_seconds=${JOIN_SECONDS:-180}

fail() {
  echo "cluster.slurm.sh: $2" >&2
  exit "$1"
}
[ -n "$SLURM_JOB_ID$SLURMD_NODENAME" ] || fail 2 "submit it: sbatch cluster.slurm.sh grid.yaml"
[ ${#scratch} -le 18 ] || fail 2 "SCRATCH=$scratch is too long for the names of sockets: at most 18 characters, as /tmp"
command -v ray >/dev/null || fail 2 "no command \`ray\` in $PWD/.venv nor on PATH: run \`make install\` there, or edit this file"

# Bad input ends the job here. The forecast of the first node alone is of no use to a reader.
planned=$(python -m orchestrator.sweep --results "$results" "$@" --dry-run 2>&1 >/dev/null) || {
  code=$?
  echo "$planned" >&2
  exit $code
}

# Runs on each node: Ray with what Slurm grants there, open to those who have this job's token (which comes on standard input).
ray_node() { # DIRECTORY OPTIONS...
  local more=() ending='' ray='' megabytes=${SLURM_MEM_PER_NODE:-0}
  (umask 077 && cat >"$1/token") # of this file alone: what workers write follows the user's own umask
  export RAY_AUTH_MODE=token RAY_AUTH_TOKEN_PATH=$1/token
  [ -z "$interface" ] || more=(--node-ip-address "$(ip -4 -o address show dev "$interface" | awk '{sub("/.*", "", $4); print $4; exit}')")
  [ -z "$SLURM_MEM_PER_CPU" ] || megabytes=$((SLURM_MEM_PER_CPU * SLURM_CPUS_ON_NODE))
  [ "$megabytes" = 0 ] || more+=(--memory "$((megabytes * 1024 * 1024))")
  trap 'ending=yes' TERM
  for _ in 1 2 3; do # Ray gives up a start after 30 s, which a busy node may exceed
    # All ports are free ones, so that two jobs on one node do not meet. Ray opens its directory to all: it lies in a private one.
    setsid ray start "${@:2}" "${more[@]}" --block --temp-dir "$1/r" --disable-usage-stats --object-store-memory 200000000 \
      --num-cpus "$SLURM_CPUS_ON_NODE" --num-gpus "${SLURM_GPUS_ON_NODE:-0}" \
      --min-worker-port 0 --max-worker-port 0 --dashboard-agent-listen-port 0 </dev/null &
    ray=$!
    wait $ray
    [ -z "$ending" ] || break
  done
  # Asked to end, Ray may take half a minute, when Slurm kills whoever is left and files would stay. It has nothing to lose.
  kill $ray 2>/dev/null
  for _ in {1..15}; do
    kill -0 $ray 2>/dev/null || break
    sleep 0.2
  done
  kill -KILL -- -$ray 2>/dev/null
}

remove() { # DIRECTORY of a Ray that has gone; its workers notice within seconds
  for _ in {1..25}; do
    rm -rf "$1" 2>/dev/null && break
    sleep 0.2
  done
}

ray_worker() {
  local here
  here=$(mktemp -d "$scratch/ray-$SLURM_JOB_ID.XXXXXX") || exit 1
  ray_node "$here" --address "$address"
  remove "$here"
}

stopped='' joined='' sweep='' started=()
trap 'stopped=yes; [ -z "$sweep" ] || kill -TERM $sweep' INT
trap at_once TERM
at_once() { # cancelled or preempted: Slurm ends Ray as well now, and kills in half a minute whoever is left
  stopped=yes
  # The first one drains, the second one stops at once, unless it waits for a Ray that has gone.
  for signal in TERM TERM CONT CONT CONT KILL; do
    kill -"$signal" "$sweep" 2>/dev/null || return
    sleep 0.5
  done
}
here=$(mktemp -d "$scratch/ray-$SLURM_JOB_ID.XXXXXX") || exit 1
trap end EXIT
end() {
  # The step of the other nodes is asked to end: srun, if killed, would kill it before it has removed its directories.
  [ ${#started[@]} -lt 2 ] || scancel --signal=TERM "$SLURM_JOB_ID.0" 2>>"$here/start.log"
  kill "${started[0]}" 2>/dev/null
  for ((i = 0; i < 100; i++)); do
    kill -0 "${started[@]}" 2>/dev/null || break
    sleep 0.2
  done
  remove "$here"
}
died() {
  echo "cluster.slurm.sh: $1; the end of what Ray said:" >&2
  tail -n 30 "$here/start.log" >&2
  exit 1
}

token=$(head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n')
ray_node "$here" --head --port 0 --include-dashboard false <<<"$token" >"$here/start.log" 2>&1 &
started=($!)
for ((i = 0; i < 5 * join_seconds; i++)); do
  [ -z "$stopped" ] || exit 130
  [ ! -s "$here/r/ray_current_cluster" ] || break
  kill -0 "${started[0]}" 2>/dev/null || died "Ray ended on the first node"
  sleep 0.2
done
address=$(cat "$here/r/ray_current_cluster") || died "Ray did not start on the first node within $join_seconds s"

if [ "$SLURM_JOB_NUM_NODES" -gt 1 ]; then
  # Without --cpus-per-task a step has all that the job was granted on its nodes.
  unset SLURM_CPUS_PER_TASK SRUN_CPUS_PER_TASK SLURM_TRES_PER_TASK
  export interface scratch address
  n=$((SLURM_JOB_NUM_NODES - 1))
  srun --nodes=$n --ntasks=$n --ntasks-per-node=1 --relative=1 --kill-on-bad-exit=0 --label bash -c \
    "$(declare -f ray_node remove ray_worker); ray_worker" \
    <<<"$token" >>"$here/start.log" 2>&1 &
  started+=($!)
fi

export RAY_AUTH_MODE=token RAY_AUTH_TOKEN_PATH=$here/token
python -m orchestrator.nodes "$address" "$SLURM_JOB_NUM_NODES" --seconds "$join_seconds" &
sweep=$!
wait $sweep || joined=no
[ -z "$stopped" ] || exit 130
[ -z "$joined" ] || died "not all nodes joined"

RAY_ADDRESS=$address python -m orchestrator.sweep --results "$results" "$@" &
sweep=$!
wait $sweep
while kill -0 $sweep 2>/dev/null; do wait $sweep; done # a signal ends a wait, not the sweep
wait $sweep
code=$?
[ $code != 130 ] || echo "To go on, submit it again: RESULTS=$results sbatch cluster.slurm.sh $*"
exit $code
