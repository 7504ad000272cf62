import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { cpuMs } from './cpu-time.js';

declare module 'vitest' {
  interface TaskMeta {
    /** CPU time of a file of tests and of the processes that it started. */
    cpuMs?: number;
  }
}

const cpuAtStartMs = cpuMs();

/** Of all random tests: the same values in every run. `npm run soak` draws others. */
const PROPERTY_SEED = 20_251_128;

// Without the second setting an array of at most 1,000 has at most 10 elements.
fc.configureGlobal({
  seed: Number(process.env.PROPERTY_SEED ?? PROPERTY_SEED),
  defaultSizeToMaxWhenMaxSpecified: true,
});

// Each file of tests, and every process that it starts, has a temporary folder of its own, which goes when it ends.
const name = basename(expect.getState().testPath ?? 'unknown', '.test.ts');
const folder = mkdtempSync(join(tmpdir(), `${name}-`));
const before = process.env.TMPDIR;
process.env.TMPDIR = folder;
// biome-ignore lint/correctness/noEmptyPattern: vitest reads the wanted fixtures from the first parameter; none are.
afterAll(({}, file) => {
  file.meta.cpuMs = cpuMs() - cpuAtStartMs;
  if (before === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = before;
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
});

// A test that reaches no assertion proves nothing.
beforeEach(() => {
  expect.hasAssertions();
});

// Nor does a test for each of nothing: what was to list its cases has found none.
for (const api of [it, describe]) {
  const { each } = api;
  api.each = function (this: unknown, cases: readonly unknown[], ...values: unknown[]) {
    if (cases.length === 0) throw new Error('each of an empty list');
    return Reflect.apply(each, this, [cases, ...values]);
  } as typeof each;
}
