import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseExperiment } from '../../src/config/load.js';
import { replayJournal } from '../../src/live/journal/replay.js';
import { live } from '../../src/run/live.js';
import { run } from '../../src/run/run.js';
import { simulate } from '../../src/run/simulated.js';
import { tempDir } from '../cli/run-cli.js';
import { replayPolicy } from '../live/journal/fixtures.js';

const TEXT = `seed: 1
cluster: { gpus: 1, pages: 60 }
models: { kind: fit, name: model, parameters: 10M, copies: 4 }
classes:
  - { name: gold, weight: 5 }
  - { name: bulk, weight: 0.5, share: 20% }
workload:
  - { name: a, kind: poisson, rate: 150/s, duration: 2s }
  - { name: b, kind: poisson, rate: 300/s, duration: 2s, class: bulk }
  - { name: c, kind: poisson, rate: 50/s, duration: 2s, class: gold }
slo: 100ms
policy: { kind: edf }
output: { requestLog: true, actionLog: true, timeline: false }
`;

describe('classes of a run', () => {
  it('have figures of their own, which the sections that name them add up to', async () => {
    const { summary } = await simulate(await parseExperiment(TEXT, 'classes.yaml'));
    const [a, b, c] = summary.by.group!;
    const [gold, bulk] = summary.by.class!;
    expect(gold).toMatchObject({ key: 'gold', weight: 5, share: 0 });
    expect(bulk).toMatchObject({ key: 'bulk', weight: 0.5, share: 0.2, requests: b.requests });
    expect(gold.requests.offered).toBe(a.requests.offered + c.requests.offered);
    expect(gold.requests.ok).toBe(a.requests.ok + c.requests.ok);
    expect(bulk.offeredLatencyMs).toEqual(b.offeredLatencyMs);
    expect(summary.weightedGoodputRps).toBeCloseTo(5 * gold.goodputRps! + 0.5 * bulk.goodputRps!, 9);
    expect((gold.gpuShare ?? 0) + (bulk.gpuShare ?? 0)).toBeCloseTo(1, 9);
  });

  it('are in the log of requests, and live in the journal, which replays to the same digest', async () => {
    const dir = tempDir();
    const experiment = await parseExperiment(TEXT, 'classes.yaml', ['workload.0.duration=500ms']);
    const journal = join(dir, 'run.journal');
    const { result } = await run(experiment, live(journal), { outDir: dir });
    const rows = readFileSync(join(dir, 'requests.tsv'), 'utf8').trimEnd().split('\n');
    const [header, ...requests] = rows.map((row) => row.split('\t'));
    expect(header.at(-1)).toBe('class_id');
    const bulk = requests.filter((row) => row.at(-1) === '1');
    expect(bulk).toHaveLength(result.summary.by.class?.[1].requests.offered as number);
    const replay = await replayJournal(journal, { createPolicy: replayPolicy });
    expect(replay.digest).toBe(result.summary.digest);
    expect(readFileSync(journal, 'utf8')).toMatch(/^o \d+ \S+ \S+ \d+ 1 0$/m);
  });
});
