import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Candidate, writeCandidate } from './candidate.js';
import { drawExperiment } from './draw-experiment.js';
import { judge, type Verdict } from './judge.js';
import { shrink } from './shrink.js';

/** One seed in so many also runs as processes, which take longer to start than to run. */
const COMMAND_LINE_EVERY = 20;

/** Judges the experiment of a seed. */
export function trySeed(seed: number): Promise<Verdict> {
  return judge(drawExperiment(seed), scratch(), seed % COMMAND_LINE_EVERY === 0);
}

/** Writes the experiment of a seed that failed into `dir`; with `smaller`, what is left of it once it is shrunk. */
export async function writeFailure(seed: number, dir: string, smaller: boolean): Promise<void> {
  const drawn = drawExperiment(seed);
  writeCandidate(drawn, dir);
  if (!smaller) return;
  const first = await trySeed(seed);
  if (first.kind !== 'failed') return;
  const fails = async (candidate: Candidate) => {
    const verdict = await judge(candidate, scratch(), first.check.startsWith('escapement'));
    return verdict.kind === 'failed' && verdict.check === first.check;
  };
  const { replay } = first;
  const start = replay !== null && (await fails(replay)) ? replay : drawn;
  writeCandidate(await shrink(start, fails), join(dir, 'smaller'));
}

function scratch(): string {
  return mkdtempSync(join(tmpdir(), 'escapement-swarm-'));
}
