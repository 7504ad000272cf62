#!/usr/bin/env node
import { cannotWrite } from '../base/files/output-file.js';
import { writeErr } from '../text/terminal.js';
import { runCommandLine } from './command-line.js';
import { describeFailure, EXIT_UNREAD } from './exit-codes.js';
import { endBySignals, endWithNpx } from './interruption.js';

process.stdout.on('error', (error) => cannotPrint('standard output', error));
process.stderr.on('error', (error) => cannotPrint('standard error', error));
// Exceptions in timers or requests of a server, e.g. from a plugin's policy, have no caller to report them.
process.on('uncaughtException', end);

endBySignals(process.pid);
endWithNpx(process.env);

try {
  await runCommandLine(process.argv.slice(2));
} catch (error) {
  const { text, exitCode } = describeFailure(error);
  writeErr(text);
  // Not process.exit: pending stdout must still reach a pipe.
  process.exitCode = exitCode;
}

/** A reader that stops early (`| head`) is not an error, but does not turn a failure into a success. */
function cannotPrint(stream: string, error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE') process.exit(process.exitCode ?? EXIT_UNREAD);
  end(cannotWrite(stream, error));
}

function end(error: unknown): never {
  const { text, exitCode } = describeFailure(error);
  writeErr(text);
  process.exit(exitCode);
}
