// Writes the schema that editors complete configuration from: `npm run generate -w packages/daemon`.
import { writeFileSync } from 'node:fs';
import { configJsonSchema } from './schema.ts';

const file = new URL('../../config.schema.json', import.meta.url);
writeFileSync(file, `${JSON.stringify(configJsonSchema(), null, 2)}\n`);
