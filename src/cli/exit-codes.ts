import { ERRORS, EscapementError } from '../core/errors.js';
import { wrap } from '../report/wrap.js';
import { terminalWidth } from './text-layout.js';

/** Exit statuses that are not failures of the table in `core/errors.ts`. */
export const EXIT_OK = 0;
export const EXIT_BUG = 1;
/** 128 + SIGINT, as shells report it. */
export const EXIT_INTERRUPTED = 130;

/** What a failed command prints on stderr, and the status it exits with. */
export interface Failure {
  readonly exitCode: number;
  readonly text: string;
}

/**
 * Operator errors become one line with their code; everything else is a bug of escapement and keeps
 * its stack trace.
 */
export function describeFailure(error: unknown): Failure {
  if (error instanceof EscapementError) {
    return { exitCode: error.exitCode, text: `escapement: ${error.code}: ${error.message}\n` };
  }
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return {
    exitCode: EXIT_BUG,
    text: `escapement: this is a bug, please report it with the trace below\n${stack}\n`,
  };
}

/** The table of exit statuses that `--help` prints. */
export function exitCodesText(): string {
  const rows: [number, string, string][] = [
    [EXIT_OK, '', 'everything went well'],
    [EXIT_BUG, '', 'a bug in escapement'],
    ...Object.entries(ERRORS).map(([code, { exit, means }]): [number, string, string] => [exit, code, means]),
    [EXIT_INTERRUPTED, '', 'interrupted; finished sweep cells are kept'],
  ];
  const indent = 26;
  const lines = rows.map(([exit, code, means]) => {
    const text = wrap(means, terminalWidth() - indent).join(`\n${' '.repeat(indent)}`);
    return `  ${String(exit).padStart(3)}  ${code.padEnd(17)}  ${text}`;
  });
  return ['Exit status:', ...lines].join('\n');
}
