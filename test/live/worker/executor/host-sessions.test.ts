import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { INFER, LOAD, UNLOAD } from '../../../../src/core/action.js';
import { collectOperators } from '../../../../src/live/worker/executor/collect-operators.js';
import { ModelHost } from '../../../../src/live/worker/executor/model-host.js';
import { OperatorRecorder } from '../../../../src/live/worker/executor/operator-recorder.js';
import {
  type HostOrder,
  type RecordedReport,
  RecordSwitch,
} from '../../../../src/live/worker/executor/protocol.js';
import { CPU, type RealModel, realModel } from '../real-models.js';

const folder = mkdtempSync(join(tmpdir(), 'escapement-sessions-'));
let real: RealModel;
let host: ModelHost;
let control: RecordSwitch;
let reports: RecordedReport[];
let nextId = 0;

beforeAll(async () => {
  real = await realModel('mlp', 8, folder);
});

beforeEach(() => {
  const bytes = new Uint8Array(readFileSync(real.worker.ortPath as string));
  const models = new Map([0, 1].map((index) => [index, { model: real.worker, bytes }]));
  control = new RecordSwitch();
  reports = [];
  host = new ModelHost(
    CPU,
    models,
    new OperatorRecorder(control, mkdtempSync(join(folder, 'logs-')), 0, (report) => reports.push(report)),
  );
});

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

async function perform(kind: HostOrder['kind'], model: number, inputBytes = real.worker.spec.inputBytes) {
  const inputs = kind === INFER ? [new Uint8Array(inputBytes)] : [];
  const id = nextId++;
  const anyTime = { latestNs: Number.POSITIVE_INFINITY };
  await host.perform({ id, kind, model, batchIndex: 0, count: 1, inputs, ...anyTime });
  return id;
}

/** Gives it all the time it needs. Returns the number of steps. */
async function leisure(): Promise<number> {
  let steps = 0;
  for (; host.hasUpkeep; steps++) await host.upkeep();
  return steps;
}

/** Ends the recording: actions whose operators are in it. */
async function recorded(): Promise<number[]> {
  control.turn();
  await leisure();
  const { operators } = collectOperators([reports[reports.length - 1]], (path) => readFileSync(path, 'utf8'));
  return [...new Set(operators.map(({ action }) => action))];
}

describe('HostSessions', () => {
  it('has no upkeep where nothing is recorded', async () => {
    await perform(LOAD, 0);
    await perform(INFER, 0);
    expect(host.hasUpkeep).toBe(false);
    expect(reports).toEqual([]);
  });

  it('replaces sessions in small steps, with INFERs in between', async () => {
    await perform(LOAD, 0);
    await perform(LOAD, 1);
    control.turn();
    // Begin; for both models open and close.
    expect(host.hasUpkeep).toBe(true);
    await host.upkeep();
    await host.upkeep();
    const first = [await perform(INFER, 0), await perform(INFER, 1)];
    expect(await leisure()).toBe(3);
    const second = [await perform(INFER, 0), await perform(INFER, 1)];
    expect(host.hasUpkeep).toBe(false);
    expect(await recorded()).toEqual([first[0], ...second]);
    expect(reports[0]).toMatchObject({ number: 1, missed: 1 });
    const later = await perform(INFER, 0);
    control.turn();
    expect(await recorded()).not.toContain(later);
  });

  it('starts a new log when one is long, without missing an INFER', async () => {
    control.turn();
    await perform(LOAD, 0);
    const ids: number[] = [];
    for (let i = 0; i < 100; i++) {
      ids.push(await perform(INFER, 0));
      if (i % 7 === 0 && host.hasUpkeep) await host.upkeep();
    }
    expect(await recorded()).toEqual(ids);
    expect(reports[0].logs.length).toBeGreaterThan(1);
    expect(reports[0].missed).toBe(0);
  });

  it('goes on with a new log after an INFER that failed', async () => {
    control.turn();
    await perform(LOAD, 0);
    const before = await perform(INFER, 0);
    await perform(INFER, 0, 1);
    await perform(INFER, 0);
    await leisure();
    const after = await perform(INFER, 0);
    expect(await recorded()).toEqual([before, after]);
    expect(reports[0].missed).toBe(1);
  });

  it('keeps the log of a model that is unloaded or loaded again', async () => {
    control.turn();
    await perform(LOAD, 0);
    const first = await perform(INFER, 0);
    await perform(LOAD, 0);
    const second = await perform(INFER, 0);
    await perform(UNLOAD, 0);
    expect(await recorded()).toEqual([first, second]);
  });

  it('only counts INFERs once the disk has taken enough', async () => {
    control.turn();
    await perform(LOAD, 0);
    const first = await perform(INFER, 0);
    await perform(LOAD, 1);
    control.wrote(2 ** 30);
    await perform(LOAD, 1);
    await perform(INFER, 1);
    await perform(INFER, 1);
    expect(host.hasUpkeep).toBe(false);
    expect(await recorded()).toEqual([first]);
    expect(reports[0].missed).toBe(2);
  });

  it('follows a machine that began and ended while it was busy', async () => {
    await perform(LOAD, 0);
    for (let i = 0; i < 3; i++) control.turn();
    await leisure();
    expect(reports).toMatchObject([{ number: 1, logs: [], missed: 0 }]);
    const id = await perform(INFER, 0);
    expect(await recorded()).toEqual([id]);
  });

  it('tolerates a folder that is gone', async () => {
    const gone = new OperatorRecorder(control, join(folder, 'gone'), 0, (report) => reports.push(report));
    const bytes = new Uint8Array(readFileSync(real.worker.ortPath as string));
    host = new ModelHost(CPU, new Map([[0, { model: real.worker, bytes }]]), gone);
    control.turn();
    await perform(LOAD, 0);
    await perform(INFER, 0);
    expect(await recorded()).toEqual([]);
    expect(reports[0]).toMatchObject({ logs: [], missed: 1 });
    expect(readdirSync(folder)).not.toContain('gone');
  });
});
