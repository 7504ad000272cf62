import type { Experiment } from '../../../src/config/experiment.js';
import type { Candidate, Section } from './candidate.js';
import type { SentRequest } from './watched-source.js';

const TRACE = 'requests.csv';

/**
 * The same experiment with the requests of a run from a file, in place of what generated them. Null where that cannot
 * be the same: there are none, or a common SLO would replace those of the file.
 */
export function replayOf(
  { tree, files }: Candidate,
  { models }: Experiment,
  sent: readonly SentRequest[],
): Candidate | null {
  if (tree.slo !== undefined || sent.length === 0) return null;
  // All requests of a short trace might come in the warm-up.
  const { warmup: _, ...rest } = tree;
  const rows = sent.map(({ timeNs, model, sloNs }) => `${timeNs},${models[model].name},${sloNs}\n`);
  const workload: Section = { kind: 'arrivals', path: TRACE };
  return {
    tree: { ...rest, workload },
    files: { ...files, [TRACE]: `arrival_ns,model_id,slo_ns\n${rows.join('')}` },
  };
}
