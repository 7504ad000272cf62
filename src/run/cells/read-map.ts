import { EscapementError } from '../../base/errors.js';
import { DISK_FILES } from '../../base/files/disk-files.js';
import { validate } from '../../config/validate.js';
import { type CellMap, cellMapSchema } from './cell-map.js';

/** Reads a map that `plan --cells` wrote. Throws `E_FILE_MISSING`, and `E_RESULTS` for what is no map. */
export async function readCellMap(path: string): Promise<CellMap> {
  const text = await DISK_FILES.text(path);
  return validate(
    cellMapSchema,
    parsed(text, path),
    (at) => ({ file: path, key: at.join('.') }),
    'E_RESULTS',
  );
}

function parsed(text: string, file: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new EscapementError('E_RESULTS', 'is no map of cells: not JSON', { file });
  }
}
