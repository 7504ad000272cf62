import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import type { ErrorCode } from '../../src/base/errors.js';
import { EXIT_CODES } from '../../src/cli/exit-codes.js';
import { runCli, SMALL_EXPERIMENT, tempDir, writeIn } from './run-cli.js';

const ARRIVALS = 'arrival_ns,model_id,slo_ns\n';
const PLAYS_ARRIVALS = withWorkload('{ kind: arrivals, path: trace.csv }');
const AZURE = 'HashOwner,HashApp,HashFunction,Trigger,1,2,3\n';
const small = (from: string | RegExp, to: string) => SMALL_EXPERIMENT.replace(from, to);

/** What is wrong, the experiment file (none: it is missing), its trace, the code, and what the message names. */
const CASES: readonly [string, string | null, string | Uint8Array | null, ErrorCode, RegExp][] = [
  ['no experiment file', null, null, 'E_FILE_MISSING', /run\.yaml: no such file/],
  [
    'a list in itself',
    'a: &a [*a]\n',
    null,
    'E_CONFIG_SYNTAX',
    /run\.yaml:1: the alias \*a is inside its own/,
  ],
  [
    'endless models',
    small(/models: .*/, 'models: { kind: csv, path: /dev/zero }'),
    null,
    'E_FILE_MISSING',
    /\/dev\/zero: is a device, not a file/,
  ],
  [
    'a mistyped key',
    small('scheduleAhead', 'schedulAhead'),
    null,
    'E_CONFIG_KEY',
    /run\.yaml:7: .*schedulAhead.*did you mean "scheduleAhead"/,
  ],
  ['a large model', small('pages: 200', 'pages: 2'), null, 'E_MODEL_TOO_LARGE', /run\.yaml:4: models/],
  [
    'no trace',
    PLAYS_ARRIVALS,
    null,
    'E_FILE_MISSING',
    /run\.yaml:5: workload\.path: .*trace\.csv: no such file/,
  ],
  [
    'a count in words',
    withWorkload('{ kind: azure-2019, path: trace.csv }'),
    `${AZURE}a,b,c,http,1,2,3\na,b,d,http,1,many,3\n`,
    'E_TRACE_VALUE',
    /trace\.csv:3: .*many/,
  ],
  [
    'unsorted arrivals',
    PLAYS_ARRIVALS,
    `${ARRIVALS}100,0,1000000\n300,0,1000000\n200,0,1000000\n`,
    'E_TRACE_ORDER',
    /trace\.csv:4: /,
  ],
  [
    'an unknown model',
    PLAYS_ARRIVALS,
    `${ARRIVALS}100,0,1000000\n200,99,1000000\n`,
    'E_UNKNOWN_MODEL',
    /trace\.csv:3: .*99/,
  ],
  [
    'half a gzip',
    PLAYS_ARRIVALS.replace('.csv', '.csv.gz'),
    truncatedGzip(),
    'E_FILE_TRUNCATED',
    /trace\.csv\.gz/,
  ],
];

test.each(CASES)('%s is refused in one line', async (_, experiment, trace, code, names) => {
  const dir = tempDir();
  if (experiment !== null) writeIn(dir, 'run.yaml', experiment);
  if (trace !== null) writeIn(dir, typeof trace === 'string' ? 'trace.csv' : 'trace.csv.gz', trace);
  const { status, stdout, stderr } = await runCli(['simulate', 'run.yaml', '--quiet', '--out', 'out'], {
    cwd: dir,
  });
  expect(stderr).toMatch(new RegExp(`^escapement: ${code}: [^\\n]+\\n$`));
  expect(stderr).toMatch(names);
  expect({ status, stdout }).toEqual({ status: EXIT_CODES[code].exit, stdout: '' });
  // Nothing half-written looks finished.
  const left = existsSync(join(dir, 'out')) ? readdirSync(join(dir, 'out')) : [];
  expect(left).toEqual([]);
});

test('a failed run keeps the files of the run before', async () => {
  const dir = tempDir();
  writeIn(dir, 'run.yaml', PLAYS_ARRIVALS);
  writeIn(dir, 'trace.csv', `${ARRIVALS}100,0,50000000\n200,1,50000000\n`);
  const run = () => runCli(['simulate', 'run.yaml', '--out', 'out'], { cwd: dir });
  expect((await run()).status).toBe(0);
  const before = readdirSync(join(dir, 'out'));
  writeIn(dir, 'trace.csv', `${ARRIVALS}100,0,50000000\n50,1,50000000\n`);
  expect((await run()).status).toBe(EXIT_CODES.E_TRACE_ORDER.exit);
  expect(readdirSync(join(dir, 'out'))).toEqual(before);
});

test.each(['simulate', 'sweep'])(
  '%s says at once that the output folder cannot be written',
  async (command) => {
    const dir = tempDir();
    writeIn(dir, 'run.yaml', SMALL_EXPERIMENT);
    writeIn(dir, 'file', '');
    const seeds = command === 'sweep' ? ['--seeds', '1,2'] : [];
    const { status, stderr } = await runCli([command, 'run.yaml', '--quiet', '--out', 'file/out', ...seeds], {
      cwd: dir,
    });
    expect(stderr).toMatch(/^escapement: E_FILE_WRITE: file\/out: [^\n]+\n$/);
    expect(status).toBe(EXIT_CODES.E_FILE_WRITE.exit);
  },
);

function withWorkload(workload: string): string {
  return SMALL_EXPERIMENT.replace(/workload: .*/, `workload: ${workload}`);
}

function truncatedGzip(): Uint8Array {
  const rows = Array.from({ length: 5000 }, (_, i) => `${i * 1000},${i % 15},50000000\n`);
  const whole = gzipSync(ARRIVALS + rows.join(''));
  return whole.subarray(0, whole.length / 2);
}
