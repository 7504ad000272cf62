import { shortestExecNs } from '../core/model.js';
import type { Experiment } from './experiment.js';
import { formatDuration } from './units-text.js';

/** Of models that no request can be in time for: an INFER alone takes longer than the longest SLO. Null: there are none. */
export function sloNote({
  models,
  workloads,
  sloNs,
}: Pick<Experiment, 'models' | 'workloads' | 'sloNs'>): string | null {
  // Rows may have an SLO each.
  if (workloads.some((spec) => spec.kind === 'arrivals' && !spec.overrideSlo)) return null;
  const longestNs = Math.max(...workloads.map((spec) => spec.sloNs ?? sloNs));
  const slow = models.filter((model) => shortestExecNs(model) > longestNs);
  const [first] = slow;
  if (first === undefined) return null;
  const which =
    models.length === 1
      ? first.name
      : slow.length === models.length
        ? `all ${models.length} models`
        : `${slow.length} of ${models.length} models`;
  const example = `${first.name} takes ${formatDuration(Number(shortestExecNs(first).toPrecision(3)))}`;
  return `slo: ${formatDuration(longestNs)} is shorter than an INFER of ${which}, so none of their requests can be in time; ${example}`;
}
