import { isUtf8 } from 'node:buffer';
import { readFileSync, statSync } from 'node:fs';
import { join, normalize, sep } from 'node:path';
import { EscapementError } from '../../base/errors.js';
import { isFile } from '../../base/files/is-file.js';
import { MIB } from '../../base/units.js';
import { FREE, type ModelSignature, type TensorSignature } from '../model.js';

/** Far more than the names of classes take. */
const MOST_LABEL_BYTES = 16 * MIB;

/**
 * Names of each output's classes; null: none has names. `files`: by output, in the model's folder. Throws
 * `E_CONFIG_VALUE` and `E_FILE_MISSING`.
 */
export function readLabels(
  modelDir: string,
  files: Readonly<Record<string, string>>,
  { outputs }: ModelSignature,
): readonly (readonly string[] | null)[] | null {
  const known = Object.entries(files);
  if (known.length === 0) return null;
  for (const [output, file] of known) {
    if (outputs.some(({ name }) => name === output)) continue;
    throw new EscapementError(
      'E_CONFIG_VALUE',
      `labels are for output ${output}, which the model does not have`,
      {
        file: join(modelDir, file),
      },
    );
  }
  return outputs.map((output) => {
    const file = files[output.name];
    return file === undefined ? null : labelsOf(output, modelDir, file);
  });
}

export function isWithinFolder(file: string): boolean {
  return !normalize(file).split(sep).includes('..');
}

function labelsOf({ name, shape }: TensorSignature, modelDir: string, file: string): readonly string[] {
  const path = join(modelDir, file);
  const fail = (what: string) => new EscapementError('E_CONFIG_VALUE', what, { file: path });
  if (!isWithinFolder(file)) throw fail("labels must be in the model's folder");
  if (!isFile(path)) {
    throw new EscapementError('E_FILE_MISSING', 'no such file of labels', { file: path });
  }
  if (statSync(path).size > MOST_LABEL_BYTES) throw fail('labels must be smaller than 16 MiB');
  const bytes = readFileSync(path);
  if (!isUtf8(bytes)) throw fail('labels must be UTF-8 text, one label per line');
  const lines = bytes.toString('utf8').replace(BYTE_ORDER_MARK, '').split(/\r?\n/);
  while (lines.at(-1) === '') lines.pop();
  // The number of classes is known only if requests choose no size.
  const classes = shape.includes(FREE) ? 0 : shape.reduce((product, size) => product * size, 1);
  if (lines.length >= classes) return lines;
  throw fail(
    `output ${name} has ${classes} classes, and there are labels for ${lines.length}: write one per line`,
  );
}

const BYTE_ORDER_MARK = /^\ufeff/;
