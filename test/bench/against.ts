import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { parseExperiment } from '../../src/config/load.js';
import type { simulate } from '../../src/run/simulated.js';
import type { BenchCase } from './cases.js';
import { median } from './child.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const EXPERIMENTS = `${ROOT}experiments/`;

/** What a comparison needs of a version of the package. */
interface Version {
  readonly parseExperiment: typeof parseExperiment;
  readonly simulate: typeof simulate;
}

/** Speed of this checkout on a case, relative to another revision. */
export interface AgainstLine {
  readonly case: string;
  readonly against: string;
  readonly pairs: number;
  readonly requests: number;
  /** CPU time of a request, µs: median over the pairs. */
  readonly cpuUsPerRequest: number;
  readonly theirCpuUsPerRequest: number;
  /** CPU time of the other revision to that of this one, in each pair: median and quartiles; above 1: this one is faster. */
  readonly ratio: readonly [lower: number, median: number, upper: number];
  readonly sameDigest: boolean;
}

/** Installs and builds a revision of this repository in a folder of its own, unless that was done before; returns the folder. */
export function buildRevision(revision: string): string {
  const options = { cwd: ROOT, encoding: 'utf8' } as const;
  const commit = execFileSync('git', ['rev-parse', '--verify', `${revision}^{commit}`], options).trim();
  const folder = `${ROOT}out/bench/against/${commit}`;
  if (existsSync(`${folder}/dist/index.js`)) return folder;
  mkdirSync(folder, { recursive: true });
  const archive = execFileSync('git', ['archive', commit], { cwd: ROOT, maxBuffer: 2 ** 30 });
  execFileSync('tar', ['-x', '-C', folder], { input: archive });
  // Its `prepare` script builds it.
  execFileSync('npm', ['ci', '--no-audit', '--no-fund'], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return folder;
}

/**
 * Runs a case with this checkout and another revision in turns, in one process, after a warm-up of both: start-up and
 * compilation are left out, and what disturbs the machine for a while disturbs both alike. Null: the other revision does
 * not know the experiment, or takes it for another one.
 */
export async function runAgainst(
  { name, experiment, overrides }: BenchCase,
  folder: string,
  pairs: number,
): Promise<AgainstLine | null> {
  const versions = await Promise.all(
    [ROOT, `${folder}/`].map((root): Promise<Version> => import(pathToFileURL(`${root}dist/index.js`).href)),
  );
  const reads = ({ parseExperiment }: Version, keys: readonly string[]) =>
    parseExperiment(experiment, `${EXPERIMENTS}bench.yaml`, keys).then(
      () => true,
      () => false,
    );
  const run = async ({ parseExperiment, simulate }: Version, keys: readonly string[]) => {
    const parsed = await parseExperiment(experiment, `${EXPERIMENTS}bench.yaml`, keys);
    const begin = process.cpuUsage();
    const { digest, requests } = (await simulate(parsed)).summary;
    const { user, system } = process.cpuUsage(begin);
    return { digest, requests: requests.offered, cpuUs: user + system };
  };
  const [ours, theirs] = versions;
  // Versions from before `admission` have none, which is what the cases ask for.
  const known = (await reads(theirs, overrides))
    ? overrides
    : overrides.filter((key) => !key.startsWith('admission='));
  if (!(await reads(theirs, known))) return null;
  const first = [await run(ours, overrides), await run(theirs, known)];
  if (first[0].requests !== first[1].requests) return null;
  const done: { ours: number; theirs: number }[] = [];
  for (let i = -1; i < pairs; i++) {
    const oursFirst = i % 2 === 0 ? (await run(ours, overrides)).cpuUs : null;
    const other = (await run(theirs, known)).cpuUs;
    const own = oursFirst ?? (await run(ours, overrides)).cpuUs;
    if (i >= 0) done.push({ ours: own, theirs: other });
  }
  const ratios = done.map((pair) => pair.theirs / pair.ours).sort((a, b) => a - b);
  const at = (share: number) => digits(ratios[Math.round(share * (ratios.length - 1))]);
  const { requests } = first[0];
  return {
    ...{ case: name, against: folder.slice(folder.lastIndexOf('/') + 1, -32), pairs, requests },
    cpuUsPerRequest: digits(median(done.map((pair) => pair.ours)) / requests),
    theirCpuUsPerRequest: digits(median(done.map((pair) => pair.theirs)) / requests),
    ratio: [at(0.25), at(0.5), at(0.75)],
    sameDigest: first[0].digest === first[1].digest,
  };
}

function digits(value: number): number {
  return Number(value.toPrecision(4));
}
