import { readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { usageError } from '../base/errors.js';
import { fileProblem } from '../base/files/disk-files.js';
import { inputPath } from '../base/files/input-path.js';

/** Inputs of a request from a file. */
export interface PayloadFile {
  readonly path: string;
  readonly bytes: Buffer;
}

/** Payloads of each model of a run, in sending order. */
export type Payloads = (model: string) => readonly PayloadFile[];

/**
 * Reads real inputs: a file is sent to every model; a folder contains files, sent in order of name, or one folder per
 * model. Throws `E_FILE_MISSING`, and `E_USAGE` if a model gets none.
 */
export function readPayloads(path: string, models: readonly string[]): Payloads {
  const files = new Map(models.map((model) => [model, filesFor(path, model)]));
  const paths = new Set([...files.values()].flat());
  const read = new Map(
    [...paths].map((file) => [
      file,
      { path: file, bytes: readable(file, () => readFileSync(inputPath(file))) },
    ]),
  );
  return (model) => (files.get(model) ?? []).map((file) => read.get(file) as PayloadFile);
}

function filesFor(path: string, model: string): string[] {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) throw fileProblem({ code: 'ENOENT' }, path, { flag: '--payload' });
  if (!found.isDirectory()) return [path];
  const own = join(path, model);
  // The model's name must be a folder directly inside this one.
  const isOwn = basename(own) === model && statSync(own, { throwIfNoEntry: false })?.isDirectory();
  const folder = isOwn ? own : path;
  const files = readable(folder, () => readdirSync(folder, { withFileTypes: true }))
    .filter((entry) => entry.isFile() && !entry.name.startsWith('.'))
    .map(({ name }) => join(folder, name))
    .sort();
  if (files.length > 0) return files;
  throw usageError(`--payload ${path}: the folder has no files for model ${model}`);
}

function readable<T>(file: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw fileProblem(error, file, { flag: '--payload' });
  }
}
