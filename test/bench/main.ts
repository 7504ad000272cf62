import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { writeWhole } from '../../src/base/files/output-file.js';
import { buildRevision, runAgainst } from './against.js';
import { benchCases, shortCases } from './cases.js';
import { median, runHere, runInChild } from './child.js';
import { benchGrowth } from './growth.js';

/*
 * Whole runs, arrivals and metrics included, on one thread: `npm run bench -- [--only TEXT] [--runs N]
 * [--trace FILE]`. Prints a JSON line a case; with `--growth` one for each policy on
 * 1 to 1,000 GPUs, with `--against REVISION` one for each case that compares the
 * speed with that of another commit, in `--runs` pairs. `--out FILE` also writes the lines to a file.
 */

const { values: flags } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    runs: { type: 'string', default: '3' },
    trace: { type: 'string' },
    growth: { type: 'boolean', default: false },
    against: { type: 'string' },
    out: { type: 'string' },
    child: { type: 'boolean', default: false },
    set: { type: 'string', multiple: true, default: [] },
  },
});
const trace = flags.trace === undefined ? undefined : resolve(flags.trace);
const runs = Number(flags.runs);
const lines: string[] = [];

if (!(Number.isInteger(runs) && runs > 0)) fail(`--runs ${flags.runs}: write a whole number, at least 1`);

if (flags.child && flags.against !== undefined) await compareHere(flags.against);
else if (flags.child) {
  process.stdout.write(JSON.stringify(await runHere({ name: flags.only, trace, overrides: flags.set })));
} else {
  if (flags.growth) benchGrowth(runs, flags.only, print);
  else if (flags.against !== undefined) compareWith(flags.against);
  else runAll();
  if (lines.length === 0) fail(`--only ${flags.only}: no case has that in its name`);
  if (flags.out !== undefined) writeWhole(flags.out, lines.join(''));
}

function fail(problem: string): never {
  process.stderr.write(`${problem}\n`);
  process.exit(2);
}

function runAll(): void {
  for (const { name, aim } of benchCases(trace)) {
    if (!name.includes(flags.only)) continue;
    const done = Array.from({ length: runs }, () => runInChild({ name, trace, overrides: flags.set }));
    const rates = done.map((run) => run.processedRps);
    print({
      case: name,
      runs,
      requests: done[0].requests,
      eventsPerS: Math.round(median(done.map(({ events, seconds }) => events / seconds))),
      eventsPerCpuS: Math.round(median(done.map(({ events, cpuSeconds }) => events / cpuSeconds))),
      processedRps: { median: Math.round(median(rates)), min: Math.round(Math.min(...rates)), aim },
      wallSeconds: median(done.map((run) => run.seconds)),
      peakRssMB: Math.round(Math.max(...done.map((run) => run.peakRssBytes)) / 1e6),
      digest: done[0].digest,
    });
  }
}

/** Each case in a process of its own, so that none is compiled for what another did. */
function compareWith(revision: string): void {
  buildRevision(revision);
  for (const { name } of shortCases()) {
    if (!name.includes(flags.only)) continue;
    const own = ['--child', '--against', revision, '--only', name, '--runs', flags.runs];
    const sets = flags.set.flatMap((one) => ['--set', one]);
    const args = [fileURLToPath(import.meta.url), ...own, ...sets];
    print(JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' })));
  }
}

async function compareHere(revision: string): Promise<void> {
  const found = shortCases().find(({ name }) => name === flags.only)!;
  const overrides = [...found.overrides, ...flags.set];
  const line = await runAgainst({ ...found, overrides }, buildRevision(revision), runs);
  process.stdout.write(JSON.stringify(line ?? { case: found.name, against: revision, unknown: true }));
}

function print(line: object): void {
  const text = `${JSON.stringify(line)}\n`;
  process.stdout.write(text);
  lines.push(text);
}
