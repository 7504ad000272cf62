import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { monotonicNs } from '../../../../src/base/clock/clock.js';
import { MIB } from '../../../../src/base/units.js';
import {
  INFER,
  LOAD,
  STATUS_DEVICE_ERROR,
  STATUS_INFER_TOO_LATE,
  STATUS_LOAD_TOO_LATE,
  UNLOAD,
} from '../../../../src/core/action.js';
import { ModelHost } from '../../../../src/live/worker/executor/model-host.js';
import type { HostOrder } from '../../../../src/live/worker/executor/protocol.js';
import { CPU, type RealModel, realModel } from '../real-models.js';

const folder = mkdtempSync(join(tmpdir(), 'escapement-host-'));
let real: RealModel;
let host: ModelHost;
let nextId = 0;

beforeAll(async () => {
  real = await realModel('mlp', 8, folder);
});

beforeEach(() => {
  const { worker } = real;
  const bytes = new Uint8Array(readFileSync(worker.ortPath as string));
  host = new ModelHost(CPU, new Map([[3, { model: worker, bytes }]]));
});

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

function order(kind: HostOrder['kind'], more: Partial<HostOrder> = {}): HostOrder {
  const inputs = kind === INFER ? [new Uint8Array(real.worker.spec.inputBytes)] : [];
  const anyTime = { latestNs: Number.POSITIVE_INFINITY };
  return { id: nextId++, kind, model: 3, batchIndex: 0, count: 1, inputs, ...anyTime, ...more };
}

describe('ModelHost', () => {
  it('runs nothing whose time is past when its turn comes', async () => {
    const latestNs = monotonicNs() - 1;
    expect(await host.perform(order(LOAD, { latestNs }))).toMatchObject({ status: STATUS_LOAD_TOO_LATE });
    expect((await host.perform(order(INFER)))?.status).toBe(STATUS_DEVICE_ERROR);
    await host.perform(order(LOAD));
    const late = await host.perform(order(INFER, { latestNs }));
    expect(late).toMatchObject({ status: STATUS_INFER_TOO_LATE, outputs: [] });
    expect(late?.endNs).toBe(late?.beginNs);
  });

  it('forgets a model that it unloads, and may be asked to twice', async () => {
    await host.perform(order(LOAD));
    expect(await host.perform(order(UNLOAD))).toBeNull();
    expect(await host.perform(order(UNLOAD))).toBeNull();
    expect((await host.perform(order(INFER)))?.status).toBe(STATUS_DEVICE_ERROR);
  });
});

it('frees the memory of a model that leaves at once: its thread waits in a way in which no event comes', async () => {
  const { worker } = real;
  const bytes = new Uint8Array(200 * MIB).fill(1);
  await host.change({ index: 7, model: { model: worker, bytes } });
  // Not what is resident: the system's allocator may keep it, by what this process did before.
  const beforeBytes = process.memoryUsage().arrayBuffers;
  await host.change({ index: 7, model: null });
  expect(beforeBytes - process.memoryUsage().arrayBuffers).toBeGreaterThan(150 * MIB);
});
