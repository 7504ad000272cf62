import type { Experiment } from '../../../src/config/experiment.js';
import { targetNames } from '../../../src/config/pipelines.js';
import type { Candidate, Section } from './candidate.js';
import type { SentRequest } from './watched-source.js';

const TRACE = 'requests.csv';

/**
 * The same experiment with the requests of a run from a file, in place of what generated them. Null where that cannot
 * be the same: there are none, a common SLO would replace those of the file, or some are of other classes or tenants than the first.
 */
export function replayOf(
  { tree, files }: Candidate,
  { models, pipelines }: Experiment,
  sent: readonly SentRequest[],
): Candidate | null {
  const isOfOthers = sent.some(({ requestClass, tenant }) => requestClass > 0 || tenant > 0);
  // A scaler decides until the workload ends, which a file ends with its last request.
  if (tree.scaler !== undefined) return null;
  if (tree.slo !== undefined || sent.length === 0 || isOfOthers) return null;
  // All requests of a short trace might come in the warm-up.
  const { warmup: _, ...rest } = tree;
  const hasLengths = models.some(({ lengths }) => lengths !== undefined);
  const targets = targetNames(models, pipelines);
  const rows = sent.map(
    ({ timeNs, model, sloNs, length }) =>
      `${timeNs},${targets[model]},${sloNs}${hasLengths ? `,${length}` : ''}\n`,
  );
  const workload: Section = { kind: 'arrivals', path: TRACE, models: targets };
  return {
    tree: { ...rest, workload },
    files: {
      ...files,
      [TRACE]: `arrival_ns,model_id,slo_ns${hasLengths ? ',length' : ''}\n${rows.join('')}`,
    },
  };
}
