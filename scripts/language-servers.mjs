// The language servers that `npm test` runs besides those that come with us, as far as npm has them. Those of C++ (clangd) and Go
// (gopls, go) are taken from the path.
import { delimiter, join } from 'node:path';
import { CachedPackages } from './cached-packages.mjs';

const SERVERS = new CachedPackages('language-servers', {
  bash: 'bash-language-server@5.8.1',
  php: 'intelephense@1.18.5',
});

/** The folders of their programs, as a path. Who has no registry tests without them. */
export async function serverPath(say = console.log) {
  const refused = await SERVERS.install(say);
  for (const [name, answer] of Object.entries(refused))
    say(`No tests with ${SERVERS.packages[name]}: the registry refused it.\n${answer}`);
  const there = Object.keys(SERVERS.packages).filter((name) => !(name in refused));
  return there.map((name) => join(SERVERS.folderOf(name), 'node_modules', '.bin')).join(delimiter);
}
