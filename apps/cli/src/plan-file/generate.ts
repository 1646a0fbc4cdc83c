// Writes the schema that editors complete plans from: `npm run generate -w apps/cli`.
import { writeFileSync } from 'node:fs';
import { planJsonSchema } from './schema.ts';

const file = new URL('../../../../examples/plan.schema.json', import.meta.url);
writeFileSync(file, `${JSON.stringify(planJsonSchema(), null, 2)}\n`);
