/**
 * Every failure that an operator can cause, in one table: its code, its exit status and what it
 * means. Anything that is not in this table is a bug and exits with status 1.
 */
export const ERRORS = {
  E_USAGE: { exit: 2, means: 'a command line flag or argument is wrong' },
  E_THRESHOLD: {
    exit: 3,
    means: 'a --threshold of a run, a --tolerance of a comparison or a --target of a plan was not met',
  },
  E_CELLS_FAILED: { exit: 4, means: 'the sweep finished, and at least one cell failed' },
  E_CHECK: { exit: 5, means: 'the logs of a run do not bear out its summary, or break a rule' },
  E_DOCTOR: { exit: 6, means: 'the machine fails a required check' },
  E_CONFIG_SYNTAX: { exit: 10, means: 'the experiment file is not valid YAML' },
  E_CONFIG_KEY: { exit: 11, means: 'the experiment file has a key that does not exist' },
  E_CONFIG_VALUE: { exit: 12, means: 'a value in the experiment file is out of range or of the wrong kind' },
  E_CONFIG_UNIT: { exit: 13, means: 'a duration, rate or size has an unknown unit' },
  E_FILE_MISSING: { exit: 20, means: 'a file does not exist or cannot be read' },
  E_FILE_TRUNCATED: { exit: 21, means: 'a compressed file ends early or is corrupt' },
  E_FILE_WRITE: { exit: 22, means: 'an output file or folder cannot be written' },
  E_TRACE_HEADER: { exit: 30, means: 'a trace has no header, or one of an unknown layout' },
  E_TRACE_VALUE: { exit: 31, means: 'a field of a trace is not a number, or is negative' },
  E_TRACE_ORDER: { exit: 32, means: 'arrivals are not sorted by time' },
  E_UNKNOWN_MODEL: { exit: 33, means: 'a request names a model that is not configured' },
  E_PROFILE: { exit: 34, means: 'a model profile or models file is malformed' },
  E_MODEL_TOO_LARGE: { exit: 35, means: 'a model does not fit into the weights cache of a GPU' },
  E_RESULTS: { exit: 36, means: 'a results folder is missing, incomplete or of another version' },
  E_DEVICE: { exit: 40, means: 'a GPU, driver or execution provider that live mode needs is not there' },
  E_MODEL_FILE: { exit: 41, means: 'a model on disk is missing, corrupt or of a kind that cannot be served' },
  E_LISTEN: { exit: 43, means: 'an address cannot be listened on' },
  E_TLS: { exit: 44, means: 'a certificate or key cannot be used' },
  E_WORKER: { exit: 45, means: 'a worker cannot be reached, or does not go with the others' },
  E_JOURNAL: { exit: 46, means: 'a journal is malformed, cut off in its header or of another version' },
  E_REPLAY_DIFFERS: { exit: 47, means: 'the replay of a journal decided otherwise than the recorded run' },
  E_SERVER: {
    exit: 48,
    means: 'an inference server cannot be reached, is not ready or speaks another protocol',
  },
  E_ANSWERS_LOST: { exit: 49, means: 'the run finished, and requests were not answered by the server' },
} as const;

export type ErrorCode = keyof typeof ERRORS;

/** Where the mistake is, as precisely as it is known. */
export interface ErrorPlace {
  readonly file?: string;
  /** 1-based line in `file`. */
  readonly line?: number;
  /** Dotted key of a configuration, or a column name. */
  readonly key?: string;
}

/**
 * A failure that the operator can mend: what is wrong, where, and what to do.
 * The message is one line and complete by itself; a stack trace is never shown for it.
 */
export class EscapementError extends Error {
  readonly code: ErrorCode;
  readonly place: ErrorPlace;

  constructor(code: ErrorCode, what: string, place: ErrorPlace = {}) {
    super(describe(what, place));
    this.name = 'EscapementError';
    this.code = code;
    this.place = place;
  }

  get exitCode(): number {
    return ERRORS[this.code].exit;
  }
}

function describe(what: string, place: ErrorPlace): string {
  const file =
    place.file === undefined ? '' : place.line === undefined ? place.file : `${place.file}:${place.line}`;
  const where = [file, place.key ?? ''].filter((part) => part !== '').join(': ');
  return where === '' ? what : `${where}: ${what}`;
}
