import { EscapementError } from '../../base/errors.js';
import { ON_DISK } from '../../config/files-on-disk.js';
import { numberKind } from '../../config/keys.js';
import { readExperimentSource } from '../../config/load.js';
import { applyOverrides } from '../../config/overrides.js';
import { loadPlugins, type Plugin } from '../../config/plugins.js';
import { refuseUnknownSenders } from '../../record/known-senders.js';
import { seedChanges } from '../random-streams.js';
import type { OpenRunner } from '../sweep/pool.js';
import { parseSeeds } from '../sweep/vary.js';
import { valuesOf } from './candidates.js';
import { closestOf } from './closest.js';
import { parseTarget } from './judge.js';
import { notesOf, setupNotes, trafficNotes, unreachableNotes } from './notes.js';
import { type Lattice, latticeOf, type Over, parseOver } from './over.js';
import type { PlanResult, Tried } from './plan-result.js';
import { type Goal, goalOf, type Preference, parsePreference } from './preference.js';
import { Prober } from './prober.js';
import { Reach } from './reach.js';
import { type SearchResult, search } from './search.js';
import { openPlanStore } from './store.js';
import { headlineOf } from './text.js';
import { Trials } from './trials.js';

/** What every kind of plan is asked with. */
export interface PlanFlags {
  readonly file: string;
  /** `--target` flags; all of them must hold. */
  readonly targets: readonly string[];
  /** `--seeds`. */
  readonly seeds: string;
  /** `--set` flags, for every run. */
  readonly overrides: readonly string[];
  /** Where finished runs are kept, so that a plan that was stopped goes on; undefined: nowhere. */
  readonly outDir: string | undefined;
  readonly openRunner: OpenRunner;
  /** Runs again what is kept there. */
  readonly fresh: boolean;
  /** Version of the program: runs of another version are not reused. */
  readonly version: string;
  readonly onRun: (reused: boolean) => void;
}

interface PlanRequest extends PlanFlags {
  /** `--over`: the key and its range. */
  readonly over: string | undefined;
  /** `--prefer`, for keys whose meaning does not tell which value is better. */
  readonly prefer: string | undefined;
  /** Called once, when everything was checked and before the first run. */
  readonly onStart: (seeds: readonly number[], values: number) => void;
}

/**
 * Finds the best value of one key at which an experiment meets its targets. The result does not depend on the number
 * of threads. Throws what is wrong with the experiment or the flags; `E_USAGE` also where the operator must say
 * which of several values is better.
 */
export async function planExperiment(request: PlanRequest): Promise<PlanResult> {
  const { file, overrides, version } = request;
  if (request.targets.length === 0) throw usage("--target is missing, e.g. --target 'attainment>=0.999'");
  if (request.over === undefined) throw usage('--over is missing, e.g. --over cluster.gpus=1:64');
  const targets = request.targets.map(parseTarget);
  const over = parseOver(request.over);
  const seeds = parseSeeds(request.seeds);
  const prefer = parsePreference(request.prefer);
  const source = await readExperimentSource(file);
  const plugins = await loadPlugins(source, overrides, ON_DISK);
  const { tree } = applyOverrides(source, overrides, [], plugins);
  const lattice = checkedLattice(over, tree, plugins);
  const candidates = valuesOf(over, lattice);
  const trials = new Trials({ text: source.text, file, overrides, candidates, seeds });
  const ends = await trials.ends();
  refuseUnknownSenders(targets, ends, 'target');
  const { name, policy } = ends[0]!;
  const store = openPlanStore(request.outDir, !request.fresh);
  const runner = request.openRunner();
  try {
    const reach = new Reach(targets, ends[0]!);
    const prober = new Prober({ trials, targets, reach, version, runner, store, onRun: request.onRun });
    request.onStart(ends.some(seedChanges) ? seeds : seeds.slice(0, 1), lattice.size);
    const goal = goalOf(over.key, prefer);
    const found = await search(lattice.size, goal?.prefer ?? null, async (index) => {
      const { meets } = await prober.judge(index);
      return meets === 'yes';
    });
    const tried = await prober.tried();
    const answer = answered(found, goal, lattice, tried, { over, targets });
    return {
      version: 3,
      escapement: version,
      name,
      policy: policy.kind,
      headline: headlineOf({ over, targets, ...answer }, tried.length < lattice.size ? tried.length : null),
      ...{ experiment: source.text, overrides, over, resolution: lattice.resolution, targets, seeds },
      ...answer,
      notes: [
        ...unreachableNotes(tried),
        ...notesOf(found, lattice, tried, { over, seeds, targets }),
        ...trafficNotes(over, ends),
        ...setupNotes(ends),
      ],
      tried,
    };
  } finally {
    await runner.close();
  }
}

/** Throws `E_USAGE` where the key holds no number; of one that does not exist, the loader has more to say. */
function checkedLattice(over: Over, tree: unknown, plugins: readonly Plugin[]): Lattice {
  const kind = numberKind(tree, over.key, plugins);
  if (kind === 'none') {
    throw usage(`--over ${over.key}: holds no number; to compare names use escapement sweep --vary`);
  }
  return latticeOf(over, kind === 'integer');
}

function answered(
  found: SearchResult,
  goal: Goal | null,
  lattice: Lattice,
  tried: readonly Tried[],
  { over: { key }, targets }: Pick<PlanResult, 'over' | 'targets'>,
): Pick<PlanResult, 'outcome' | 'answer' | 'superlative' | 'before' | 'closest'> {
  const nothing = { superlative: '', answer: null, before: null, closest: null };
  switch (found.kind) {
    case 'undecided':
      throw usage(
        `--over ${key}: ${lattice.text(found.example)} meets the target, and others may: ` +
          'add --prefer low or --prefer high to say which is better',
      );
    case 'none':
      return { ...nothing, outcome: 'none', closest: closestOf(tried, targets) };
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
