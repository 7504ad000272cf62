import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseExperimentSource } from '../../src/config/build.js';
import { experimentJsonSchema, profileJsonSchema } from '../../src/config/keys.js';
import type { JsonSchema } from '../json-schema.js';
import { BASE } from './experiment-files.js';

const SCHEMAS = join(import.meta.dirname, '../../experiments/schema');
const committed = (name: string): unknown =>
  JSON.parse(readFileSync(join(SCHEMAS, `${name}.schema.json`), 'utf8'));

describe('JSON Schemas', () => {
  // To renew: escapement schema experiment > experiments/schema/experiment.schema.json, likewise profile.
  it('in experiments/schema are those of the program', () => {
    expect(committed('experiment')).toEqual(experimentJsonSchema());
    expect(committed('profile')).toEqual(profileJsonSchema());
  });

  it('describe every key', () => {
    expect(undescribed(experimentJsonSchema(), '')).toEqual([]);
    expect(undescribed(profileJsonSchema(), '')).toEqual([]);
  });
});

function undescribed(schema: JsonSchema, path: string): string[] {
  const inner = Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const key = `${path}.${name}`;
    const missing = field.description === undefined && field.const === undefined ? [key] : [];
    return [...missing, ...undescribed(field, key)];
  });
  const branches = [
    ...(schema.anyOf ?? []),
    ...(schema.oneOf ?? []),
    ...Object.values(schema.$defs ?? {}),
    ...(schema.items === undefined ? [] : [schema.items]),
  ];
  return [...inner, ...branches.flatMap((branch) => undescribed(branch, path))];
}

parseExperimentSource(BASE, 'exp.yaml');
