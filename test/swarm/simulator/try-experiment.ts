import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FailureOptions, SeedVerdict } from '../run/try-seed.js';
import { type Candidate, writeCandidate } from './candidate.js';
import { drawExperiment } from './draw-experiment.js';
import { judge, type Verdict } from './judge.js';
import { shrink } from './shrink.js';

/** Judges the experiment of a seed. One that fails is written into `dir`, and what is left of it once it is shrunk. */
export async function tryExperiment(seed: number, { dir, smaller }: FailureOptions): Promise<SeedVerdict> {
  const drawn = drawExperiment(seed);
  const verdict = await judge(drawn, scratch());
  if (verdict.kind === 'passed') return { ...verdict, failure: '' };
  const nothing = { events: 0, virtualNs: 0, digest: '' };
  if (verdict.kind === 'refused') return { ...nothing, failure: '', refused: verdict.code };
  writeCandidate(drawn, dir);
  if (smaller) writeCandidate(await smallerThan(drawn, verdict), join(dir, 'smaller'));
  return { ...nothing, failure: `${verdict.check}: ${verdict.what}` };
}

function smallerThan(
  drawn: Candidate,
  { check, replay }: Extract<Verdict, { kind: 'failed' }>,
): Promise<Candidate> {
  const fails = async (candidate: Candidate) => {
    const verdict = await judge(candidate, scratch());
    return verdict.kind === 'failed' && verdict.check === check;
  };
  // Requests of a file are easier to leave out than what generated them.
  return fails(replay ?? drawn).then((same) => shrink(same && replay !== null ? replay : drawn, fails));
}

function scratch(): string {
  return mkdtempSync(join(tmpdir(), 'escapement-swarm-'));
}
