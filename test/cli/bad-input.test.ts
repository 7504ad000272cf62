import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import type { ErrorCode } from '../../src/base/errors.js';
import { EXIT_CODES } from '../../src/cli/exit-codes.js';
import { runCli, SMALL_EXPERIMENT, tempDir, writeIn } from './run-cli.js';

/** What the user did, the error, and what the message must name: file, line, key. */
interface Case {
  readonly what: string;
  readonly code: ErrorCode;
  readonly names: RegExp;
  /** The experiment file; none: there is no such file. */
  readonly experiment?: string;
  /** The trace that it plays. */
  readonly trace?: string | Uint8Array;
  readonly flags?: readonly string[];
}

const ARRIVALS = 'arrival_ns,model_id,slo_ns\n';
const PLAYS_ARRIVALS = withWorkload('{ kind: arrivals, path: trace.csv }');
const PLAYS_AZURE = withWorkload('{ kind: azure-2019, path: trace.csv }');
const AZURE = 'HashOwner,HashApp,HashFunction,Trigger,1,2,3\n';

const CASES: readonly Case[] = [
  { what: 'the experiment file is missing', code: 'E_FILE_MISSING', names: /run\.yaml: no such file/ },
  {
    what: 'YAML is broken',
    experiment: 'seed: 1\nslo: [1\n',
    code: 'E_CONFIG_SYNTAX',
    names: /run\.yaml:\d+: /,
  },
  {
    what: 'a list holds itself',
    experiment: 'a: &a [*a]\nmodels: *a\n',
    code: 'E_CONFIG_SYNTAX',
    names: /run\.yaml:1: the alias \*a is inside its own anchor/,
  },
  {
    what: 'the models file has no end',
    experiment: SMALL_EXPERIMENT.replace(/models: .*/, 'models: { kind: csv, path: /dev/zero }'),
    code: 'E_FILE_MISSING',
    names: /\/dev\/zero: is a device, not a file/,
  },
  {
    what: 'a key does not exist',
    experiment: SMALL_EXPERIMENT.replace('scheduleAhead', 'schedulAhead'),
    code: 'E_CONFIG_KEY',
    names: /run\.yaml:7: .*schedulAhead.*did you mean "scheduleAhead"/,
  },
  {
    what: 'a unit does not exist',
    experiment: SMALL_EXPERIMENT.replace('25ms', '25lightyears'),
    code: 'E_CONFIG_UNIT',
    names: /run\.yaml:6: slo: .*lightyears/,
  },
  {
    what: 'a model is larger than the cache',
    experiment: SMALL_EXPERIMENT.replace('pages: 200', 'pages: 2'),
    code: 'E_MODEL_TOO_LARGE',
    names: /run\.yaml:4: models/,
  },
  {
    what: 'the trace is missing',
    experiment: PLAYS_ARRIVALS,
    code: 'E_FILE_MISSING',
    names: /run\.yaml:5: workload\.path: .*trace\.csv: no such file/,
  },
  {
    what: 'the header is of another layout',
    experiment: PLAYS_ARRIVALS,
    trace: 'time,model\n1,2\n',
    code: 'E_TRACE_HEADER',
    names: /trace\.csv:1: /,
  },
  {
    what: 'a count is not a number',
    experiment: PLAYS_AZURE,
    trace: `${AZURE}a,b,c,http,1,2,3\na,b,d,http,1,many,3\n`,
    code: 'E_TRACE_VALUE',
    names: /trace\.csv:3: .*many/,
  },
  {
    what: 'arrivals are not sorted',
    experiment: PLAYS_ARRIVALS,
    trace: `${ARRIVALS}100,0,1000000\n300,0,1000000\n200,0,1000000\n`,
    code: 'E_TRACE_ORDER',
    names: /trace\.csv:4: /,
  },
  {
    what: 'a request is for an unknown model',
    experiment: PLAYS_ARRIVALS,
    trace: `${ARRIVALS}100,0,1000000\n200,99,1000000\n`,
    code: 'E_UNKNOWN_MODEL',
    names: /trace\.csv:3: .*99/,
  },
  {
    what: 'a gzip is cut off',
    experiment: PLAYS_ARRIVALS.replace('trace.csv', 'trace.csv.gz'),
    trace: truncatedGzip(),
    code: 'E_FILE_TRUNCATED',
    names: /trace\.csv\.gz/,
  },
];

test.each(CASES)('$what: $code', async ({ experiment, trace, flags = [], code, names }) => {
  const dir = tempDir();
  if (experiment !== undefined) writeIn(dir, 'run.yaml', experiment);
  if (trace !== undefined) writeIn(dir, typeof trace === 'string' ? 'trace.csv' : 'trace.csv.gz', trace);
  const { status, stdout, stderr } = await runCli(
    ['simulate', 'run.yaml', '--quiet', '--out', 'out', ...flags],
    { cwd: dir },
  );
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

test('report of a file says that it needs a folder', async () => {
  const file = writeIn(tempDir(), 'run.yaml', SMALL_EXPERIMENT);
  const { status, stderr } = await runCli(['report', file]);
  expect(stderr).toBe(
    `escapement: E_RESULTS: ${file}: is a file; pass the --out folder of simulate or sweep; for a server's journal there is escapement replay\n`,
  );
  expect(status).toBe(EXIT_CODES.E_RESULTS.exit);
});

test('report of a folder without results says what to do', async () => {
  const dir = tempDir();
  const { status, stderr } = await runCli(['report', dir]);
  expect(stderr).toMatch(/^escapement: E_RESULTS: .*results\.json[^\n]*\n$/);
  expect(status).toBe(EXIT_CODES.E_RESULTS.exit);
});

function withWorkload(workload: string): string {
  return SMALL_EXPERIMENT.replace(/workload: .*/, `workload: ${workload}`);
}

function truncatedGzip(): Uint8Array {
  const rows = Array.from({ length: 5000 }, (_, i) => `${i * 1000},${i % 15},50000000\n`);
  const whole = gzipSync(ARRIVALS + rows.join(''));
  return whole.subarray(0, whole.length / 2);
}
