import { describe, expect, it } from 'vitest';
import type { RunResult, SweepResults } from '../../src/record/results.js';
import { runResultSchema, sweepResultsSchema } from '../../src/record/schema.js';
import { summaryJsonSchema } from '../../src/record/schema-summary.js';
import type { JsonSchema } from '../json-schema.js';
import { SUMMARY } from './fixtures.js';

describe('schemas', () => {
  const run: RunResult = {
    version: 7,
    experiment: 'seed: 1',
    overrides: ['slo=50ms'],
    summary: SUMMARY,
    sloMs: null,
    windows: [
      {
        ...{ beginSeconds: 2, endSeconds: 3, offeredRps: 1, goodputRps: 1, failedRps: 0 },
        ...{ p99Ms: null, executedP50Ms: 2, executedP99Ms: 3 },
        ...{ execUtilization: 0.5, weightsUtilization: null, loads: 1 },
      },
    ],
    events: [{ atSeconds: 2.5, kind: 'GPU lost', text: 'GPU 0 was lost: no answer' }],
    latencyCdf: { percentile: [0, 100], ms: [1, 2] },
    timeline: [],
  };

  it('accept results as they are written and read', () => {
    const { wall: _, ...summary } = SUMMARY;
    const { experiment: __, overrides: ___, ...cell } = run;
    const sweep: SweepResults = {
      version: 7,
      escapement: '1.2.3',
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

  it('publish a JSON Schema that describes every member', () => {
    const schema = summaryJsonSchema() as unknown as JsonSchema;
    // A client cannot see what the scheduler does.
    const unseen = ['failures', 'digest', 'policy', 'actions', 'coldStarts', 'gpu'];
    expect(schema.required).toEqual(Object.keys(SUMMARY).filter((name) => !unseen.includes(name)));
    expect(Object.keys(schema.properties ?? {})).toEqual(
      expect.arrayContaining(['percentiles', 'thresholds']),
    );
    expect(undescribed(schema, 'summary')).toEqual([]);
  });
});

function undescribed(schema: JsonSchema, path: string): string[] {
  const below = Object.entries(schema.properties ?? {}).flatMap(([key, part]) =>
    undescribed(part, `${path}.${key}`),
  );
  return schema.description === undefined ? [path, ...below] : below;
}
