import { statSync } from 'node:fs';
import { EscapementError } from '../errors.js';

/** Descriptors that this process was given, such as `/dev/stdin` and those of `<(command)`: a pipe there has a writer. */
const GIVEN = /^\/(?:dev|proc\/self)\/(?:stdin|fd\/\d+)$/;
/** Reading it ends at once. */
const NOTHING = '/dev/null';

/**
 * The path, to open a file for reading: every input file is opened through this. Throws `E_FILE_MISSING` for a named pipe,
 * a socket or a device, which could wait forever or never end; what else is wrong with a file opening it will say.
 */
export function inputPath(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined || found.isFile() || found.isDirectory() || GIVEN.test(path) || path === NOTHING)
    return path;
  const kind = found.isFIFO() ? 'named pipe' : found.isSocket() ? 'socket' : 'device';
  throw new EscapementError('E_FILE_MISSING', `is a ${kind}, not a file`, { file: path });
}
