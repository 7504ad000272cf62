import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { compile } from './compile.js';

/**
 * Compiles before all tests, and again before each rerun in watch mode, for those that run the command line, threads and
 * child processes. Gives the tests a temporary folder, in which they must leave nothing behind.
 */
export default async function setup(project: TestProject): Promise<() => void> {
  await compile();
  project.onTestsRerun(compile);

  const { TMPDIR, NODE_OPTIONS } = process.env;
  const folder = mkdtempSync(join(tmpdir(), 'escapement-tests-'));
  process.env.TMPDIR = folder;
  // Stack traces of threads and child processes name lines of src.
  process.env.NODE_OPTIONS = `${NODE_OPTIONS ?? ''} --enable-source-maps`.trim();
  return () => {
    restore('TMPDIR', TMPDIR);
    restore('NODE_OPTIONS', NODE_OPTIONS);
    // Of a file whose tests are all skipped the folder stays, empty.
    const left = readdirSync(folder).filter((name) => !isEmptyFolder(join(folder, name)));
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
    if (left.length > 0) throw new Error(`tests left in their temporary folder: ${left.join(', ')}`);
  };
}

function isEmptyFolder(path: string): boolean {
  return statSync(path).isDirectory() && readdirSync(path).length === 0;
}

function restore(name: string, value: string | undefined): void {
  if (value === undefined) delete process.env[name];
  else process.env[name] = value;
}
