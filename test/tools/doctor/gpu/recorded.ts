import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Run, RunOutcome } from '../../../../src/tools/doctor/gpu/nvidia-smi.js';

/** Folders of fixtures/: the driver's generation and a GPU of its time. */
export const GENERATIONS = ['535-a100', '550-h100', '580-h200', '595-rtx'] as const;

/**
 * An nvidia-smi that answers as a driver of that generation does: with the columns that are asked for, and a
 * complaint about a field that its time did not know. The tables have the form in which these drivers print
 * them; ids are made up.
 */
export function recorded(generation: (typeof GENERATIONS)[number]): { run: Run } {
  const read = (file: string) => readFileSync(`${FIXTURES}${generation}/${file}`, 'utf8');
  const run = async (args: readonly string[]): Promise<RunOutcome> => {
    const [first = ''] = args;
    const [what, fields = ''] = first.split('=') as [string, string?];
    const file = FILES[what];
    if (file === undefined) return { kind: 'failed', status: 2, message: `Invalid combination: ${what}` };
    return select(read(file), fields.split(','));
  };
  return { run };
}

/** An nvidia-smi that answers everything alike. */
export function always(outcome: RunOutcome): Run {
  return async () => outcome;
}

const FIXTURES = fileURLToPath(new URL('fixtures/', import.meta.url));

const FILES: Readonly<Record<string, string>> = {
  '--query-gpu': 'gpus.csv',
  '--query-compute-apps': 'apps.csv',
};

function select(table: string, fields: readonly string[]): RunOutcome {
  const [header = '', ...lines] = table.trimEnd().split('\n');
  const names = header.split(', ').map((name) => name.replace(/ \[.*\]$/, ''));
  const unknown = fields.find((field) => !names.includes(field));
  if (unknown !== undefined) {
    const message = `Field "${unknown}" is not a valid field to query.`;
    return { kind: 'failed', status: 2, message };
  }
  const rows = lines.map((line) => {
    const values = line.split(', ');
    return line.startsWith('WARNING') ? line : fields.map((field) => values[names.indexOf(field)]).join(', ');
  });
  return { kind: 'ok', stdout: rows.map((row) => `${row}\n`).join('') };
}
