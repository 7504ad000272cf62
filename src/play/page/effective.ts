import { parseExperimentSource } from '../../config/build.js';
import { isSection, type Path, valueAt } from '../../config/document.js';
import { applyOverrides } from '../../config/overrides.js';
import { parseDuration } from '../../config/units-text.js';
import type { Setup } from '../share/address.js';

/** A lane of a setup as plain values, as written and unchecked; empty if unreadable: the engine reports why. */
export function effectiveTree({ file, text, overrides, lanes }: Setup, lane: number): Tree {
  try {
    return applyOverrides(parseExperimentSource(text, file), [...overrides, ...lanes[lane]!]).tree;
  } catch {
    return {};
  }
}

export type Tree = Readonly<Record<string, unknown>>;

/** Text of a plain value; undefined if there is none. */
export function textAt(tree: Tree, path: Path): string | undefined {
  const value = valueAt(tree, path);
  return typeof value === 'object' || value === undefined ? undefined : String(value);
}

/** Items of a list, including a single item written without brackets. */
export function listAt(tree: Tree, path: Path): readonly Tree[] {
  const value = valueAt(tree, path);
  return (Array.isArray(value) ? value : [value]).filter(isSection);
}

/** A duration in ns; 0 if there is none. */
export function durationAt(tree: Tree, path: Path): number {
  try {
    return parseDuration(valueAt(tree, path) ?? 0);
  } catch {
    return 0;
  }
}
