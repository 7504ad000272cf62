import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { EXIT_CODES, EXIT_UNREAD } from '../../src/cli/exit-codes.js';
import { type CliRun, MAIN, runCli, SMALL_EXPERIMENT, spawnCli, tempDir, writeIn } from './run-cli.js';

const small = () => writeIn(tempDir(), 'small.yaml', SMALL_EXPERIMENT);

// Most tests of commands run them in their own process; what they see must be what a shell sees.
test.each([
  ['--version', 0],
  ['simulate FILE', 0],
  ['simulate FILE --quiet --json', 0],
  ['simulate', EXIT_CODES.E_USAGE.exit],
  ['simulate FILE --quiet --threshold goodputRps>1000000', EXIT_CODES.E_THRESHOLD.exit],
  ['simulate FILE --set slo=0ms', EXIT_CODES.E_CONFIG_VALUE.exit],
  ['simulate nowhere.yaml', EXIT_CODES.E_FILE_MISSING.exit],
  ['simulate FILE --out /dev/null/out', EXIT_CODES.E_FILE_WRITE.exit],
  ['report /dev', EXIT_CODES.E_RESULTS.exit],
])('a process of its own prints the same and exits with the same status: %s', async (line, status) => {
  const file = small();
  const args = line.split(' ').map((word) => (word === 'FILE' ? file : word));
  const own = await spawnCli(args);
  expect(own.status).toBe(status);
  expect(withoutSpeed(own)).toEqual(withoutSpeed(await runCli(args)));
});

test.skipIf(process.platform === 'win32').each([
  ['simulate FILE --quiet --threshold p99<1ns', EXIT_CODES.E_THRESHOLD.exit],
  ['simulate FILE --json --quiet --threshold p99<1ns', EXIT_CODES.E_THRESHOLD.exit],
  ['simulate FILE', EXIT_UNREAD],
  ['simulate nowhere.yaml', EXIT_CODES.E_FILE_MISSING.exit],
])('a process of its own does not succeed if its output is not read: %s', (line, status) => {
  const words = line
    .replace('FILE', small())
    .split(' ')
    .map((word) => `'${word}'`);
  for (const streams of ['>&3 2>/dev/null', '>&3 2>&3']) {
    const script = `exec 3> >(true); wait $!; '${process.execPath}' '${MAIN}' ${words.join(' ')} ${streams}`;
    expect(spawnSync('bash', ['-c', script]).status, streams).toBe(status);
  }
});

/** Without how long a simulation took, and the memory of its process. */
function withoutSpeed({ stdout, ...rest }: CliRun): CliRun {
  return { ...rest, stdout: stdout.replace(/^speed .*$/m, '').replace(/"wall":\{[^}]*\}/, '') };
}
