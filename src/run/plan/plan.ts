import { EscapementError } from '../../base/errors.js';
import type { SourceDocument } from '../../config/document.js';
import type { Experiment } from '../../config/experiment.js';
import { ON_DISK } from '../../config/files-on-disk.js';
import { numberKind } from '../../config/keys.js';
import { readExperimentSource } from '../../config/load.js';
import { applyOverrides } from '../../config/overrides.js';
import { partNames } from '../../config/part-names.js';
import { loadPlugins } from '../../config/plugins.js';
import { refuseUnknownParts, type Threshold } from '../../record/threshold.js';
import { seedChanges } from '../random-streams.js';
import type { CellRunner } from '../sweep/pool.js';
import { parseSeeds } from '../sweep/vary.js';
import { parseTarget } from './judge.js';
import { planNotes, searchNotes, trafficNotes } from './notes.js';
import {
  type Candidates,
  type Lattice,
  latticeOf,
  type Over,
  overridesOf,
  parseOver,
  valuesOf,
} from './over.js';
import { closestOf, type KeyPlan, type Plan, type PlanInputs, shownOf, type Tried } from './plan-result.js';
import { type Goal, goalOf, type Preference } from './preference.js';
import { endsOf, openPlanStore, Prober } from './prober.js';
import { Reach } from './reach.js';
import { type SearchResult, search } from './search.js';
import { headlineOf } from './text.js';
import { checkScenarios, runWhatIfs } from './what-ifs.js';

/** Inputs common to all plans. */
export interface PlanRequest {
  readonly file: string;
  /** `--target` flags; all of them must hold. */
  readonly targets: readonly string[];
  /** `--over`: the key and its range; for fleets one range per kind of GPUs, separated by commas. */
  readonly over: string | undefined;
  /** `--seeds`. */
  readonly seeds: string;
  /** `--set` flags, for every run. */
  readonly overrides: readonly string[];
  /** True: targets must also hold after the loss of any one GPU. */
  readonly survives: boolean;
  /** True: the answer is also run in scenarios. */
  readonly asksWhatIf: boolean;
  /** Folder for finished runs, so that an interrupted plan can continue; undefined: not kept. */
  readonly outDir: string | undefined;
  readonly runner: CellRunner;
  /** Repeats the runs kept there. */
  readonly fresh: boolean;
  /** Version of the program: runs of another version are not reused. */
  readonly version: string;
  /** Called once, after all checks and before the first run, with the number of candidates. */
  readonly onStart: (seeds: readonly number[], candidates: number) => void;
  readonly onRun: (reused: boolean) => void;
}

/** Search space of a plan, and its inputs. */
interface PlanQuestion {
  readonly source: SourceDocument;
  readonly targets: readonly Threshold[];
  readonly overs: readonly Over[];
  readonly seeds: readonly number[];
}

/** Reads the flags and the file. Throws `E_USAGE` and errors of the file. */
export async function readQuestion(
  { file, over, ...request }: PlanRequest,
  example: string,
): Promise<PlanQuestion> {
  if (request.targets.length === 0) throw usage("--target is missing, e.g. --target 'attainment>=0.999'");
  if (over === undefined) throw usage(`--over is missing, e.g. --over ${example}`);
  const targets = request.targets.map(parseTarget);
  const overs = over.split(',').map(parseOver);
  const seeds = parseSeeds(request.seeds);
  return { targets, overs, seeds, source: await readExperimentSource(file) };
}

/** Checks the ends of the range, and searches with a prober of the candidates. */
export async function probing<Found extends Plan>(
  request: PlanRequest,
  { source, targets, seeds }: PlanQuestion,
  candidates: Candidates,
  choices: number,
  find: (prober: Prober, ends: readonly Experiment[], asked: PlanInputs) => Promise<Found>,
): Promise<Found> {
  const { overrides, survives, asksWhatIf, version, onRun } = request;
  const options = { source, overrides, survives, candidates, seeds, targets, version, onRun };
  const ends = await endsOf(options);
  if (survives) checkSurvival(ends);
  const withCandidate = (index: number) => [...overrides, ...overridesOf(candidates, index)];
  if (asksWhatIf) await checkScenarios(source, ends[0]!.scenarios, withCandidate(candidates.ends.at(-1)!));
  refuseUnknownParts(targets, ends.map(partNames), 'target');
  const store = openPlanStore(request.outDir, !request.fresh);
  request.onStart(ends.some(seedChanges) ? seeds : seeds.slice(0, 1), choices);
  const means = { runner: request.runner, store, reach: new Reach(targets, ends[0]!) };
  const { name, policy } = ends[0]!;
  const found = await find(new Prober(options, means), ends, {
    ...{ escapement: version, name, policy: policy.kind, experiment: source.text },
    ...{ overrides, targets, survives, seeds },
  });
  if (!asksWhatIf || found.answer === null) return found;
  const { settings } = shownOf<Tried>(found)!;
  const { candidates: _, survives: __, ...others } = options;
  return {
    ...found,
    whatIfs: await runWhatIfs({ ...others, overrides: [...overrides, ...settings] }, means),
  };
}

/** Throws `E_USAGE` for clusters of one GPU, or without a fixed number of GPUs. */
function checkSurvival(ends: readonly Experiment[]): void {
  const problem = ends.some(({ scaler }) => scaler.kind !== 'none')
    ? 'needs a fixed number of GPUs: leave out the scaler'
    : ends.every(({ cluster }) => cluster.gpus === 1)
      ? 'nothing is left of one GPU without it: give the range more of them'
      : null;
  if (problem !== null) throw usage(`--survive 1: ${problem}`);
}

/**
 * Finds the best value of one key at which an experiment meets its targets; `prefer` is for keys whose meaning does not
 * tell which value is better. The result does not depend on the number of threads. Throws errors of the experiment and
 * the flags; `E_USAGE` also if the operator must say which of several values is better.
 */
export async function planKey(request: PlanRequest, prefer: Preference | null): Promise<KeyPlan> {
  const question = await readQuestion(request, 'cluster.gpus=1:64');
  const { source, targets, seeds } = question;
  const over = onlyOne(question.overs);
  const lattice = await checkedLattice(over, source, request.overrides);
  return probing(request, question, valuesOf(over, lattice), lattice.size, async (prober, ends, asked) => {
    const goal = goalOf(over.key, prefer);
    const found = await search(lattice.size, goal?.prefer ?? null, async (index) => {
      const { meets } = await prober.judge(index);
      return meets === 'yes';
    });
    const tried = (await prober.tried()).map(([, one]) => one);
    const answer = answered(found, goal, lattice, tried, { over, targets });
    const facts = { over, targets, tried, seeds };
    const best = tried.find(({ value }) => value === answer.answer);
    const ofSearch = [...searchNotes(found, lattice, facts), ...trafficNotes(over, ends)];
    return {
      version: 3,
      ...asked,
      headline: headlineOf({ over, ...asked, ...answer }, tried.length < lattice.size ? tried.length : null),
      ...{ over, resolution: lattice.resolution, ...answer },
      notes: planNotes(facts, best, ofSearch, ends),
      tried,
    };
  });
}

function onlyOne([over, ...others]: readonly Over[]): Over {
  if (others.length === 0) return over!;
  throw usage(
    '--over: plans of one key take one range; ranges of several kinds of GPUs go with --minimize cost',
  );
}

/** Throws `E_USAGE` if the key is not a number; for an unknown one, the loader's error is more helpful. */
async function checkedLattice(
  over: Over,
  source: SourceDocument,
  overrides: readonly string[],
): Promise<Lattice> {
  const plugins = await loadPlugins(source, overrides, ON_DISK);
  const { tree } = applyOverrides(source, overrides, [], plugins);
  const kind = numberKind(tree, over.key, plugins);
  if (kind === 'none') {
    throw usage(`--over ${over.key}: holds no number; to compare names use escapement sweep --vary`);
  }
  if (kind === 'list') throw usage(`--over ${over.key}: a list: name an entry, as cluster.gpus.KIND does`);
  return latticeOf(over, kind === 'integer');
}

function answered(
  found: SearchResult,
  goal: Goal | null,
  lattice: Lattice,
  tried: readonly Tried[],
  { over: { key }, targets }: Pick<KeyPlan, 'over' | 'targets'>,
): Pick<KeyPlan, 'outcome' | 'answer' | 'superlative' | 'before' | 'closest'> {
  const nothing = { superlative: '', answer: null, before: null, closest: null };
  switch (found.kind) {
    case 'undecided':
      throw usage(
        `--over ${key}: ${lattice.text(found.example)} meets the target, and others may: ` +
          'add --prefer low or --prefer high to say which is better',
      );
    case 'none':
      return { ...nothing, outcome: 'none', closest: closestOf(tried, targets)!.value };
    case 'whole':
      return {
        ...nothing,
        outcome: 'whole',
        superlative: goal!.superlative,
        answer: lattice.text(found.answer),
      };
    case 'boundary': {
      const side: Preference = found.answer > found.before ? 'low' : 'high';
      return {
        outcome: 'boundary',
        superlative: goal?.prefer === side ? goal.superlative : side === 'low' ? 'lowest' : 'highest',
        answer: lattice.text(found.answer),
        before: lattice.text(found.before),
        closest: null,
      };
    }
  }
}

function usage(problem: string): EscapementError {
  return new EscapementError('E_USAGE', problem);
}
