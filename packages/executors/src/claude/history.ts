import { createReadStream, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** Lines that are about the transcript, or about what waited to become part of it. */
const NOT_SAID = /^\{"type":"(queue-operation|summary|file-history-snapshot)"/;

/** Which of the ids are in the transcript of a session; null: there is no such transcript. */
export async function idsIn(
  folder: string,
  session: string,
  ids: readonly string[],
): Promise<ReadonlySet<string> | null> {
  const file = transcriptOf(folder, session);
  if (file === null) return null;
  const open = new Set(ids);
  const found = new Set<string>();
  for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
    if (NOT_SAID.test(line)) continue;
    for (const id of open) {
      if (!line.includes(id)) continue;
      found.add(id);
      open.delete(id);
    }
  }
  return found;
}

/** It is in a folder that is named after the one the agent worked in, in a way that is the agent's own. */
function transcriptOf(folder: string, session: string): string | null {
  try {
    for (const { parentPath, name } of readdirSync(folder, { recursive: true, withFileTypes: true }))
      if (name === `${session}.jsonl`) return join(parentPath, name);
  } catch {
    // It has never kept one.
  }
  return null;
}
