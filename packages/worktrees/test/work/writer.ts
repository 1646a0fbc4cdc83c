import { openDoor } from '@reveille/worktrees';

/** A process that writes a large file through the door, again and again: `writer.ts <tree>`. */
using door = openDoor(process.argv[2] ?? '', { access: 'write' });
const text = 'x'.repeat(8 * 1024 * 1024);
for (;;) await door.writeFile('large', text);
