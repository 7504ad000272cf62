import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { TimelineEvent } from '../../../src/record/timeline-events.js';
import { at, exampleHistory } from '../check/example.js';
import type { History } from '../history/history.js';
import { writePerfetto } from './perfetto.js';

/** Its events, each as one line with the names of its process and its track. */
function linesOf(history: History): string[] {
  const path = join(mkdtempSync(join(tmpdir(), 'escapement-')), 'perfetto.json');
  writePerfetto(path, history, [{ check: 'windows', what: 'it is late', atNs: 15e6, concerns: () => true }]);
  const { traceEvents } = JSON.parse(readFileSync(path, 'utf8')) as { traceEvents: TimelineEvent[] };
  const named = (name: string, tid: number) =>
    traceEvents.find((event) => event.name === name && event.tid === tid)?.args?.name;
  const process = (pid: number) =>
    traceEvents.find((event) => event.name === 'process_name' && event.pid === pid)?.args?.name;
  return traceEvents
    .filter(({ ph }) => ph !== 'M')
    .map(({ pid, tid, ph, name, ts, dur }) =>
      [process(pid), named('thread_name', tid), ph, name, ts, dur]
        .filter((part) => part !== undefined)
        .join(' | '),
    );
}

it('draws a run with what was found, faults, requests, processes and GPUs', () => {
  const crash = { atNs: 14.5e6, kind: 'crash', process: 'worker-0', forNs: 1e6 } as const;
  const lines = linesOf(exampleHistory(undefined, { faults: [crash] }));
  expect(lines).toEqual(
    expect.arrayContaining([
      'plan | findings | i | windows | 15000',
      'plan | faults | b | crash worker-0 | 14500',
      'plan | faults | e | crash worker-0 | 15500',
      'clients | a | b | m ok | 10000',
      'clients | a | e | m ok | 18000',
      'worker-0 | GPU 0 LOAD | X | LOAD m | 11000 | 3000',
      'worker-0 | GPU 0 INFER | X | m ×1 | 15000 | 1000',
      'controller-0 | streams | b | worker-0#1 | 2000',
      'worker-0 | process | X | worker-0#1 | 0 | 2000000',
    ]),
  );
});

it('ends what a process did when it ends', () => {
  const crashed = at(15.5, { kind: 'crashed', process: 'worker-0#1', why: '' });
  const lines = linesOf(
    exampleHistory((event) => (event.kind === 'ended' && event.action === 2 ? [crashed] : [event])),
  );
  expect(lines).toContain('worker-0 | GPU 0 INFER | X | m ×1 | 15000 | 500');
  expect(lines).toContain('worker-0 | process | X | worker-0#1 | 0 | 15500');
});
