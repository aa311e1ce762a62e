#!/bin/sh
# keep-state.sh PATH BRANCH
#
# Commits the state below PATH and pushes it to BRANCH of the remote `origin`. Never forces: if another job pushed the
# same state, it fails, so that you can compare the two.
set -eu

path=$1
branch=$2

if [ ! -e "$path" ]; then
  echo "no state at $path yet: nothing to commit" >&2
  exit 0
fi
git add -- "$path" ':(exclude)*.history.jsonl'
if git diff --cached --quiet; then
  echo 'state unchanged' >&2
  exit 0
fi
git -c user.name=voxform -c user.email=voxform@users.noreply.github.com \
  commit --quiet --message 'Update voxform state [skip ci]'

tries=5
while ! git push --quiet origin "HEAD:refs/heads/$branch"; do
  tries=$((tries - 1))
  if [ "$tries" -eq 0 ]; then
    echo "error: cannot push the state to $branch: it is in the last commit of this job's checkout" >&2
    exit 1
  fi
  git fetch --quiet origin "refs/heads/$branch"
  if ! git -c user.name=voxform -c user.email=voxform@users.noreply.github.com rebase --quiet FETCH_HEAD; then
    git rebase --abort
    echo "error: another run changed the state on $branch. Keep the one with the higher serial, and import what the other created:" >&2
    git show HEAD -- "$path" >&2
    exit 1
  fi
done
