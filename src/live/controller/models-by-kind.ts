import type { ModelTimes } from '../../core/model.js';
import type { ServedModel } from '../model.js';

/** A model as a worker with GPUs of a kind runs it. */
interface ModelOfKind {
  /** Index of the kind. */
  readonly kind: number;
  readonly model: ServedModel;
}

/**
 * A model as all workers can be expected to run it, at least one, with times on each of so many kinds: those of the slowest of its
 * workers. A kind of which no worker is there counts as slow as the slowest, until it is measured.
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
    execNs: specs[0].execNs.map((_, b) => Math.max(...specs.map(({ execNs }) => execNs[b]))),
  };
}
