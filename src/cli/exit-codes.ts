import { type ErrorCode, EscapementError } from '../base/errors.js';
import { printable } from '../base/printable.js';

/** Exit codes in addition to those of errors. */
export const EXIT_OK = 0;
export const EXIT_BUG = 1;
/** 128 + SIGINT, as shells report it. */
export const EXIT_INTERRUPTED = 130;
/** 128 + SIGPIPE: the reader of the output ended before the command. */
export const EXIT_UNREAD = 141;

/**
 * Every failure that an operator can cause: its code, exit code and meaning. Anything else is a bug and exits with 1.
 */
export const EXIT_CODES: Readonly<Record<ErrorCode, { readonly exit: number; readonly means: string }>> = {
  E_USAGE: { exit: 2, means: 'a command line flag or argument is wrong' },
  E_THRESHOLD: {
    exit: 3,
    means: 'a --threshold of a run, a --tolerance of a comparison or a --target of a plan was not met',
  },
  E_CELLS_FAILED: { exit: 4, means: 'the sweep finished, and at least one cell failed' },
  E_CHECK: { exit: 5, means: 'the logs of a run contradict its summary or break a rule' },
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
  E_RESULTS: { exit: 36, means: 'a results folder is missing, incomplete, or of another version or sweep' },
  E_PLUGIN: { exit: 37, means: 'a plugin cannot be loaded, or one of its policies fails' },
  E_QUEUE: {
    exit: 38,
    means: 'the server of a queue cannot be reached or refuses, or a file is too large for it',
  },
  E_DEVICE: {
    exit: 40,
    means: 'onnxruntime, a GPU, driver or execution provider that live mode needs is missing',
  },
  E_MODEL_FILE: { exit: 41, means: 'a model on disk is missing, corrupt or of a kind that cannot be served' },
  E_LISTEN: { exit: 43, means: 'cannot listen on an address' },
  E_TLS: { exit: 44, means: 'a certificate or key cannot be used' },
  E_WORKER: { exit: 45, means: 'a worker cannot be reached, or does not match the others' },
  E_JOURNAL: { exit: 46, means: 'a journal is malformed, cut off in its header or of another version' },
  E_REPLAY_DIFFERS: { exit: 47, means: 'the replay of a journal diverged from the recording' },
  E_SERVER: {
    exit: 48,
    means: 'an inference server cannot be reached, is not ready or speaks another protocol',
  },
  E_ANSWERS_LOST: {
    exit: 49,
    means:
      'the run finished, and the server left requests unanswered: never sent, lost on the way, or given up',
  },
  E_HUNG: {
    exit: 50,
    means: 'a thread of a server hung, so the server ended for its supervisor to restart it',
  },
};

/** Message on stderr and exit status of a failed command. */
interface Failure {
  readonly exitCode: number;
  readonly text: string;
}

/** Operator errors become one line with their code; anything else is a bug and keeps its stack trace. */
export function describeFailure(error: unknown): Failure {
  if (error instanceof EscapementError) {
    return { exitCode: exitCodeOf(error), text: `escapement: ${error.code}: ${printable(error.message)}\n` };
  }
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return {
    exitCode: EXIT_BUG,
    text: `escapement: this is a bug; please report it with the trace below\n${stack}\n`,
  };
}

/** Exit code of an error. */
export function exitCodeOf({ code }: EscapementError): number {
  return EXIT_CODES[code]?.exit ?? EXIT_BUG;
}
