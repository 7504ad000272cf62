import type { Experiment } from '../../config/experiment.js';
import { ratioOf } from '../../record/counted.js';
import { partOfFigure } from '../../record/figures.js';
import { parsePercentile } from '../../record/percentiles.js';
import type { BoundFigures, CellResult } from '../../record/results.js';
import { holds, type Threshold } from '../../record/threshold.js';
import { meanOf, meanOfKnown } from '../../report/statistics.js';
import { formatPercent } from '../../text/numbers.js';
import { atLeast } from './judge.js';

/** Requests that must be answered in time for a target to be met at all. */
interface Need {
  readonly target: Threshold;
  /** The tenant whose requests count; null: all requests do. */
  readonly tenant: string | null;
  /** True if this share of these requests, and this many per second (null: no span), can be enough. */
  isMet(share: number, rps: number | null): boolean;
}

/** Quotients of equal counts may differ in the last digit. */
const ROUNDING = 1 + 1e-9;
/** Shares in time without which latencies over all requests are infinite, except percentiles. */
const LEAST_IN_TIME: Readonly<Record<string, number>> = { mean: 1, max: 1, p999: 0.999, p9999: 0.9999 };

/** Determines without runs, or after a few, which targets cannot be met. */
export class Reach {
  private readonly needs: readonly Need[];

  constructor(
    targets: readonly Threshold[],
    private readonly experiment: Experiment,
  ) {
    // Closed-loop clients send after answers, so their requests say nothing about other clusters.
    const isClosed = experiment.workloads.some(({ kind }) => kind === 'closed-loop');
    this.needs = isClosed ? [] : targets.flatMap((target) => needOf(target) ?? []);
  }

  /** True if upper bounds can prove that a fleet misses. They hold if nothing takes less time than its profile says. */
  get isBounded(): boolean {
    const { noise, changes } = this.experiment.cluster;
    const isExact =
      noise.distribution === 'normal' &&
      noise.exec === 0 &&
      changes.every((change) => change.noise.exec === 0);
    return isExact && this.needs.some(({ tenant }) => tenant === null);
  }

  /** True if no scheduler could meet all targets; `bounds`: one per seed, or none if they are not known. */
  isBeyond(bounds: readonly BoundFigures[]): boolean {
    const rps = meanOfKnown(bounds.map(({ bestRps }) => bestRps));
    if (rps === null) return false;
    const share = meanOf(bounds.map((one) => ratioOf(one.bestRps ?? 0, one.offeredRps ?? 0) ?? 1));
    return this.needs.some(
      ({ tenant, isMet }) => tenant === null && !isMet(share * ROUNDING, rps * ROUNDING),
    );
  }

  /**
   * Why no cluster could meet a target with these requests: rates of tenants admit too few of them. `results`: one per
   * seed. Null if nothing speaks against it.
   */
  beyondRates(results: readonly Pick<CellResult, 'summary'>[]): string | null {
    for (const { target, tenant, isMet } of this.needs) {
      const through = results.map(({ summary }) => letThrough(summary, tenant));
      const share = meanOf(through.map((one) => one.share));
      const rps = meanOfKnown(through.map((one) => one.rps));
      if (isMet(share * ROUNDING, rps === null ? null : rps * ROUNDING)) continue;
      const whose = tenant === null ? 'the rates of the tenants let' : `the rate of tenant ${tenant} lets`;
      const requests = tenant === null ? 'the requests' : 'its requests';
      return `${whose} ${formatPercent(share)} of ${requests} through: no cluster can meet ${target.text}`;
    }
    return null;
  }
}

/** Share of the offered requests that the rates of tenants refuse, whatever GPUs there are; mean over the seeds. */
export function overRate(results: readonly Pick<CellResult, 'summary'>[]): { readonly overRate?: number } {
  const refused = 1 - meanOf(results.map(({ summary }) => letThrough(summary, null).share));
  return refused === 0 ? {} : { overRate: refused };
}

/** Null if any number may fail, or nothing bounds it. */
function needOf(target: Threshold): Need | null {
  const part = partOfFigure(target.metric);
  if (part !== null && part.dimension !== 'tenant') return null;
  const tenant = part?.key ?? null;
  const metric = part?.figure ?? target.metric;
  if (atLeast(target)) {
    if (metric === 'attainment') return { target, tenant, isMet: (share) => holds(target, share) };
    if (metric === 'goodputRps')
      return { target, tenant, isMet: (_, rps) => rps === null || holds(target, rps) };
    return null;
  }
  const named = parsePercentile(metric);
  const least = named?.reading === 'offered' ? named.percentile / 100 : LEAST_IN_TIME[metric];
  return least === undefined ? null : { target, tenant, isMet: (share) => share >= least };
}

/** Requests of one tenant, or of all, that tenants' rates admit: independent of GPUs. */
function letThrough(
  { by: { tenant = [] }, requests, offeredRps }: CellResult['summary'],
  name: string | null,
) {
  const limited = tenant.filter(({ key }) => name === null || key === name);
  const offered = name === null ? requests.offered : (limited[0]?.requests.offered ?? 0);
  const refused = limited.reduce((sum, { failures }) => sum + (failures?.overRate ?? 0), 0);
  const share = offered === 0 ? 1 : 1 - refused / offered;
  const rps = name === null ? offeredRps : (limited[0]?.offeredRps ?? null);
  return { share, rps: rps === null ? null : share * rps };
}
