import { transformSync } from 'esbuild';
import type { SeededBug } from './bugs.js';

/** The source file with the bug in it. Throws if its place is not there exactly once. */
export function withBug(source: string, { name, file, find, replace }: SeededBug): string {
  const parts = source.split(find);
  if (parts.length === 2) return parts.join(replace);
  throw new Error(`"${name}": src/${file} has ${parts.length - 1} times: ${find}`);
}

/** One file of src as the build makes it. `tsconfig`: the text of tsconfig.json. */
export function compiled(source: string, tsconfig: string): string {
  return transformSync(source, { loader: 'ts', tsconfigRaw: tsconfig }).code;
}
