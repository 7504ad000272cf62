import { basename } from 'pathe';
import { stringify } from 'yaml';
import { parseExperimentSource } from '../../config/build.js';
import { applyOverrides } from '../../config/overrides.js';
import type { Setup } from './address.js';

/**
 * One lane as an experiment file of its own: the command line gives it the same digest. Files that it names are
 * expected next to it. Throws an EscapementError with the first mistake.
 */
export function experimentYaml({ file, text, overrides, lanes, files }: Setup, lane: number): string {
  const source = parseExperimentSource(text, file);
  const { tree } = applyOverrides(source, [...overrides, ...lanes[lane]!]);
  const paths = new Set(Object.keys(files));
  return stringify(nextToIt(tree, paths));
}

function nextToIt(node: unknown, paths: ReadonlySet<string>): unknown {
  if (typeof node === 'string') return paths.has(node) ? basename(node) : node;
  if (Array.isArray(node)) return node.map((item) => nextToIt(item, paths));
  if (typeof node !== 'object' || node === null) return node;
  return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, nextToIt(value, paths)]));
}
