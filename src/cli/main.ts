#!/usr/bin/env node
import { hideBin } from 'yargs/helpers';
import { runCommandLine } from './command-line.js';
import { describeFailure } from './exit-codes.js';

// A reader that stops early (`| head`) is no failure of ours.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(0);
});

try {
  await runCommandLine(hideBin(process.argv));
} catch (error) {
  const { text, exitCode } = describeFailure(error);
  process.stderr.write(text);
  // Not process.exit: what stands on stdout must still reach a pipe.
  process.exitCode = exitCode;
}
