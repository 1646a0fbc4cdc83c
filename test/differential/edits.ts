/**
 * What agents do, by subject, as commands for bash. Edits of one subject meet each other when they are given to
 * different tasks of a case. `@` stands for a number that no other edit of the case has.
 */
export const SUBJECTS = {
  ignore: {
    'new file that another task ignores': 'echo @ > report.csv; mkdir -p out; echo @ > out/r@.csv',
    '.gitignore gains a pattern': String.raw`printf '*.csv\nout/\n' >> .gitignore`,
    '.gitignore gains a pattern of tracked files': String.raw`printf '*.txt\n/d/\n' >> .gitignore; echo @ > hidden@.txt`,
    'negated pattern': String.raw`printf '!x.log\n!dist/\n' >> .gitignore; echo @ > x.log; mkdir -p dist; echo @ > dist/new@.js`,
    '.gitignore deleted': 'rm .gitignore; echo @ > now@.log; mkdir -p build; echo @ > build/now@',
    'nested .gitignore': String.raw`printf '*.c\n' > d/.gitignore; echo @ > d/new@.c; echo @ > sub2/n@.tmp; rm -f sub2/.gitignore`,
    'edits a file that is ignored by now': 'test -f report.csv; echo more @ >> report.csv',
    'renames a file that is ignored by now': 'git mv report.csv report@.csv',
    'moves a file to an ignored name': 'mv f6.txt f6.log',
    'writes ignored files':
      'echo @ > junk.log; mkdir -p build dist; echo @ > build/o@; echo @ > dist/junk@.js',
  },
  forced: {
    'forces an ignored file and commits it':
      'echo @ > forced.log; git add -f forced.log; git commit -qm forced',
    'forces an ignored file and only stages it': 'echo @ > staged@.log; git add -f staged@.log',
    'edits a forced file': 'test -f forced.log; echo edit @ >> forced.log',
    'renames a forced file': 'git mv forced.log forced@.log',
    'deletes a forced file': 'git rm -q --cached forced.log; rm forced.log',
    'edits a tracked and ignored file': `sed -i '3s/$/ @/' k.gen dist/app.js`,
    'edits the end of a tracked and ignored file': `sed -i '11s/$/ @/' k.gen dist/app.js`,
    'renames a tracked and ignored file': 'git mv k.gen k2.gen; git mv dist/app.js dist/app2.js',
    'moves a tracked and ignored file by hand': 'mv k.gen k@.gen',
    'untracks an ignored file': 'git rm -q --cached k.gen',
    'untracks a file that is not ignored': 'git rm -q --cached f4.txt',
    'deletes a tracked and ignored file': 'rm dist/app.js',
    'executable and ignored': 'chmod +x dist/app.js',
  },
  submodule: {
    'submodule to two': String.raw`git update-index --cacheinfo "160000,$(git -C "$LIBRARY" rev-parse two),vendor"; git commit -qm bump`,
    'submodule to three': String.raw`git update-index --cacheinfo "160000,$(git -C "$LIBRARY" rev-parse three),vendor"; git commit -qm bump`,
    'submodule bump only staged': String.raw`git update-index --cacheinfo "160000,$(git -C "$LIBRARY" rev-parse two),vendor"`,
    'submodule moved': 'git mv vendor third; git commit -qm moved',
    'submodule removed': 'git rm -qf vendor; git commit -qm removed',
    'submodule replaced by a folder': 'git rm -qf vendor; mkdir -p vendor; echo @ > vendor/own.txt',
    'edits .gitmodules': `git config -f .gitmodules submodule.vendor.branch b@`,
    'edits beside a submodule': 'echo @ > beside@.txt',
  },
  attributes: {
    'appends where merge=union': 'echo line @ >> CHANGELOG',
    'prepends where merge=union': `sed -i '1i top @' CHANGELOG`,
    'edits the top where -merge': `sed -i '3s/$/ @/' p.lock`,
    'edits the bottom where -merge': `sed -i '25s/$/ @/' p.lock`,
    'edits a binary by attribute': `printf '@' >> image.pic`,
    'sets -merge': String.raw`printf 'f1.txt -merge\n' >> .gitattributes; sed -i '25s/$/ @/' f1.txt`,
    'sets merge=union': String.raw`printf 'f1.txt merge=union\n' >> .gitattributes; sed -i '3s/$/ @/' f1.txt`,
    'edits where an attribute may come': `sed -i '3s/$/ @/' f1.txt`,
    'edits far from where an attribute may come': `sed -i '25s/$/ @/' f1.txt`,
    'nested .gitattributes': String.raw`printf '*.c merge=union\n' > d/.gitattributes; sed -i '10s/$/ @/' d/e/y.c`,
    'edits under nested .gitattributes': `sed -i '10s/$/ @/' d/e/y.c`,
  },
  pointers: {
    'LFS pointer changed': String.raw`printf 'version https://git-lfs.github.com/spec/v1\noid sha256:%064d\nsize 2\n' @ > art/logo.psd`,
    'LFS pointer added': String.raw`printf 'version https://git-lfs.github.com/spec/v1\noid sha256:%064d\nsize 3\n' @ > art/new@.psd`,
    'LFS pointer deleted': 'rm art/logo.psd',
    'LFS pointer moved': 'git mv art/logo.psd art/mark.psd',
  },
  modes: {
    executable: 'chmod +x f2.txt',
    'edits what becomes executable': `sed -i '9s/$/ @/' f2.txt`,
    'not executable': 'chmod -x run.sh',
    'edits a script': 'echo echo @ >> run.sh',
    'replaces a script': String.raw`rm -f run.sh; printf 'new @\n' > run.sh`,
    'only touches': 'touch f1.txt f2.txt; chmod 600 f3.txt',
  },
  links: {
    'link to elsewhere': 'ln -sfn f2.txt link',
    'link replaced by a file': 'rm link; echo now a file > link',
    'link replaced by a folder': 'rm link; mkdir link; echo @ > link/in',
    'file replaced by a link': 'rm f5.txt; ln -s f1.txt f5.txt',
    'folder replaced by a link': 'rm -r lib; ln -s d lib',
    'edits a file that may become a link': `sed -i '4s/$/ @/' f5.txt`,
    'link that leads nowhere': 'ln -s nowhere dangling@; ln -s /etc/hostname absolute@; ln -s ../../.. up@',
  },
  shapes: {
    'folder becomes a file': 'rm -r lib; echo lib > lib',
    'file becomes a folder': 'rm empty; mkdir empty; echo @ > empty/in',
    'edits in a folder that may go': `sed -i '4s/$/ @/' lib/z.c`,
    'adds to a folder that may go': 'mkdir -p lib; echo @ > lib/new@.c',
    'edits a file that may become a folder': 'echo @ >> empty',
    'deletes a folder': 'rm -r d',
    'empty folder': 'mkdir empty@; mkdir -p deep@/er/est',
  },
  renames: {
    'renames a folder': 'mv d dd',
    'adds to a folder that may be renamed': 'mkdir -p d; echo new @ > d/new@.c',
    'edits in a folder that may be renamed': `sed -i '2s/$/ @/' d/x.c`,
    'renames within': 'mv d/e e',
    'renames a file': 'git mv f5.txt g5.txt',
    'renames the same file otherwise': 'mv f5.txt h5.txt',
    'edits a file that may be renamed': `sed -i '20s/$/ @/' f5.txt`,
    'renames and edits': `mv f6.txt g6.txt; sed -i '28s/$/ @/' g6.txt`,
    'deletes what may be renamed': 'rm f5.txt f6.txt',
    'swaps two files': 'mv lib/z.c lib/t.c; mv lib/w.c lib/z.c; mv lib/t.c lib/w.c',
    'changes the case': 'mv f2.txt F2.txt; mv d/x.c d/X.c',
    'adds a name of another case': 'echo @ > F2.TXT; echo @ > LIB',
    copies: 'cp f1.txt copy@.txt',
  },
  lines: {
    'edits line 3': `sed -i '3s/$/ @/' f1.txt`,
    'edits line 3 otherwise': `sed -i '3s/line/LINE @/' f1.txt`,
    'edits line 15': `sed -i '15s/$/ @/' f1.txt`,
    'inserts lines': `sed -i '20i one @\\ntwo @' f1.txt`,
    'deletes lines': `sed -i '24,27d' f1.txt`,
    'deletes files': 'rm f3.txt f4.txt',
    'edits what may be deleted': `sed -i '7s/$/ @/' f3.txt`,
    'adds the same path': 'echo added by @ > same.txt',
    'adds the same file': 'echo the same > equal.txt',
  },
  binaries: {
    'binary changed': String.raw`printf '\0\1@' > bin.dat`,
    'binary grown': String.raw`printf '\0more@' >> bin.dat`,
    'binary deleted': 'rm bin.dat',
    'binary added': `head -c 3000@ /dev/zero > nul@`,
    'text without an end of line': `printf 'no end @' > noend@; : > zero@`,
  },
  names: {
    'odd names': String.raw`echo @ > 'sp ace@'; echo @ > $'tab\t@'; echo @ > $'nl\n@'; echo @ > '"q@"'; echo @ > -- '-dash@'`,
    'names beyond ASCII': `echo @ > '日本@.txt'; echo @ > $'e\\u0301@'; echo @ > $'\\u00e9@'`,
    'long path': `p=$(printf 'long%.0s' $(seq 50)); mkdir -p $p/$p/$p; echo @ > $p/$p/$p/p`,
    'accent moved': `mv ünï.txt $'u\\u0308nï.txt'`,
    'nearly git': 'mkdir -p a/.git2; echo @ > a/.git2/x; echo @ > .gitkeep; echo @ > a/.github',
    'nested repository': 'git init -q nest@; echo @ > nest@/z',
  },
  'line ends': {
    'CRLF appended': String.raw`printf 'd@\r\n' >> crlf.txt`,
    'CRLF removed': String.raw`sed -i 's/\r//' crlf.txt`,
    'CRLF added': String.raw`printf 'x\r\ny@\r\n' > new-crlf@.txt`,
    // Everything is touched, so that git looks at every file anew: else its memory of times decides what it converts.
    'text by attribute': String.raw`printf '*.txt text\n' >> .gitattributes; git ls-files -z | xargs -0 touch -hc`,
    'eol=crlf by attribute': String.raw`printf '*.txt text eol=crlf\n' >> .gitattributes; git ls-files -z | xargs -0 touch -hc`,
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, string>>>>;
export type Subject = keyof typeof SUBJECTS;

/** What Reveille does not take, and says so: files whose names are no text (WKT6.15). Nothing else is left out of the comparison. */
export const NOT_TAKEN = {
  kind: 'name that is no text',
  script: String.raw`echo @ > $'\xff\xfe@'; mkdir -p $'dir\xe9'; echo @ > $'dir\xe9/f@'`,
} as const;

/** How an agent treats its work besides editing: what it commits itself, and what it leaves. */
export const COMMITS = {
  'leaves everything uncommitted': '',
  'commits everything': 'git add -A; git commit -qm all',
  'commits what git knows': 'git commit -qam known',
  amends:
    'git add -A; git commit -qm first; echo amended @ > amended@.txt; git add -A; git commit -q --amend -m second',
  'rewinds its own commit':
    'git add -A; git commit -qm gone; git reset -q --hard HEAD~1; echo @ > after@.txt',
  'rewinds and keeps the files': 'git add -A; git commit -qm gone; git reset -q HEAD~1',
  'works on a branch of its own': 'git checkout -q -b own-@; git add -A; git commit -qm own',
  'stages half': 'git add -u; echo more @ > more@.txt',
} as const;
export type CommitKind = keyof typeof COMMITS;
