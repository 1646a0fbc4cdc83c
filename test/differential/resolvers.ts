import type { ResolverKind } from './case.ts';

/** Merges `$THEIRS`, and takes one side of everything that conflicts: ours and theirs in turn. */
const RESOLVED = String.raw`
git merge -q --no-edit "$THEIRS" >/dev/null 2>&1 || true
stages=$(mktemp); new=$(mktemp); n=0; none=$(git rev-parse HEAD | tr 0-9a-f 0)
git ls-files -u -z > "$stages"
declare -A ours theirs
paths=()
while IFS= read -r -d '' entry; do
  info=${'$'}{entry%%$'\t'*}; path=${'$'}{entry#*$'\t'}; set -- $info
  [ -n "${'$'}{ours[x$path]+x}${'$'}{theirs[x$path]+x}" ] || paths+=("$path")
  ours[x$path]=${'$'}{ours[x$path]-}; theirs[x$path]=${'$'}{theirs[x$path]-}
  [ "$3" != 2 ] || ours[x$path]="$1 $2"
  [ "$3" != 3 ] || theirs[x$path]="$1 $2"
done < "$stages"
for path in "${'$'}{paths[@]}"; do
  n=$((n + 1))
  a=${'$'}{ours[x$path]}; b=${'$'}{theirs[x$path]}
  [ $((n % 2)) = 1 ] && side=${'$'}{a:-$b} || side=${'$'}{b:-$a}
  # Where a file and a folder claim one name, git shows one as name~side: the other keeps the name.
  [[ $path != *~* ]] || side=
  printf '0 %s\t%s\0' "$none" "$path" >> "$new"
  [ -z "$side" ] || printf '%s\t%s\0' "$side" "$path" >> "$new"
done
[ ! -s "$new" ] || git update-index -z --index-info < "$new"
[ ! -e "$(git rev-parse --git-path MERGE_HEAD)" ] || git commit -q --no-verify -m resolved
git reset -q --hard
git clean -fdq
rm -f "$stages" "$new"
`;

/** What a resolver does in its worktree, as a script for bash with the commit it is to merge in `$THEIRS`. */
export const RESOLUTIONS: Readonly<Record<ResolverKind, string>> = {
  'does nothing': 'true',
  'commits one side': 'git read-tree -u --reset "$THEIRS"; git commit -q --allow-empty -m "one side"',
  'keeps one side as a merge': 'git merge -q -s ours -m "kept ours" "$THEIRS"',
  // The last of the files that git merges by itself and that only the other side has or changed.
  'drops a file': String.raw`
before=$(git rev-parse HEAD)
${RESOLVED}
path=$(git diff --name-only --no-renames --diff-filter=AM "$before" HEAD | LC_ALL=C sort | tail -n 1)
[ -z "$path" ] || git rm -q -f --cached -- "$path"
git commit -q --allow-empty -m dropped
git reset -q --hard`,
  reverts: `
before=$(git rev-parse HEAD)
${RESOLVED}
git read-tree -u --reset "$before"; git commit -q --allow-empty -m reverted`,
  'leaves markers':
    'git merge -q --no-edit "$THEIRS" || true; git add -A; git commit -q --allow-empty -m markers',
  'resolves properly': RESOLVED,
};
