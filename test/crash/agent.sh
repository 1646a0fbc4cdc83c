#!/bin/sh
# An agent outside of the engine's process: a process group of its own that speaks lines over stdin and stdout.
#   agent.sh <effects> <lock> <life> <role> <attempt> <epoch> <work in s> <stubborn: 0 or 1> <run> <children>
# in:   letter <id> <kind> <again> <task> <status> <request> · turn <number> · reply <words>
# out:  call <words> · noted · end <number>
# What it was given and what was acknowledged it appends to its effects, which are its history too. At its first turn it
# takes the lock of its task, and says so if another holder lives. A stubborn one ignores SIGTERM and, when the engine
# dies, stays until it is killed (a minute at most).
effects=$1 lock=$2 life=$3 role=$4 attempt=$5 epoch=$6 work=$7 stubborn=$8 run=$9
shift 9
children=$*
trap '' PIPE
[ "$stubborn" = 1 ] && trap '' TERM
held= spawned= answered= inquired= letters=

note() {
  printf '%s - %s\n' "$life" "$*" >>"$effects"
}

say() {
  printf '%s\n' "$*" 2>/dev/null || leave
}

leave() {
  if [ "$stubborn" = 1 ] && [ -n "$held" ]; then
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 5; done
  fi
  [ -n "$held" ] && rm -f "$lock"
  exit 0
}

alive() {
  [ -n "$1" ] && kill -0 "$1" 2>/dev/null || return 1
  [ -r "/proc/$1/stat" ] || return 0
  read -r _ _ state _ 2>/dev/null <"/proc/$1/stat" && [ "$state" != Z ]
}

hold() {
  [ -n "$held" ] && return
  set -C
  until echo "$$" 2>/dev/null >"$lock"; do
    other=
    read -r other 2>/dev/null <"$lock"
    if alive "$other"; then
      note two "$lock" "$other" "$$"
      break
    fi
    rm -f "$lock"
  done
  set +C
  held=1
}

# Reads lines until one that is not a letter; takes the letters in.
listen() {
  while read -r word rest; do
    [ "$word" = letter ] || return 0
    letters="$letters
$rest"
  done
  leave
}

take_letters() {
  via=$1
  while read -r id kind again task status request; do
    [ -n "$id" ] || continue
    note got "$via" "$id" "$kind" "$again" "$task" "$status" "$request"
    learn "$kind"
  done <<EOF
$letters
EOF
  letters=
  say noted
}

learn() {
  case $1 in
    answer) answered=1 ;;
    inquiry) inquired=1 ;;
  esac
}

remember() {
  while read -r _ _ word _ _ kind _; do
    [ "$word" = got ] && learn "$kind"
  done <"$effects"
}

call() {
  say call "$@"
  listen
  reply=$rest
  [ "$reply" = gone ] && leave
  via=call
  [ "$1" = spawn ] && via=spawn
  [ -n "$letters" ] && take_letters "$via"
}

# Every question and every failure in its history that nothing was done about.
care() {
  todo=
  while read -r _ _ word _ _ kind _ task status request; do
    [ "$word" = got ] || continue
    [ "$kind" = question ] && todo="$todo answer:$request"
    [ "$kind" = end ] && [ "$status" = failed ] && todo="$todo retry:$task"
  done <"$effects"
  for item in $todo; do
    what=${item%%:*} of=${item#*:}
    grep -q " ack $what $of" "$effects" && continue
    call "$what" "$of"
    note ack "$what" "$of" "$reply"
  done
}

spawn_children() {
  [ -n "$spawned" ] && return
  number=0
  for child in $children; do
    call spawn "c$number" "$child"
    note ack spawn "c$number" "$reply"
    number=$((number + 1))
  done
  spawned=1
}

# Reports; what it had not read comes with the refusal and is cared for first.
report() {
  outcome=$1
  while :; do
    call report "$outcome"
    case $reply in
      accepted)
        note ack report "$run" "$outcome"
        [ "$stubborn" = 1 ] && sleep 0.02
        return
        ;;
      unread) care ;;
      *) return ;;
    esac
  done
}

act() {
  sleep "$work"
  case $role in
    flaky) [ "$attempt" = 1 ] && report failed || report success ;;
    forgetful) [ -n "$inquired" ] && report success ;;
    crasher)
      [ "$epoch" = 1 ] && kill -9 $$
      report success
      ;;
    asker)
      if [ -n "$answered" ]; then
        report success
      elif ! grep -q ' ack ask ' "$effects"; then
        call ask
        note ack ask "$reply"
      fi
      ;;
    fan)
      spawn_children
      care
      report success
      ;;
    *) report success ;;
  esac
}

while :; do
  listen
  [ "$word" = turn ] || continue
  turn=$rest
  hold
  take_letters turn
  remember
  act
  say end "$turn"
done
