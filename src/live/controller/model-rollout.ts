import type { ModelReference } from '../messages.js';
import type { ServedModel } from '../model.js';
import { differentModel, slowest } from './cluster-of-workers.js';
import type { WorkerLink } from './link/worker-link.js';

/**
 * Has all workers prepare a model. Resolves with the model as all of them can be expected to run it; rejects with the reason,
 * for people, where one can't, or has another than the others.
 */
export async function addEverywhere(
  links: readonly WorkerLink[],
  index: number,
  reference: ModelReference,
): Promise<ServedModel> {
  const answers = await Promise.allSettled(links.map((link) => link.addModel(index, reference)));
  const problems = answers.flatMap((answer, i) =>
    answer.status === 'rejected' ? [`worker ${links[i].name}: ${(answer.reason as Error).message}`] : [],
  );
  if (problems.length > 0) throw new Error(problems.join('; '));
  const models = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
  const [first, ...others] = models;
  if (first === undefined) throw new Error('no worker is up');
  for (const [i, other] of others.entries()) {
    const different = differentModel(first, other);
    if (different !== '') throw new Error(`the workers don't have the same: ${different}`);
    if (otherFiles(first, other)) {
      const { name } = first.spec;
      throw new Error(
        `the files of model ${name}, version ${first.version}, on worker ${links[i + 1].name} differ from those on worker ${links[0].name}`,
      );
    }
  }
  return slowest(first, models);
}

function otherFiles({ digest: a = '' }: ServedModel, { digest: b = '' }: ServedModel): boolean {
  return a !== '' && b !== '' && a !== b;
}
