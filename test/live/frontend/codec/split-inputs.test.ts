import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { MIB } from '../../../../src/base/units.js';
import { freeLarge } from '../../../../src/live/free-buffers.js';
import { isWorthSplitting, splitInputs } from '../../../../src/live/frontend/codec/split-inputs.js';

/** A batch of `count` requests with rows of those sizes, each filled with its number. */
function batch(count: number, ...rowBytes: readonly number[]) {
  const inputs = rowBytes.map((bytes) => {
    const input = new Uint8Array(count * bytes);
    for (let i = 0; i < count; i++) input.fill(i + 1, i * bytes, (i + 1) * bytes);
    return input;
  });
  return { inputs, count };
}

it('each request of a batch gets its inputs, in buffers of its own', () => {
  const { value, transfer } = splitInputs(batch(3, 200_000, 8));
  expect(value.map((inputs) => inputs.map(({ length }) => length))).toEqual(new Array(3).fill([200_000, 8]));
  for (const [i, inputs] of value.entries())
    for (const input of inputs) expect(input.every((byte) => byte === i + 1)).toBe(true);
  const buffers = value.flat().map(({ buffer }) => buffer);
  expect(new Set(buffers).size).toBe(6);
  expect(transfer).toEqual(buffers);
  for (const { buffer, byteLength } of value.flat()) expect(buffer.byteLength).toBe(byteLength);
});

it('large tensors of large batches are worth it', () => {
  expect(isWorthSplitting(batch(96, 600_000))).toBe(true);
  expect(isWorthSplitting(batch(1, 600_000))).toBe(false);
  expect(isWorthSplitting(batch(2, 20_000))).toBe(false);
  // Small tensors are copied into one buffer in any case.
  expect(isWorthSplitting(batch(256, 16_384))).toBe(false);
});

it.skipIf(process.platform !== 'linux')('memory goes back to the system although some of it stays', () => {
  const kept: Uint8Array[] = [];
  const beforeBytes = rssBytes();
  for (let round = 0; round < 4; round++) {
    const task = batch(96, 600_000);
    const rows = splitInputs(task).value.flat();
    freeLarge(task.inputs);
    kept.push(...rows.filter((_, i) => i % 24 === 0));
    freeLarge(rows.filter((_, i) => i % 24 !== 0));
  }
  expect(kept).toHaveLength(16);
  expect(rssBytes() - beforeBytes).toBeLessThan(60 * MIB);
});

function rssBytes(): number {
  const [, kib] = /VmRSS:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8')) as RegExpExecArray;
  return 1024 * Number(kib);
}
