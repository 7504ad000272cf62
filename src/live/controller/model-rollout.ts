import { EscapementError } from '../../base/errors.js';
import type { ModelReference } from '../messages.js';
import type { ServedModel } from '../model.js';
import { differentModel } from './cluster-of-workers.js';
import { LOCAL, WorkerGone, type WorkerLink } from './link/worker-link.js';
import { onKinds } from './models-by-kind.js';

/** Link to a worker, and the kind of its GPUs by index. */
export interface LinkOfKind {
  readonly link: WorkerLink;
  readonly kind: number;
}

/**
 * Has all workers prepare a model. Resolves with the model as all of them can be expected to run it; rejects with the
 * reason, for people, if one can't, or has a different model. One that goes down meanwhile does not count; rejects with
 * `NoWorker` if no other is left.
 */
export async function addEverywhere(
  links: readonly LinkOfKind[],
  kinds: number,
  index: number,
  reference: ModelReference,
): Promise<ServedModel> {
  const answers = await Promise.allSettled(links.map(({ link }) => link.addModel(index, reference)));
  const problems = answers.flatMap((answer, i) =>
    answer.status === 'rejected' && !(answer.reason instanceof WorkerGone)
      ? problemAt(links[i].link.name, answer.reason)
      : [],
  );
  if (problems.length === 1) throw problems[0];
  if (problems.length > 1)
    throw new EscapementError('E_MODEL_FILE', problems.map(({ what }) => what).join('; '));
  const models = answers.flatMap((answer, i) =>
    answer.status === 'fulfilled' ? { kind: links[i].kind, model: answer.value } : [],
  );
  const [first, ...others] = models;
  if (first === undefined) throw new NoWorker();
  for (const other of others) {
    const different = differentModel(first.model, other.model);
    if (different !== '')
      throw new EscapementError('E_MODEL_FILE', `the workers don't have the same: ${different}`);
  }
  return onKinds(models, kinds);
}

/** Problem of a model at a worker, which is not named if there is only the local one. */
export function problemAt(worker: string, error: unknown): EscapementError {
  const { code, what, place } =
    error instanceof EscapementError ? error : new EscapementError('E_MODEL_FILE', (error as Error).message);
  return worker === LOCAL
    ? new EscapementError(code, what, place)
    : new EscapementError(code, `worker ${worker}: ${what}`, place);
}

/** Models are unknown and cannot be changed until a worker is up. */
export class NoWorker extends EscapementError {
  constructor() {
    super('E_WORKER', 'no worker is up');
  }
}
