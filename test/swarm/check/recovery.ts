import type { History, HistoryEvent } from '../history/history.js';
import { type Check, Findings } from './finding.js';

/** Client that asks for each model once when all must work again. */
export const PROBE = 'probe';

type Snapshot = Extract<HistoryEvent, { readonly kind: 'snapshot' }>;

/**
 * When the faults are over and the time to recover, too: one controller drives all GPUs, every model is served, nothing waits. At
 * the end nothing is left in a table.
 */
export const recovery: Check = {
  name: 'recovery',
  run({ events, scenario }: History) {
    const findings = new Findings('recovery');
    const snapshots = events.filter((event) => event.kind === 'snapshot');
    const quiet = snapshots.filter(({ when }) => when === 'quiet');
    checkDrivers(quiet, scenario.cluster.machines, findings);
    for (const snapshot of quiet) checkRest(snapshot, findings);
    for (const snapshot of snapshots) if (snapshot.when === 'drained') checkRest(snapshot, findings);
    checkProbes(events, findings);
    return findings.list;
  },
};

function checkDrivers(
  quiet: readonly Snapshot[],
  machines: History['scenario']['cluster']['machines'],
  findings: Findings,
): void {
  const atNs = quiet.at(-1)?.atNs ?? 0;
  const drivers = quiet.filter(({ drives }) => drives);
  if (drivers.length !== 1) {
    const who = drivers.map(({ process }) => process).join(' and ') || 'no controller';
    findings.add(atNs, `${who} drives workers when all should work again`);
  }
  for (const driver of drivers) {
    if (!driver.isReady) findings.add(atNs, `${driver.process} drives workers, and is not ready`);
    const up = new Set(driver.gpus.map(({ worker, gpu }) => `GPU ${gpu} of ${worker}`));
    const all = machines.flatMap(({ name, gpus }) =>
      Array.from({ length: gpus }, (_, gpu) => `GPU ${gpu} of ${name}`),
    );
    const missing = all.filter((gpu) => !up.has(gpu));
    if (missing.length > 0) findings.add(atNs, `${driver.process} does not use ${missing.join(', ')}`);
  }
}

function checkRest({ process, requests, actions, when, atNs }: Snapshot, findings: Findings): void {
  if (requests > 0)
    findings.add(atNs, `${process} (${when}): ${requests} requests are still without an answer`);
  if (actions > 0) findings.add(atNs, `${process} (${when}): ${actions} actions are still without a result`);
}

function checkProbes(events: readonly HistoryEvent[], findings: Findings): void {
  const probes = new Map<number, string>();
  for (const event of events) {
    if (event.kind === 'asked' && event.client === PROBE) probes.set(event.request, event.model);
    if (event.kind !== 'answered' && event.kind !== 'refused') continue;
    const model = probes.get(event.request);
    if (model === undefined || (event.kind === 'answered' && event.outcome === 'ok')) continue;
    const how = event.kind === 'refused' ? `refused: ${event.why}` : `${event.outcome} ${event.error}`;
    findings.add(
      event.atNs,
      `${model} is not served when all should work again: ${how}`,
      (one) => 'request' in one && one.request === event.request,
    );
  }
}
