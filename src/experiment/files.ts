import { type ErrorPlace, EscapementError } from '../core/errors.js';

/** The error for an operator of a file that cannot be read; `place` is where it was named. */
export function fileProblem(error: unknown, path: string, place: ErrorPlace = {}): EscapementError {
  const code = (error as NodeJS.ErrnoException).code;
  const what =
    code === 'ENOENT'
      ? 'no such file'
      : code === 'EISDIR'
        ? 'is a folder, not a file'
        : `cannot be read (${code ?? error})`;
  return place.file === undefined
    ? new EscapementError('E_FILE_MISSING', what, { file: path })
    : new EscapementError('E_FILE_MISSING', `${path}: ${what}`, place);
}
