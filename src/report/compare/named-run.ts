import { basename, resolve } from 'node:path';
import type { RunResult } from '../../record/results.js';

/** A run's result with its name in tables and charts. */
export interface NamedRun {
  readonly name: string;
  readonly run: RunResult;
}

/** Names of results folders for tables and charts: the last part of the path if that is unique. */
export function runNames(folders: readonly string[]): string[] {
  const short = folders.map((folder) => basename(resolve(folder)));
  const chosen = folders.map((folder, i) => (isOnce(short, short[i]!) ? short[i]! : folder));
  return chosen.map((name, i) => (isOnce(chosen, name) ? name : `${name} (${i + 1})`));
}

function isOnce(names: readonly string[], name: string): boolean {
  return names.indexOf(name) === names.lastIndexOf(name);
}
