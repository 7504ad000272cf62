import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseExperimentSource } from '../../src/config/build.js';
import {
  defaultText,
  describeKeys,
  experimentJsonSchema,
  keyExists,
  profileJsonSchema,
} from '../../src/config/keys.js';
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

const { tree } = parseExperimentSource(BASE, 'exp.yaml');

describe('defaultText', () => {
  it.each([
    ['slo', '100ms'],
    ['policy.scheduleAhead', '10ms'],
    ['policy.maxBatch', '8'],
    ['policy.kind', 'clockwork'],
    ['cluster.gpus', '1'],
    ['cluster.memory', '21.5GiB'],
    ['cluster.network.delay', '0s'],
    ['workload.rate', '600/s'],
    ['workload.0.rate', '600/s'],
    ['workload.popularity.kind', 'uniform'],
    ['output.timeline', 'worst'],
  ])('%s is %s', (key, text) => expect(defaultText(tree, key)).toBe(text));

  it('knows none for what is derived, required or does not exist', () => {
    expect(defaultText(tree, 'policy.latestDelta')).toBeUndefined();
    expect(defaultText(tree, 'workload.cv')).toBeUndefined();
    expect(defaultText(tree, 'no.such')).toBeUndefined();
  });
});

describe('keyExists', () => {
  it('follows the kinds that the file chose', () => {
    expect(keyExists(tree, 'workload.rate')).toBe(true);
    expect(keyExists(tree, 'workload.cv')).toBe(false);
    expect(keyExists({ workload: [{ kind: 'gamma' }, { kind: 'ramp' }] }, 'workload.1.to')).toBe(true);
    expect(keyExists({ workload: [{ kind: 'gamma' }] }, 'workload.rate')).toBe(false);
    expect(keyExists(tree, 'toString')).toBe(false);
  });
});

describe('describeKeys', () => {
  it('lists every key once for each kind that has it', () => {
    const keys = describeKeys();
    const names = keys.map(({ key, kind }) => `${key} ${kind ?? ''}`);
    expect(new Set(names).size).toBe(names.length);
    expect(keys).toContainEqual({
      key: 'policy.scheduleAhead',
      kind: 'clockwork',
      description: expect.any(String),
      default: '10ms',
      required: false,
    });
    expect(keys).toContainEqual({
      key: 'cluster.network.delay',
      description: expect.any(String),
      default: '0s',
      required: false,
    });
    expect(keys).toContainEqual({
      key: 'workload.from',
      kind: 'ramp',
      description: 'Rate at the start.',
      required: true,
    });
  });
});
