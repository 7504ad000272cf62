import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { FidelityRun } from './fidelity.js';
import { fidelityTable } from './markdown.js';

describe('the table of live and simulated runs', () => {
  it('is the one on the page, made of the runs next to it', () => {
    const runs = readFileSync('experiments/live/fidelity.jsonl', 'utf8')
      .trimEnd()
      .split('\n')
      .map((line): FidelityRun => JSON.parse(line));
    expect(readFileSync('experiments/live/README.md', 'utf8')).toContain(fidelityTable(runs));
  });
});
