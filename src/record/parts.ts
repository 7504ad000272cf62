import { NS_PER_HOUR } from '../base/units.js';
import { LANE_EXEC, LANE_WEIGHTS } from '../core/action.js';
import { OUTCOME_OK } from '../core/request.js';
import { ratioOf, spanNs } from './counted.js';
import type { Dimension } from './dimensions.js';
import { PART_PERCENTILES } from './latency.js';
import { worstFirst } from './model-fairness.js';
import type { CostFigures, RequestFigures, RunParts } from './results.js';
import type { RunTally } from './run-tally.js';

/** Time that GPUs of a kind were in service, summed over them. */
export interface PaidKind {
  readonly paidNs: number;
  readonly onNs: number;
  /** Largest number paid for at a time. */
  readonly most: number;
}

/**
 * Figures of the parts of a run, by each dimension that it has. `slosMs`: SLO of each section, null where it varies;
 * `paid`: time in service by kind of GPU, if it varied; null: the whole run.
 */
export function buildParts(
  recorder: RunTally,
  slosMs: readonly (number | null)[],
  paid: readonly PaidKind[] | null,
): RunParts {
  const { dimensions } = recorder;
  const kinds = kindFigures(recorder, paid);
  /** Parts with their figures, and the facts that `more` adds. */
  const parts = <D extends Dimension, T extends object = object>(
    dimension: D,
    more?: (part: number) => T,
  ) => {
    const tally = recorder.by(dimension)!;
    const gpuShares = sharesOf(tally.gpuNs);
    const described: readonly (typeof dimensions)[D]['parts'][number][] = dimensions[dimension].parts;
    return described.map((part, i) => ({
      ...part,
      ...(more?.(i) as T),
      ...tally.figures(i, recorder, recorder.causes !== null),
      ...(recorder.causes !== null && { gpuShare: gpuShares[i] }),
    }));
  };
  const has = (dimension: Dimension, fewest = 1) => dimensions[dimension].parts.length >= fewest;
  const hasOffered = ({ requests }: RequestFigures) => requests.offered > 0;
  const curve = (i: number) => ({
    sloMs: slosMs[i],
    latencyCdf: recorder.by('group')!.curve(i, PART_PERCENTILES),
  });
  return {
    ...(has('group', 2) && { group: parts('group', curve) }),
    ...(has('class') && { class: parts('class') }),
    ...(has('tenant') && { tenant: parts('tenant') }),
    ...(has('length') && { length: parts('length').filter(hasOffered) }),
    ...(has('pipeline') && { pipeline: parts('pipeline') }),
    // A client does not see them.
    ...(has('step') &&
      recorder.causes !== null && {
        step: parts('step', (i) => ({ failedHere: recorder.failedHere[i] })),
      }),
    ...(has('kind') && { kind: parts('kind', (i) => kinds[i]) }),
    model: worstFirst(parts('model').filter(hasOffered)),
  };
}

/** Cost of the cluster; null if a kind has no price, or if there is no span over which to average. */
export function costFigures(recorder: RunTally, paid: readonly PaidKind[] | null): CostFigures | null {
  const ns = spanNs(recorder);
  let perHour = 0;
  const inTime = recorder.total().countOf(0, OUTCOME_OK);
  for (const [kind, { gpus, pricePerHour }] of recorder.kinds.entries()) {
    const mean = paid === null ? gpus : ratioOf(paid[kind].paidNs, ns);
    if (pricePerHour === null || mean === null) return null;
    perHour += mean * pricePerHour;
  }
  const perMillionInTime = ns === 0 ? null : ratioOf((perHour * ns * 1e6) / NS_PER_HOUR, inTime);
  return { perHour, perMillionInTime };
}

function kindFigures(recorder: RunTally, paid: readonly PaidKind[] | null) {
  const { kinds, busyNs, infersByKind } = recorder;
  return kinds.map(({ gpus, pricePerHour }, kind) => {
    const one = paid?.[kind];
    const laneNs = one?.onNs ?? gpus * spanNs(recorder);
    return {
      gpus: one?.most ?? gpus,
      ...(one === undefined ? {} : { gpuHours: one.paidNs / NS_PER_HOUR }),
      ...(pricePerHour === null ? {} : { pricePerHour }),
      infer: infersByKind[kind],
      execUtilization: ratioOf(busyNs[kind * 2 + LANE_EXEC], laneNs),
      weightsUtilization: ratioOf(busyNs[kind * 2 + LANE_WEIGHTS], laneNs),
    };
  });
}

/** Shares of 1; null if no INFER ran. */
function sharesOf(gpuNs: Float64Array): (number | null)[] {
  const totalNs = gpuNs.reduce((sum, ns) => sum + ns, 0);
  return Array.from(gpuNs, (ns) => ratioOf(ns, totalNs));
}
