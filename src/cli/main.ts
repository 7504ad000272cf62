#!/usr/bin/env node
import { hideBin } from 'yargs/helpers';
import { cannotWrite } from '../files/output-file.js';
import { runCommandLine } from './command-line.js';
import { describeFailure } from './exit-codes.js';

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // A reader that stops early (`| head`) is no failure of ours.
  if (error.code === 'EPIPE') process.exit(0);
  const { text, exitCode } = describeFailure(cannotWrite('standard output', error));
  process.stderr.write(text);
  process.exit(exitCode);
});

try {
  await runCommandLine(hideBin(process.argv));
} catch (error) {
  const { text, exitCode } = describeFailure(error);
  process.stderr.write(text);
  // Not process.exit: what stands on stdout must still reach a pipe.
  process.exitCode = exitCode;
}
