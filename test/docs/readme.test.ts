import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { experimentJsonSchema } from '../../src/experiment/json-schema.js';
import { loadExperiment, parseExperiment } from '../../src/experiment/load.js';
import { parseThreshold } from '../../src/metrics/threshold.js';
import { MAIN } from '../cli/run-cli.js';
import { ROOT, runSnippet, typeErrors } from '../snippets.js';
import { anchorsOf, fencesOf, linksOf } from './markdown.js';
import { README_TABLES } from './tables.js';

const README = readFileSync(join(ROOT, 'README.md'), 'utf8');
const FENCES = fencesOf(README);
const PACKAGE = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  scripts: Record<string, string>;
  engines: { node: string };
  exports: Record<string, unknown>;
};

/** What `npx escapement` is for someone who has installed the package. */
const NPX = `#!/bin/sh\nshift\nexec '${process.execPath}' '${MAIN}' "$@"\n`;

describe('the first screen', () => {
  it('sets everything up with exactly two commands', () => {
    const [first] = FENCES;
    const commands = first?.code
      .trim()
      .split('\n')
      .map((line) => line.replace(/\s*#.*$/, ''));
    expect(commands).toEqual(['npm ci && npm start', 'npm ci && npm test']);
    expect(README).toContain(`Node ${PACKAGE.engines.node.replace('>=', '')} or newer`);
  });

  it('says what npm start does', async () => {
    expect(PACKAGE.scripts.start).toContain('sweep experiments/azure.yaml --out out/azure');
    const { models, cluster } = await loadExperiment(join(ROOT, 'experiments/azure.yaml'));
    expect(README).toContain(`${models.length} models on ${cluster.gpus} simulated GPUs`);
  });

  it('names scripts that exist', () => {
    const named = [...README.matchAll(/npm run ([\w-]+)/g)].map((match) => match[1] as string);
    expect(['start', 'test', ...named].filter((script) => !(script in PACKAGE.scripts))).toEqual([]);
  });
});

/** Every shell block, in order, in one folder that looks like the repository. */
describe('shell blocks', () => {
  const dir = mkdtempSync(join(tmpdir(), 'escapement-readme-'));
  const shell = FENCES.filter(({ language, code }) => language === 'sh' && code.includes('npx escapement'));

  beforeAll(() => {
    for (const folder of ['experiments', 'traces'])
      cpSync(join(ROOT, folder), join(dir, folder), { recursive: true });
    mkdirSync(join(dir, 'bin'));
    writeFileSync(join(dir, 'bin', 'npx'), NPX);
    chmodSync(join(dir, 'bin', 'npx'), 0o755);
    // Stands in for the download that the README asks for.
    mkdirSync(join(dir, 'azure'));
    runShell(
      'npx escapement trace generate --functions 200 --minutes 1440 --rate 20/s azure/invocations_per_function_md.anon.d01.csv',
    );
  });

  afterAll(() => rmSync(dir, { recursive: true, force: true }));

  it('are all run', () => {
    expect(shell.length).toBeGreaterThan(8);
  });

  it.each(shell)('line $line', ({ code, line }) => {
    const printed = runShell(code);
    const promised = FENCES.find(
      (fence) => fence.language === 'text' && fence.line === endOf(line, code) + 2,
    );
    if (promised !== undefined) expectLines(printed, promised.code);
  });

  it('draw the picture of the first screen', () => {
    const picture = readFileSync(join(ROOT, 'experiments/pictures/schedule-ahead.png'));
    const drawn = readFileSync(join(dir, 'out/schedule-ahead/charts/goodput.png'));
    // Width and height: the last bits of the pixels may depend on the machine.
    expect(picture.subarray(16, 24)).toEqual(drawn.subarray(16, 24));
  });

  function runShell(code: string): string {
    const env = { ...process.env, PATH: [join(dir, 'bin'), process.env.PATH].join(delimiter) };
    const { status, stdout, stderr } = spawnSync('bash', ['-euo', 'pipefail', '-c', code], {
      cwd: dir,
      env,
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
    });
    expect(status, stderr).toBe(0);
    return stdout;
  }

  function endOf(line: number, code: string): number {
    return line + code.split('\n').length - 1;
  }
});

describe('code blocks', () => {
  it.each(FENCES.filter(({ language }) => language === 'yaml'))(
    'yaml at line $line is an experiment',
    async ({ code }) => {
      const experiment = await parseExperiment(code, join(ROOT, 'experiments', 'readme.yaml'));
      expect(experiment.models.length).toBeGreaterThan(0);
    },
  );

  const snippets = FENCES.filter(({ language }) => language === 'ts');

  it.each(snippets)('ts at line $line passes the type checker', ({ code }) => {
    expect(typeErrors(code)).toEqual([]);
  });

  it('simulate from a program', () => {
    const { status, stdout, stderr } = runSnippet(snippets[0]?.code as string, ROOT);
    expect(status, stderr).toBe(0);
    expect(stdout).toMatch(/^[\d.]+ [\d.]+ [0-9a-f]{16}\n$/);
  });

  it('drive the scheduler with a clock of their own, in some thirty lines', () => {
    const code = snippets[1]?.code as string;
    const { status, stdout, stderr } = runSnippet(code, ROOT);
    expect(status, stderr).toBe(0);
    // How fast a timer fires is the machine's affair; that every request is answered is ours.
    const answers = stdout.trim().split('\n');
    expect(answers).toHaveLength(8);
    for (const answer of answers) expect(answer).toMatch(/^(?:ok|late|timeout) [\d.]+ ms$/);
    expect(code.split('\n').filter((line) => line.trim() !== '').length).toBeLessThan(45);
  });

  it('import what the package exports', () => {
    const section = README.slice(README.indexOf('### Use it as a library'), README.indexOf('## Reference'));
    const named = [...section.matchAll(/^\| `escapement(\/\w+)?` \|/gm)].map((match) => `.${match[1] ?? ''}`);
    const exported = Object.keys(PACKAGE.exports).filter((path) => path !== './package.json');
    expect(named.sort()).toEqual(exported.sort());
  });
});

describe('reference', () => {
  it.each(Object.entries(README_TABLES))('has the table of %s', (_, table) => {
    // Up to the first row: its header may be that of another table, too.
    const begin = README.indexOf(table.split('\n').slice(0, 3).join('\n'));
    expect(begin, `the table must be:\n${table}`).toBeGreaterThan(0);
    expect(README.slice(begin).split('\n\n')[0]).toBe(table);
  });

  it('has every command, and no other', () => {
    const rows = [...README.matchAll(/^\| `escapement ([a-z ]+?)(?: [A-Z ]+)?` \|/gm)].map(
      (match) => match[1] as string,
    );
    const listed = (args: string[]) => {
      const { stdout } = spawnSync(process.execPath, [MAIN, ...args, '--help'], {
        encoding: 'utf8',
      });
      return [...stdout.matchAll(/^ {2}escapement ([a-z ]+?)(?: <| {2})/gm)].map(
        (match) => match[1] as string,
      );
    };
    const commands = listed([]).flatMap((command) =>
      ['trace', 'profile', 'model'].includes(command) ? listed([command]) : command,
    );
    expect(rows.sort()).toEqual(commands.sort());
  });

  it('has every section of an experiment file', () => {
    const section = README.slice(README.indexOf('### Experiment files'), README.indexOf('### Workloads'));
    const rows = [...section.matchAll(/^\| `(\w+)` \|/gm)].map((match) => match[1] as string);
    const { properties } = experimentJsonSchema() as { properties: object };
    expect(rows.sort()).toEqual(Object.keys(properties).sort());
  });

  it('names figures that thresholds know', () => {
    const text = /Figures: (.*?), which may/s.exec(README)?.[1] as string;
    const figures = [...text.matchAll(/`(\w+)`/g)].map((match) => match[1] as string);
    expect(figures.length).toBeGreaterThan(15);
    for (const figure of figures) {
      const isDuration = /^(?:mean|max|p\d+)$/.test(figure);
      expect(parseThreshold(`${figure}<1${isDuration ? 'ms' : ''}`).metric).toBe(figure);
    }
  });
});

const GUIDES = [
  'README.md',
  'CONTRIBUTING.md',
  'traces/README.md',
  'src/bounds/README.md',
  'src/live/README.md',
  'src/policies/README.md',
  'experiments/policies/README.md',
];

describe.each(GUIDES)('links of %s', (name) => {
  const text = readFileSync(join(ROOT, name), 'utf8');

  it('lead to files and headings that exist', () => {
    const anchors = anchorsOf(text);
    const broken = linksOf(text).filter((link) => {
      if (/^https:/.test(link)) return false;
      return link.startsWith('#') ? !anchors.includes(link) : !existsSync(join(ROOT, name, '..', link));
    });
    expect(broken).toEqual([]);
  });
});

/** The lines of `wanted` stand in `printed` in this order; `…` stands for any lines. */
function expectLines(printed: string, wanted: string): void {
  const lines = printed.split('\n').map((line) => line.trimEnd());
  let from = 0;
  for (const line of wanted.trimEnd().split('\n')) {
    if (line === '…') continue;
    const at = lines.indexOf(line.trimEnd(), from);
    expect(at, `"${line}" is not what it prints; it prints:\n${printed}`).toBeGreaterThanOrEqual(0);
    from = at + 1;
  }
}
