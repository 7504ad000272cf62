import { basename } from 'pathe';
import { GivenFiles } from '../../browser/given-files.js';
import { parseExperimentSource } from '../../config/build.js';
import { openTable } from '../../workload/files/layout.js';
import type { Setup } from '../share/address.js';
import { withOverride } from './overrides.js';

/** A file that was dropped on the page. */
interface Dropped {
  readonly name: string;
  readonly content: Uint8Array;
}

const EXPERIMENT = /\.ya?ml$/i;
const TRACE = /\.csv(?:\.gz)?$/i;

/**
 * Applies files dropped on the page to the setup. An experiment replaces the previous one; a file whose name matches
 * the last part of a path in the experiment is read at that path; any other trace becomes the workload. Throws an
 * EscapementError for anything else.
 */
export async function withDropped(before: Setup, dropped: readonly Dropped[]): Promise<Setup> {
  let setup = before;
  for (const { name, content } of dropped.filter(({ name }) => EXPERIMENT.test(name))) {
    const text = new TextDecoder().decode(content);
    parseExperimentSource(text, name);
    setup = { file: name, text, overrides: [], lanes: [[]], files: setup.files };
  }
  for (const { name, content } of dropped.filter(({ name }) => !EXPERIMENT.test(name))) {
    const given = TRACE.test(name) && name.endsWith('.gz') ? content : new TextDecoder().decode(content);
    const paths = pathsOf(parseExperimentSource(setup.text, setup.file).tree, name);
    for (const path of paths) setup = { ...setup, files: { ...setup.files, [path]: given } };
    if (paths.length === 0) setup = await withTrace(setup, name, given);
  }
  return setup;
}

/** All texts of an experiment that end in this file name. */
function pathsOf(node: unknown, name: string): readonly string[] {
  if (typeof node === 'string') return basename(node) === name ? [node] : [];
  if (typeof node !== 'object' || node === null) return [];
  return Object.values(node).flatMap((child) => pathsOf(child, name));
}

async function withTrace(setup: Setup, name: string, content: string | Uint8Array): Promise<Setup> {
  const { layout, rest } = await openTable(new GivenFiles({ [name]: content }), name);
  await rest.return();
  return {
    ...setup,
    overrides: withOverride(
      setup.overrides.filter((override) => !override.startsWith('workload')),
      'workload',
      JSON.stringify({ kind: layout.kind, path: name }),
    ),
    files: { ...setup.files, [name]: content },
  };
}
