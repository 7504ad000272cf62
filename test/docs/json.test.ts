import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { ALL_COMMANDS } from '../cli/all-commands.js';
import { ROOT, runCli, runOk, SMALL_EXPERIMENT, tempDir, writeIn } from '../cli/run-cli.js';
import { pageAt } from './pages.js';

const COMMAND_PAGE = pageAt('docs/reference/commands.md').text;

/** Servers, whose output is their log, and those that print a text or JSON anyway. */
const WITHOUT = ['controller', 'init', 'schema', 'serve', 'sweep-worker', 'worker'];

/** The table's rows: commands, and what it says of their keys. */
const ROWS = tableAfter('| command | keys of the object that `--json` prints |').map(([commands, keys]) => ({
  commands: namesIn(commands as string),
  keys: keys as string,
}));

it('is a flag of every command of the table and of no other', async () => {
  const all = ALL_COMMANDS.map(({ name }) => name);
  const withFlag: string[] = [];
  for (const { name } of ALL_COMMANDS) {
    const { stdout } = await runCli([...name.split(' '), '--help']);
    if (/^ +--json/m.test(stdout)) withFlag.push(name);
  }
  expect(withFlag.sort()).toEqual(ROWS.flatMap(({ commands }) => commands).sort());
  expect(all.filter((name) => !withFlag.includes(name)).sort()).toEqual(WITHOUT);
});

describe('one object with the keys of the table', () => {
  const dir = tempDir();

  beforeAll(async () => {
    writeIn(dir, 'small.yaml', SMALL_EXPERIMENT);
    writeIn(dir, 'log.csv', 'time,model\n1760248800.5,a\n');
    writeIn(dir, 'measured.csv', 'model,gpu,batch,latency_ms\na,t4,1,2\n');
    await runOk(['simulate', 'small.yaml', '--out', 'run', '--quiet'], { cwd: dir });
    await runOk(['model', 'make', 'mlp', '--repository', 'models', '--name', 'made', '--input', '4'], {
      cwd: dir,
    });
    await runOk(['run', 'small.yaml', '--mode', 'live', '--quiet', '--journal', 'run.journal'], { cwd: dir });
  });

  it.for([
    'simulate small.yaml --threshold ok>0',
    'run small.yaml --mode simulate --threshold ok>0',
    'sweep small.yaml --vary slo=25ms,50ms --out sweep --threshold ok>0',
    'plan small.yaml --target goodputRps>1 --over cluster.gpus=1:2 --seeds 1',
    'play small.yaml --html page.html',
    'bound small.yaml',
    'report run',
    'compare run run',
    'calibrate run run',
    'check run',
    'explain run',
    'config',
    'keys clockwork',
    'replay run.journal --late --request 0',
    'model make mlp --repository models --name other --input 4',
    'model list models',
    'profile measure models --model made --runs 1',
    `profile show ${join(ROOT, 'experiments/profiles/resnet50_v2.v100.json')}`,
    'trace generate trace.csv --functions 5 --minutes 2',
    'trace info trace.csv',
    'trace convert small.yaml arrivals.csv',
    'import trace log.csv --out imported.csv',
    'import profiles measured.csv --out imported',
  ])('%s', async (line) => {
    const { stdout, status, stderr } = await runCli([...line.split(' '), '--json'], { cwd: dir });
    expect(status, stderr).toBe(0);
    expect(stdout.trim().split('\n')).toHaveLength(1);
    const row = ROWS.find(({ commands }) =>
      commands.some((name) => line.startsWith(`${name} `) || line === name),
    );
    expect(everyKey(JSON.parse(stdout))).toEqual(expect.arrayContaining(keysIn(row?.keys ?? '')));
    expect(keysIn(row?.keys ?? '').length).toBeGreaterThan(0);
  });
});

/** Names in backticks that are no flags, files or schemas. */
function keysIn(text: string): string[] {
  return namesIn(text).filter((name) => /^[a-z]\w*$/i.test(name));
}

function namesIn(text: string): string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map((match) => match[1] as string);
}

/** Keys of the object and of the objects in its lists. */
function everyKey(value: object): string[] {
  const own = Object.keys(value);
  const inLists = Object.values(value).flatMap((field) =>
    Array.isArray(field) && typeof field[0] === 'object' && field[0] !== null ? Object.keys(field[0]) : [],
  );
  return [...own, ...inLists];
}

function tableAfter(header: string): string[][] {
  const begin = COMMAND_PAGE.indexOf(header);
  expect(begin, header).toBeGreaterThan(0);
  const [, , ...rows] = (COMMAND_PAGE.slice(begin).split('\n\n')[0] as string).trim().split('\n');
  return rows.map((row) => row.slice(2, -2).split(' | '));
}
