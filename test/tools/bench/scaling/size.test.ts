import { describe, expect, it } from 'vitest';
import { readServerSettings } from '../../../../src/config/server-settings.js';
import { simulatedModel } from '../../../../src/serve/simulated-models.js';
import { sizeWork } from '../../../../src/tools/bench/scaling/size.js';
import type { ScalingSubject } from '../../../../src/tools/bench/scaling/subject.js';

/** Two models, 4 requests in 8 ms and 2 in 2 ms at best: with equal shares 1.5 ms a request. */
const SUBJECT: ScalingSubject = {
  name: 'two',
  devices: [],
  models: [
    model('a', [1, 4], [5e6, 8e6]),
    // Larger batches are no faster.
    model('b', [1, 2, 4], [1.5e6, 2e6, 8e6]),
  ],
  pages: 100,
  pageBytes: 1e6,
  settings: (await readServerSettings({ file: null, environment: [], overrides: [] })).settings,
  mix: [0.5, 0.5],
  sloNs: null,
};
const HOW = { gpus: [1, 4], seconds: 0.3, clients: null };

describe('work', () => {
  it('is the same for any number of GPUs in strong scaling', () => {
    const works = sizeWork(SUBJECT, 'strong', HOW);
    expect(works.map(({ gpus, requests, clients, sloNs }) => [gpus, requests, clients, sloNs])).toEqual([
      [1, 800, 48, 1e9],
      [4, 800, 48, 1e9],
    ]);
    expect(works.map(({ subject }) => subject.models.length)).toEqual([8, 8]);
  });

  it('grows with the GPUs in weak scaling', () => {
    const works = sizeWork(SUBJECT, 'weak', HOW);
    expect(works.map(({ gpus, requests, clients }) => [gpus, requests, clients])).toEqual([
      [1, 200, 12],
      [4, 800, 48],
    ]);
    expect(works.map(({ subject }) => subject.models.map(({ spec }) => spec.name))).toEqual([
      ['a', 'b'],
      ['a-0', 'b-0', 'a-1', 'b-1', 'a-2', 'b-2', 'a-3', 'b-3'],
    ]);
    const { mix } = works[1].subject;
    expect(mix).toEqual(new Array(8).fill(1 / 8));
  });

  it('has the clients that were asked for: of all GPUs or of each', () => {
    const clients = (mode: 'strong' | 'weak') =>
      sizeWork(SUBJECT, mode, { ...HOW, clients: 10 }).map((work) => work.clients);
    expect(clients('strong')).toEqual([10, 10]);
    expect(clients('weak')).toEqual([10, 40]);
  });

  it('gives all numbers of GPUs the SLO of the fewest, with room for all that waits there', () => {
    const slo = (mode: 'strong' | 'weak') =>
      sizeWork(SUBJECT, mode, { ...HOW, clients: 1000 }).map(({ sloNs }) => sloNs);
    expect(slo('strong')).toEqual([6e9, 6e9]);
    expect(slo('weak')).toEqual([6e9, 6e9]);
    const given = sizeWork({ ...SUBJECT, sloNs: 5e7 }, 'weak', HOW);
    expect(given.map(({ sloNs }) => sloNs)).toEqual([5e7, 5e7]);
  });
});

function model(name: string, batchSizes: number[], execNs: number[]) {
  const spec = { name, weightsBytes: 1e6, pages: 1, loadNs: 1e6, inputBytes: 4, outputBytes: 4 };
  return simulatedModel({ ...spec, batchSizes, execNs }, 1);
}
