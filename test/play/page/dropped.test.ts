import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { parseExperiment } from '../../../src/browser/parse.js';
import { withDropped } from '../../../src/play/page/dropped.js';
import type { Setup } from '../../../src/play/share/address.js';
import { BASE, MODELS_CSV } from '../../config/experiment-files.js';
import { rejection } from '../../config/failure.js';

const SETUP: Setup = {
  file: 'experiment.yaml',
  text: 'models: { kind: zoo, varieties: 3 }\nworkload: { kind: poisson, rate: 300/s, duration: 1s }\n',
  ...{ overrides: ['workload.rate=100/s', 'slo=25ms'], lanes: [[], ['policy.kind=edf']], files: {} },
};
const TRACE = 'arrival_ns,model_id,slo_ns\n5,0,100000000\n9,1,100000000\n';
const file = (name: string, content: string | Uint8Array) => ({
  name,
  content: typeof content === 'string' ? new TextEncoder().encode(content) : content,
});

describe('what is dropped on the page', () => {
  it('is an experiment with the files that it names, in any order', async () => {
    const text = BASE.replace('models.csv', 'lists/models.csv');
    const { file: name, ...setup } = await withDropped(SETUP, [
      file('models.csv', MODELS_CSV),
      file('mine.yaml', text),
    ]);
    expect(name).toBe('mine.yaml');
    expect(setup).toEqual({ text, overrides: [], lanes: [[]], files: { 'lists/models.csv': MODELS_CSV } });
  });

  it.each([
    ['trace.csv', TRACE],
    ['trace.csv.gz', new Uint8Array(gzipSync(TRACE))],
  ])('is a trace, %s, which becomes the workload', async (name, content) => {
    const { text, overrides, files } = await withDropped(SETUP, [file(name, content)]);
    const { workloads, sloNs } = await parseExperiment(text, { overrides, files });
    expect(workloads).toMatchObject([{ kind: 'arrivals' }]);
    expect(sloNs).toBe(25e6);
  });

  it('is refused with one line otherwise', async () => {
    for (const [name, content, code] of [
      ['mine.yaml', '{ a: [', 'E_CONFIG_SYNTAX'],
      ['notes.txt', 'hello', 'E_TRACE_HEADER'],
      ['noise.csv.gz', 'not packed', 'E_FILE_TRUNCATED'],
      ['picture.png', new Uint8Array([0x89, 0x50, 0, 0xff]), 'E_TRACE_HEADER'],
    ] as const)
      expect(await rejection(withDropped(SETUP, [file(name, content)])), name).toMatchObject({ code });
  });
});
