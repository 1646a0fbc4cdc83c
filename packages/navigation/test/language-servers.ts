import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Where the servers are that were installed for the tests, and those of the machine. */
export const SERVER_PATH = [process.env['REVEILLE_SERVERS'] ?? '', process.env['PATH'] ?? '']
  .filter((path) => path !== '')
  .join(delimiter);

/** Where this is said nothing may be left out because it is not there. */
export const REQUIRED = process.env['REVEILLE_REQUIRE_SERVERS'] === '1';

export const isHere = (program: string): boolean =>
  SERVER_PATH.split(delimiter).some((folder) => isProgram(join(folder, program)));

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
