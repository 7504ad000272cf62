import type { History, HistoryEvent } from '../history/history.js';
import { type Check, Findings } from './finding.js';

/** What each controller counts of its requests is what its clients got. */
export const metrics: Check = {
  name: 'metrics',
  run({ events, journals }: History) {
    const findings = new Findings('metrics');
    const cutOff = new Set(events.flatMap((event) => (event.kind === 'frontendEnded' ? event.process : [])));
    for (const snapshot of events) {
      if (snapshot.kind !== 'snapshot') continue;
      const counted = readCounters(snapshot.metrics, 'escapement_requests_total', 'outcome');
      const got = answersOf(events, snapshot.process, snapshot.atNs);
      for (const outcome of ['ok', 'late']) {
        const [inMetrics, atClients] = [counted.get(outcome) ?? 0, got.get(outcome) ?? 0];
        // Clients of a frontend that has ended got less.
        const isRight = cutOff.has(snapshot.process) ? inMetrics >= atClients : inMetrics === atClients;
        if (isRight) continue;
        const what = `${snapshot.process} counts ${inMetrics} requests as ${outcome}, and its clients got ${atClients}`;
        findings.add(snapshot.atNs, what);
      }
      const journal = journals.find(({ process, mayBeCut }) => process === snapshot.process && !mayBeCut);
      if (journal !== undefined) checkOffers(journal.text, counted, snapshot, findings);
    }
    return findings.list;
  },
};

/** Each request that entered the scheduler before the snapshot has one outcome. */
function checkOffers(
  journal: string,
  counted: ReadonlyMap<string, number>,
  { process, atNs, requests }: Extract<HistoryEvent, { readonly kind: 'snapshot' }>,
  findings: Findings,
): void {
  const offers = journal.split('\n').filter((line) => line.startsWith('o ')).length;
  const outcomes = [...counted.values()].reduce((sum, count) => sum + count, 0);
  if (outcomes + requests <= offers) return;
  findings.add(
    atNs,
    `${process} counts ${outcomes} answers and ${requests} open requests, and took ${offers}`,
  );
}

function answersOf(events: readonly HistoryEvent[], process: string, untilNs: number): Map<string, number> {
  const asked = new Set<number>();
  const counts = new Map<string, number>();
  for (const event of events) {
    if (event.atNs > untilNs) break;
    if (event.kind === 'asked' && event.process === process) asked.add(event.request);
    if (event.kind === 'answered' && asked.has(event.request))
      counts.set(event.outcome, (counts.get(event.outcome) ?? 0) + 1);
  }
  return counts;
}

/** A metric of Prometheus' text format, summed by the values of one label. */
function readCounters(text: string, name: string, label: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const line of text.split('\n')) {
    if (!line.startsWith(`${name}{`)) continue;
    const value = new RegExp(`${label}="([^"]*)"`).exec(line)?.[1] ?? '';
    counts.set(value, (counts.get(value) ?? 0) + Number(line.slice(line.lastIndexOf(' ') + 1)));
  }
  return counts;
}
