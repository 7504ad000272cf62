import { EscapementError } from '../base/errors.js';
import { invariant } from '../base/invariant.js';
import type { Fleet } from '../live/controller/fleet.js';
import { problemAt } from '../live/controller/fleet-models.js';
import type { LiveController } from '../live/controller/live-controller.js';
import type {
  Ensemble,
  ModelList,
  ModelProblem,
  OfferedVersion,
  WorkerModelList,
} from '../live/model-list.js';
import { byNameAndVersion } from '../live/models/scan.js';
import type { ModelHost } from './deployment-options.js';

/** Models of a controller's workers, in this process or elsewhere. */
export function clusterModels(controller: LiveController, fleet: Fleet): ModelHost {
  return {
    get away() {
      return fleet.away;
    },
    get isOpen() {
      return fleet.isOpen;
    },
    untilUp: () => fleet.untilUp(),
    takeOver: () => fleet.takeOver(),
    list: async (name, config) => mergeModelLists(await fleet.models.list(name, config)),
    addModel: async (reference) => {
      const index = await controller.addModel(reference);
      const model = controller.modelAt(index);
      invariant(model !== null, 'a model that was added is there');
      return { index, model };
    },
    spread: (index, workers) => fleet.models.spread(index, workers),
    putPipeline: (index, pipeline) => controller.putPipeline(index, pipeline),
    retireModel: (index) => controller.retireModel(index),
  };
}

/** A version as offered by each of several workers. */
type Offers = readonly { readonly worker: string; readonly offer: OfferedVersion }[];

/**
 * Merges the models that workers could run together. A worker may lack a model. A version counts if the settings of any
 * of them choose it: the others may have it, too. A version known to be different on a worker is a problem that names it.
 */
export function mergeModelLists(lists: readonly WorkerModelList[]): ModelList {
  const problems: ModelProblem[] = lists.flatMap(({ worker, problems: own }) =>
    own.map(({ name, version, error }) => ({ name, version, error: problemAt(worker, error) })),
  );
  const broken = new Set(problems.map(({ name, version }) => keyOf(name, version)));
  const versions: OfferedVersion[] = [];
  for (const offers of byVersion(lists)) {
    const [{ offer }] = offers;
    const { name, version } = offer;
    if (broken.has(keyOf(name, null)) || broken.has(keyOf(name, version))) continue;
    const error = different(offers);
    if (error !== null) problems.push({ name, version, error });
    else {
      const isMeasured = offers.every((each) => each.offer.isMeasured);
      const isProvisional = offers.some((each) => each.offer.isProvisional);
      versions.push({ ...offer, isMeasured, isProvisional, workers: offers.map(({ worker }) => worker) });
    }
  }
  const ensembles = new Map<string, { readonly worker: string; readonly ensemble: Ensemble }>();
  for (const { worker, ensembles: own } of lists) {
    for (const ensemble of own) {
      const { name } = ensemble;
      const first = ensembles.get(name) ?? { worker, ensemble };
      ensembles.set(name, first);
      if (JSON.stringify(first.ensemble) === JSON.stringify(ensemble)) continue;
      problems.push({ name, version: null, error: differing(`ensemble ${name}`, worker, first.worker) });
    }
  }
  const isRefused = new Set(problems.map(({ name }) => name));
  return {
    ensembles: [...ensembles.values()].flatMap(({ ensemble }) =>
      isRefused.has(ensemble.name) ? [] : ensemble,
    ),
    versions: versions.sort(byNameAndVersion),
    problems,
    skipped: [...new Set(lists.flatMap(({ skipped }) => skipped))],
    notes: [...new Set(lists.flatMap(({ notes }) => notes))],
  };
}

function byVersion(lists: readonly WorkerModelList[]): Offers[] {
  const all = new Map<string, { worker: string; offer: OfferedVersion }[]>();
  for (const { worker, versions } of lists) {
    for (const offer of versions) {
      const key = keyOf(offer.name, offer.version);
      const offers = all.get(key) ?? [];
      offers.push({ worker, offer });
      all.set(key, offers);
    }
  }
  return [...all.values()];
}

/** Key of a version; null: the model as a whole. */
function keyOf(name: string, version: string | null): string {
  return JSON.stringify([name, version]);
}

function different([first, ...others]: Offers): EscapementError | null {
  const other = others.find(({ offer }) => offer.digest !== first.offer.digest);
  if (other === undefined) return null;
  const { name, version } = first.offer;
  return differing(`model ${name}, version ${version},`, other.worker, first.worker);
}

function differing(what: string, worker: string, first: string): EscapementError {
  return new EscapementError(
    'E_MODEL_FILE',
    `the files of ${what} on worker ${worker} differ from those on worker ${first}`,
  );
}
