import { statSync } from 'node:fs';
import { EscapementError } from '../errors.js';

/** Descriptors passed to this process, such as `/dev/stdin` and those of `<(command)`: a pipe there has a writer. */
const GIVEN = /^\/(?:dev|proc\/self)\/(?:stdin|fd\/\d+)$/;
/** Reads as empty. */
const NOTHING = '/dev/null';

/**
 * Checks the path of every input file before it is opened. Throws `E_FILE_MISSING` for a named pipe, a socket or a
 * device, which could block for ever or never end; other problems surface on opening.
 */
export function inputPath(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined || found.isFile() || found.isDirectory() || GIVEN.test(path) || path === NOTHING)
    return path;
  const kind = found.isFIFO() ? 'named pipe' : found.isSocket() ? 'socket' : 'device';
  throw new EscapementError('E_FILE_MISSING', `is a ${kind}, not a file`, { file: path });
}
