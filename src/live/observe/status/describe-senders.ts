import { NS_PER_S } from '../../../base/units.js';
import { REQUEST_FREE, type RequestTable } from '../../../core/request.js';
import { partsOf } from '../../../core/tenants.js';
import type { ClassStatus, TenantStatus } from './cluster-status.js';
import { round } from './round.js';
import type { SenderActivity, SenderCounts } from './sender-activity.js';
import type { StatusSources } from './status-sources.js';

interface Window {
  readonly fromSecond: number;
  readonly second: number;
  readonly perS: (count: number) => number;
}

/** Figures of each class and each tenant; empty if none are configured. */
export function describeSenders(
  sources: StatusSources,
  window: Window,
): { readonly classes?: ClassStatus[]; readonly tenants?: TenantStatus[] } {
  const { collector, core, classes, tenants } = sources;
  const { requests } = core;
  const parts = partsOf(tenants);
  const ofClasses = countsOf(collector.classes, requests, requests.requestClass, window);
  const ofTenants = countsOf(collector.tenants, requests, requests.tenant, window);
  return {
    ...(classes.length === 0
      ? {}
      : {
          classes: classes.map(({ name, weight, share }, i) => {
            const used = usedShare(ofClasses, i);
            return { name, weight, share, usedShare: used, ...rates(ofClasses[i], window) };
          }),
        }),
    ...(tenants.length === 0
      ? {}
      : {
          tenants: tenants.map(({ name }, i) => {
            const { overRate, overShare } = ofTenants[i];
            return {
              ...{ name, share: round(parts[i]), usedShare: usedShare(ofTenants, i) },
              ...rates(ofTenants[i], window),
              overRateRps: window.perS(overRate),
              overShareRps: window.perS(overShare),
            };
          }),
        }),
  };
}

/** Includes unanswered requests that arrived within the window. */
function countsOf(
  activity: SenderActivity,
  { state, arrivalNs }: RequestTable,
  senders: ArrayLike<number>,
  { fromSecond, second }: Window,
): SenderCounts[] {
  const recent = new Float64Array(activity.length);
  for (let slot = 0; slot < state.length && recent.length > 0; slot++)
    if (state[slot] !== REQUEST_FREE && arrivalNs[slot] >= fromSecond * NS_PER_S) recent[senders[slot]]++;
  return Array.from(recent, (unanswered, sender) => {
    const counts = activity.counts(sender, fromSecond, second);
    return { ...counts, arrived: counts.arrived + unanswered };
  });
}

function rates({ arrived, good, failed, refused }: SenderCounts, { perS }: Window) {
  return {
    offeredRps: perS(arrived),
    goodputRps: perS(good),
    failedRps: perS(failed),
    refusedRps: perS(refused),
  };
}

/** Share of all GPU time; null: there was none. */
function usedShare(all: readonly SenderCounts[], sender: number): number | null {
  const gpuNs = all.reduce((sum, counts) => sum + counts.gpuNs, 0);
  return gpuNs === 0 ? null : round(all[sender].gpuNs / gpuNs);
}
