import { existsSync } from 'node:fs';
import { mkdir, rename } from 'node:fs/promises';
import { REPOSITORIES, libraryIn, shopIn, type RepositoryKind } from './case.ts';
import { need } from './shell.ts';

/** Every run of it makes the same commits. */
const DATES = { GIT_AUTHOR_DATE: '2026-01-02T03:04:05Z', GIT_COMMITTER_DATE: '2026-01-02T03:04:05Z' };

/** Another project, whose commits the submodule can stand on. */
const LIBRARY = `
git init -q "$FORMAT" library
cd library
for n in one two three; do echo "$n" > n.txt; git add -A; git commit -qm "$n"; git tag "$n"; done
cd ..
`;

const FILES = `
for i in 1 2 3 4 5 6; do seq 1 30 | sed "s/^/f$i line /" > f$i.txt; done
mkdir -p d/e lib sub2 art dist
seq 1 20 > d/x.c; seq 5 40 > d/e/y.c; seq 100 130 > lib/z.c; seq 200 240 > lib/w.c
printf 'a\\r\\nb\\r\\nc\\r\\n' > crlf.txt
: > empty
head -c 3000 /dev/zero | tr '\\0' '\\1' > bin.dat; printf '\\0' >> bin.dat
cp bin.dat image.pic
ln -s f1.txt link
printf '#!/bin/sh\\n' > run.sh; chmod +x run.sh
printf '*.log\\nbuild/\\ndist/\\n*.gen\\n' > .gitignore
printf '!keep.log\\n*.tmp\\n' > sub2/.gitignore; echo k > sub2/keep.log
echo k > 'ünï.txt'
printf '*.psd filter=lfs diff=lfs merge=lfs -text\\nCHANGELOG merge=union\\n*.lock -merge\\n*.pic binary\\n' > .gitattributes
printf 'version https://git-lfs.github.com/spec/v1\\noid sha256:%064d\\nsize 1\\n' 1 > art/logo.psd
seq 1 30 > p.lock; seq 1 6 > CHANGELOG
seq 1 12 > dist/app.js; seq 1 12 > k.gen
git add -A; git add -f dist/app.js k.gen
`;

const SUBMODULE = `
printf '[submodule "vendor"]\\n\\tpath = vendor\\n\\turl = ../library\\n' > .gitmodules
git update-index --add --cacheinfo "160000,$(git -C ../library rev-parse one),vendor"
mkdir -p vendor
git add .gitmodules
`;

const CHECKED_OUT = `
git submodule add -q ../library vendor
git -C vendor checkout -q one
git add vendor
`;

const DIRTY = `
sed -i '12s/$/ by the person/' f4.txt
echo new > of-the-person.txt
echo staged > staged-by-the-person.txt; git add staged-by-the-person.txt
rm f3.txt
chmod +x f6.txt
echo ignored > person.log
`;

/** What is done when the first commits are there. */
const AFTER: Readonly<Partial<Record<RepositoryKind, string>>> = {
  detached: 'git checkout -q --detach',
  'dirty, from HEAD': DIRTY,
  'dirty, from a snapshot': DIRTY,
  autocrlf: 'git config core.autocrlf input',
};

/** Makes the person's repository in new folders, as copies of one that is made once for each kind. */
export async function makeRepositories(
  folders: readonly string[],
  kind: RepositoryKind,
  { templates, env }: { readonly templates: string; readonly env: Record<string, string> },
): Promise<void> {
  const template = `${templates}/${REPOSITORIES.indexOf(kind)}`;
  if (!existsSync(template)) await makeTemplate(template, kind, env);
  const places = folders.map((folder) => `"${folder}"`).join(' ');
  // A linked worktree and its repository name each other by their whole paths.
  const repair = kind === 'linked worktree' ? 'git -C "$to/main" worktree repair "$to/shop" >/dev/null' : ':';
  const script = `for to in ${places}; do cp -a "${template}" "$to"; ${repair}; done`;
  await need({ cwd: templates, env, script });
}

async function makeTemplate(
  template: string,
  kind: RepositoryKind,
  env: Record<string, string>,
): Promise<void> {
  const commits = `${FILES}${kind === 'submodule checked out' ? CHECKED_OUT : SUBMODULE}
git commit -qm first
echo second >> d/x.c; git commit -qam second
${AFTER[kind] ?? ''}`;
  making += 1;
  const folder = `${template}-${making}`;
  await mkdir(folder, { recursive: true });
  await need({
    cwd: folder,
    env: { ...env, ...DATES, FORMAT: kind === 'sha256' ? '--object-format=sha256' : '--object-format=sha1' },
    script: `${LIBRARY}${placed(kind, commits)}`,
  });
  // Another case may have been as quick.
  await rename(folder, template).catch(() => undefined);
}

let making = 0;

function placed(kind: RepositoryKind, commits: string): string {
  const made = (name: string): string => `git init -q "$FORMAT" ${name}\ncd ${name}\n${commits}\n`;
  switch (kind) {
    case 'shallow':
      return `${made('origin')}\ncd ..\ngit clone -q --depth 1 "file://$PWD/origin" shop`;
    case 'sparse':
      return `${made('shop')}\ngit sparse-checkout set d sub2`;
    case 'linked worktree':
      return `${made('main')}\ngit worktree add -q -b side ../shop`;
    default:
      return made('shop');
  }
}

/** What commands of a case find in their environment: the other project, by the folder it is in. */
export const placesIn = (folder: string): Record<string, string> => ({
  LIBRARY: libraryIn(folder),
  SHOP: shopIn(folder),
});
