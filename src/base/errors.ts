/** Kind of a failure, e.g. `E_CONFIG_VALUE`. The command line has an exit code for each. */
export type ErrorCode = `E_${string}`;

/** Place of the mistake, as precisely as it is known. */
export interface ErrorPlace {
  readonly file?: string;
  /** 1-based line in `file`. */
  readonly line?: number;
  /** Flag with its value, or environment variable, in place of a file. */
  readonly flag?: string;
  /** Dotted key of a configuration, or a column name. */
  readonly key?: string;
}

/**
 * A failure that the operator can fix: what is wrong, where, and what to do. The message is a complete single line; a
 * stack trace is never shown for it.
 */
export class EscapementError extends Error {
  constructor(
    readonly code: ErrorCode,
    /** The message without its place. */
    readonly what: string,
    readonly place: ErrorPlace = {},
  ) {
    super(describe(what, place));
    this.name = 'EscapementError';
  }
}

/** Error for a mistake in a command line. */
export function usageError(what: string, place?: ErrorPlace): EscapementError {
  return new EscapementError('E_USAGE', what, place);
}

/**
 * An error of an override at the place where that was written, which `placeOf` tells from its text; other errors are
 * unchanged. A key below that of the override is appended to that of the place.
 */
export function atItsPlace<E>(
  error: E,
  placeOf: (override: string, code: ErrorCode) => ErrorPlace | undefined,
): E | EscapementError {
  if (!(error instanceof EscapementError) || error.place.flag === undefined) return error;
  const { code, what, place: found } = error;
  const override = error.place.flag.replace(/^--set /, '');
  const place = placeOf(override, code);
  if (place === undefined) return error;
  const [set = ''] = override.split('=', 1);
  const below = found.key?.startsWith(`${set}.`) ? found.key.slice(set.length) : '';
  const key = place.key === undefined ? found.key : place.key + below;
  return new EscapementError(code, what, { ...place, ...(key === undefined ? {} : { key }) });
}

function describe(what: string, { file, line, flag, key }: ErrorPlace): string {
  const where = file !== undefined && line !== undefined ? `${file}:${line}` : file;
  return [where, flag, key, what].filter((part) => part !== undefined && part !== '').join(': ');
}
