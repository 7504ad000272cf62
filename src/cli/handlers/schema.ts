import * as z from 'zod';
import { experimentJsonSchema, profileJsonSchema } from '../../config/json-schema.js';
import { runResultSchema, sweepResultsSchema } from '../../record/schema.js';
import { summaryJsonSchema } from '../../record/schema-summary.js';
import { writeOut } from '../../text/terminal.js';
import type { SchemaArgs } from '../commands/schema.js';

/** JSON Schemas by the name that the command takes. */
const SCHEMAS = {
  experiment: experimentJsonSchema,
  profile: profileJsonSchema,
  summary: summaryJsonSchema,
  run: () => z.toJSONSchema(runResultSchema),
  results: () => z.toJSONSchema(sweepResultsSchema),
};

/** `escapement schema NAME`: the published formats, for editors and scripts. */
export function run({ name }: SchemaArgs): void {
  writeOut(`${JSON.stringify(SCHEMAS[name](), null, 2)}\n`);
}
