import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { complaintsOf, mapOf, NO_HAPROXY } from '../cells/haproxy.js';
import { runCli, runOk, tempDir, writeIn } from '../run-cli.js';

const MODELS = [
  ['ranker', "it's", 'both'],
  ['"odd"\\$(x)%[src]', 'both'],
] as const;
const CELLS = ['--cell', 'cell-1=10.0.0.1,10.0.0.2:9000', '--cell', 'cell-2=[::1]:9000:9001,standby.example'];

const haproxy = (dir: string, ...args: string[]) => ['cells', 'haproxy', mapIn(dir), ...args];

it('writes a configuration and a map of models', async () => {
  const dir = tempDir();
  const out = join(dir, 'front');
  const { stdout } = await runOk(haproxy(dir, ...CELLS, '--out', out));
  expect(stdout).toBe(`${join(out, 'haproxy.cfg')}\n${join(out, 'models.map')}\n`);
  expect(readFileSync(join(out, 'models.map'), 'utf8')).toBe(
    `ranker cell-1\nit's cell-1\nboth shared-1\n"odd"\\$(x)%[src] cell-2\n`,
  );
  const config = readFileSync(join(out, 'haproxy.cfg'), 'utf8');
  expect(config).toContain('tune.bufsize 1081344\n');
  expect(config).toContain('bind 127.0.0.1:8000\n');
  expect(config).toContain(
    'backend cell-1-http\n  option httpchk GET /v2/health/ready\n  http-check expect status 200\n' +
      '  server controller-1 10.0.0.1:8000 check\n  server controller-2 10.0.0.2:9000 check\n',
  );
  expect(config).toContain(
    'backend cell-2-grpc\n  server cell-2-controller-1 [::1]:9001 proto h2 weight 1 track cell-2-http/controller-1\n',
  );
  expect(config).toContain('inter 250ms fall 3');
  expect(config).not.toContain('shutdown-sessions');
  // Names of models stay out of it: nothing in them can become a directive.
  expect(config).not.toContain('ranker');
});

it.skipIf(NO_HAPROXY !== null)(
  `a real HAProxy takes what is written, without a warning${NO_HAPROXY === null ? '' : ` (skipped: ${NO_HAPROXY})`}`,
  async () => {
    const dir = tempDir();
    const cells = ['--cell', 'cell-1=127.0.0.1,127.0.0.2', '--cell', 'cell-2=[::1]:9000:9001'];
    for (const flags of [[], ['--grpc-port', 'off'], ['--max-message', '64MiB', '--host', '0.0.0.0']]) {
      const out = join(dir, flags.join(''));
      await runOk(haproxy(dir, ...cells, '--out', out, ...flags));
      expect(complaintsOf(join(out, 'haproxy.cfg'))).toBe('');
    }
  },
);

it.each([
  [[], 'no address of cell-1, cell-2: give --cell cell-1=HOST,STANDBY'],
  [CELLS.slice(0, 2), 'no address of cell-2'],
  [[...CELLS, '--cell', 'cell-3=10.0.0.1'], 'the map has no cell-3; did you mean cell-1?'],
  [[...CELLS, '--cell', 'cell-1=10.0.0.1'], 'cell-1 was given before: list its controllers with commas'],
  [['--cell', 'cell-1'], 'write CELL=HOST,STANDBY'],
  [['--cell', 'cell-1=a b'], '"a b" is no address'],
  [['--cell', 'cell-1=host:70000'], '"host:70000" is no address'],
  [['--cell', 'cell-1=host:1:2:3'], '"host:1:2:3" is no address'],
  [['--cell', 'cell-1=10.0.0.1,'], '"" is no address'],
  [[...CELLS, '--http-port', 'off'], '--http-port off'],
  [[...CELLS, '--host', 'a b'], '--host a b: is no address'],
  [[...CELLS, '--max-message', '1GiB'], '--max-message: at most 256MiB'],
])('refuses %j', async (flags, what) => {
  const dir = tempDir();
  const { status, stderr } = await runCli(haproxy(dir, '--out', join(dir, 'front'), ...flags));
  expect(stderr).toContain(what);
  expect(status).toBe(2);
});

it.each([
  ['{', 'is no map of cells: not JSON'],
  ['{"version":1}', 'escapement: is missing'],
])('refuses a map like %s', async (text, what) => {
  const dir = tempDir();
  const map = writeIn(dir, 'map.json', text);
  const { status, stderr } = await runCli(['cells', 'haproxy', map, ...CELLS, '--out', join(dir, 'front')]);
  expect(stderr).toContain(what);
  expect(status).toBe(36);
});

function mapIn(dir: string): string {
  return writeIn(dir, 'cells.json', JSON.stringify(mapOf(MODELS)));
}
