import type { ModelSpec, ModelTimes } from '../../core/model.js';
import type { ServedModel } from '../model.js';

/** A model as run by a worker with GPUs of a kind. */
interface ModelOfKind {
  /** Index of the kind. */
  readonly kind: number;
  readonly model: ServedModel;
}

/**
 * A model as all workers (at least one) can be expected to run it, with times on each of this many kinds: those of the
 * slowest of its workers. A kind without a worker counts as slow as the slowest, until it is measured.
 */
export function onKinds(everywhere: readonly ModelOfKind[], kinds: number): ServedModel {
  const [{ model }] = everywhere;
  const all = everywhere.map((each) => each.model);
  const times = Array.from({ length: kinds }, (_, kind) => {
    const own = everywhere.flatMap((each) => (each.kind === kind ? each.model : []));
    return slowest(own.length === 0 ? all : own);
  });
  const [first, ...others] = times as [ModelTimes, ...ModelTimes[]];
  return {
    ...model,
    spec: {
      ...model.spec,
      pages: Math.max(...all.map(({ spec }) => spec.pages)),
      ...first,
      ...(others.length === 0 ? {} : { otherKinds: others }),
    },
  };
}

function slowest(models: readonly ServedModel[]): ModelTimes {
  const specs = models.map(({ spec }) => spec);
  return {
    loadNs: Math.max(...specs.map(({ loadNs }) => loadNs)),
    execNs: slowestOf(specs.map(({ execNs }) => execNs)),
    ...lengthTimes(specs),
  };
}

function slowestOf([first, ...others]: readonly (readonly number[])[]): number[] {
  return first.map((ns, b) => Math.max(ns, ...others.map((other) => other[b])));
}

/** Times for each length, if the model takes several. */
function lengthTimes(specs: readonly ModelSpec[]): Pick<ModelTimes, 'execNsByLength'> {
  const tables = specs.flatMap(({ execNsByLength }) =>
    execNsByLength === undefined ? [] : [execNsByLength],
  );
  if (tables.length === 0) return {};
  return { execNsByLength: tables[0].map((_, bucket) => slowestOf(tables.map((table) => table[bucket]))) };
}
