#!/usr/bin/env node
import { cannotWrite } from '../base/files/output-file.js';
import { writeErr } from '../text/terminal.js';
import { runCommandLine } from './command-line.js';
import { describeFailure } from './exit-codes.js';
import { endBySignals, endWithNpx } from './interruption.js';

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // A reader that stops early (`| head`) is not an error of ours.
  if (error.code === 'EPIPE') process.exit(0);
  end(cannotWrite('standard output', error));
});
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

function end(error: unknown): never {
  const { text, exitCode } = describeFailure(error);
  writeErr(text);
  process.exit(exitCode);
}
