import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { MIB } from '../../../src/base/units.js';
import { freeLarge } from '../../../src/live/free-buffers.js';
import { fixedBytes, freshBytes } from '../../../src/live/frontend/paged-bytes.js';

describe('freshBytes', () => {
  it.each([100, 200_000, 5_000_000])('gives a buffer of %i bytes that nothing else shares', (bytes) => {
    const fresh = freshBytes(bytes);
    expect(fresh).toHaveLength(bytes);
    expect(fresh.buffer.byteLength).toBe(bytes);
    fresh.fill('a');
    expect(fresh.toString('latin1', bytes - 3)).toBe('aaa');
    const moved = structuredClone(fresh, { transfer: [fresh.buffer] });
    expect(moved.subarray(0, 3)).toEqual(new Uint8Array([97, 97, 97]));
  });

  it.skipIf(process.platform !== 'linux')('takes memory for what is written only, until it is freed', () => {
    const beforeBytes = rssBytes();
    const many = Array.from({ length: 20 }, () => freshBytes(30 * MIB).fill(1, 0, 8 * MIB));
    const fullBytes = rssBytes();
    expect(fullBytes - beforeBytes).toBeLessThan(300 * MIB);
    // One that stays keeps none of the others.
    freeLarge(many.slice(0, -1));
    expect(fullBytes - rssBytes()).toBeGreaterThan(130 * MIB);
    expect(many.at(-1)).toHaveLength(30 * MIB);
  });
});

describe('fixedBytes', () => {
  const isResizable = ({ buffer }: Uint8Array) => (buffer as { resizable?: boolean }).resizable;

  it.each([
    [4 * MIB, 0],
    [200_000, 1],
    [3_000_001, 2],
  ])('has %i bytes of a resizable buffer, from %i on, in a fixed one', (bytes, from) => {
    const given = freshBytes(bytes);
    for (let i = 0; i < bytes; i++) given[i] = i * (from + 1);
    const fixed = fixedBytes(given.subarray(from));
    expect([isResizable(given), isResizable(fixed)]).toEqual([true, false]);
    expect(Buffer.compare(fixed, given.subarray(from))).toBe(0);
  });

  it('leaves where it is what is in a fixed buffer, or more than a thread keeps', () => {
    for (const given of [new Uint8Array(200_000), freshBytes(4 * MIB + 1)])
      expect(fixedBytes(given)).toBe(given);
  });
});

function rssBytes(): number {
  const [, kib] = /VmRSS:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8')) as RegExpExecArray;
  return 1024 * Number(kib);
}
