import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { EscapementError } from '../../../src/base/errors.js';
import type { Experiment } from '../../../src/config/experiment.js';
import { loadExperiment } from '../../../src/config/load.js';
import { type Candidate, replayOf, type Section, writeCandidate } from './candidate.js';
import {
  auditProblem,
  boundProblem,
  brokenInvariant,
  leavingProblem,
  littleProblem,
  type Problem,
  pipelineProblem,
  repetitionProblem,
  requestProblem,
} from './checks.js';
import { type ObservedRun, observe } from './observed-run.js';

/** What came of a candidate. */
export type Verdict =
  | {
      readonly kind: 'passed';
      readonly events: number;
      readonly virtualNs: number;
      readonly digest: string;
    }
  /** The experiment is not valid, and the program said so. */
  | { readonly kind: 'refused'; readonly code: string; readonly what: string }
  | ({ readonly kind: 'failed' } & Problem & {
        /** The same requests from a file, if the run came that far: easier to make smaller. */
        readonly replay: Candidate | null;
      });

/** What may be said of an experiment before or while it runs; anything else is a bug. */
const REFUSALS = ['E_CONFIG_VALUE', 'E_MODEL_TOO_LARGE', 'E_UNKNOWN_MODEL', 'E_PROFILE', 'E_TRACE_VALUE'];
/**
 * Models that do not fit together replace each other under `clockwork`, as it was published, for as long as their requests
 * wait: src/policies/README.md#how-clockwork-loads-and-evicts.
 */
const ENDLESS = 'the run does not end';

/** Runs the candidate in `dir`, a folder of its own that is gone afterwards, and applies every check. */
export async function judge(candidate: Candidate, dir: string): Promise<Verdict> {
  let replay: Candidate | null = null;
  try {
    const file = writeCandidate(candidate, dir);
    const experiment = await loadExperiment(file, ['checks=true']);
    const outDir = join(dir, 'out');
    mkdirSync(outDir);
    const run = await observe(experiment, outDir);
    replay = replayOf(candidate, experiment, run.sent);
    const problem =
      seenProblem(experiment, run, outDir) ??
      repetitionProblem(run, await observe({ ...experiment, checks: false })) ??
      (await boundProblem(experiment, run)) ??
      (await leavingProblem(experiment)) ??
      (replay === null ? null : await replayProblem(replay, dir, run));
    if (problem !== null) return { kind: 'failed', ...problem, replay };
    const { sent, answers, actions } = run;
    const virtualNs = answers.reduce((last, { nowNs }) => Math.max(last, nowNs), 0);
    const events = sent.length + answers.length + 2 * actions.length;
    return { kind: 'passed', events, virtualNs, digest: run.result.summary.digest };
  } catch (error) {
    if (error instanceof EscapementError && REFUSALS.includes(error.code))
      return { kind: 'refused', code: error.code, what: error.what };
    const { check, what } = thrown(error);
    if (isPolicy(candidate, 'clockwork') && check.includes(ENDLESS))
      return { kind: 'refused', code: 'endless LOADs of clockwork', what };
    return { kind: 'failed', check, what, replay };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

function isPolicy({ tree }: Candidate, kind: string): boolean {
  return (tree.policy as Section | undefined)?.kind === kind;
}

function thrown(error: unknown): Problem {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  const [message, ...trace] = text.split('\n');
  return {
    check: `throws ${message.replace(/\d+/g, '#')}`,
    what: trace.map((line) => line.trim()).join(' '),
  };
}

function seenProblem(experiment: Experiment, run: ObservedRun, outDir: string): Problem | null {
  return (
    requestProblem(experiment, run) ??
    brokenInvariant(experiment, run) ??
    pipelineProblem(experiment, run) ??
    auditProblem(outDir) ??
    littleProblem(run, outDir)
  );
}

/** The requests of a run, played from a file, lead to the same decisions. */
async function replayProblem(replay: Candidate, dir: string, run: ObservedRun): Promise<Problem | null> {
  const again = await observe(await loadExperiment(writeCandidate(replay, dir)));
  const [recorded, found] = [run.result.summary.digest, again.result.summary.digest];
  if (recorded === found) return null;
  return { check: 'the recorded requests replay', what: `digest ${found} instead of ${recorded}` };
}
