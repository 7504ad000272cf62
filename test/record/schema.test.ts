import { describe, expect, expectTypeOf, it } from 'vitest';
import type { z } from 'zod';
import type { CellResult, RunResult, Summary, SweepResults } from '../../src/metrics/results.js';
import {
  type cellResultSchema,
  runResultSchema,
  summaryJsonSchema,
  summarySchema,
  sweepResultsSchema,
} from '../../src/metrics/schema.js';
import { SUMMARY } from './fixtures.js';

/** The interfaces are read-only; what a parser returns belongs to the caller. */
type Mutable<T> = T extends object ? { -readonly [K in keyof T]: Mutable<T[K]> } : T;

describe('schemas', () => {
  it('have the types of the results', () => {
    expectTypeOf<z.infer<typeof summarySchema>>().toEqualTypeOf<Mutable<Summary>>();
    expectTypeOf<z.infer<typeof runResultSchema>>().toEqualTypeOf<Mutable<RunResult>>();
    expectTypeOf<z.infer<typeof cellResultSchema>>().toEqualTypeOf<Mutable<CellResult>>();
    expectTypeOf<z.infer<typeof sweepResultsSchema>>().toEqualTypeOf<Mutable<SweepResults>>();
  });

  const run: RunResult = {
    version: 1,
    experiment: 'seed: 1',
    overrides: ['slo=50ms'],
    summary: SUMMARY,
    sloMs: null,
    groups: [],
    series: {
      beginSeconds: 2,
      binSeconds: 0.1,
      offeredRps: [1],
      goodputRps: [1],
      failedRps: [0],
      coldStartRps: [0],
    },
    latencyCdf: { percentile: [0, 100], ms: [1, 2] },
    timeline: [],
  };

  it('accept results as they are written and read', () => {
    const { wall: _, ...summary } = SUMMARY;
    const { experiment: __, overrides: ___, ...cell } = run;
    const sweep: SweepResults = {
      version: 1,
      name: 'sweep',
      experiment: 'seed: 1',
      defaults: { slo: '100ms' },
      vary: [{ key: 'slo', values: ['10ms', '25ms'] }],
      seeds: [1],
      cells: [
        {
          id: 'slo=10ms seed=1',
          values: { slo: '10ms' },
          seed: 1,
          status: 'done',
          result: { ...cell, summary },
        },
        {
          id: 'slo=25ms seed=1',
          values: { slo: '25ms' },
          seed: 1,
          status: 'failed',
          code: 'E_PROFILE',
          message: 'no',
        },
      ],
    };
    expect(runResultSchema.parse(JSON.parse(JSON.stringify(run)))).toEqual(run);
    expect(sweepResultsSchema.parse(JSON.parse(JSON.stringify(sweep)))).toEqual(sweep);
  });

  it('refuse what is missing or of another version', () => {
    expect(runResultSchema.safeParse({ ...run, version: 2 }).success).toBe(false);
    expect(summarySchema.safeParse({ ...SUMMARY, digest: 'abc' }).success).toBe(false);
  });

  it('publish a JSON Schema that describes every member', () => {
    const schema = summaryJsonSchema() as unknown as JsonSchema;
    expect(schema.required).toEqual(Object.keys(SUMMARY));
    expect(undescribed(schema, 'summary')).toEqual([]);
  });
});

interface JsonSchema {
  readonly description?: string;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
}

function undescribed(schema: JsonSchema, path: string): string[] {
  const below = Object.entries(schema.properties ?? {}).flatMap(([key, part]) =>
    undescribed(part, `${path}.${key}`),
  );
  return schema.description === undefined ? [path, ...below] : below;
}
