import type { History, HistoryEvent, ProcessLife } from '../history/history.js';
import { type Check, Findings } from './finding.js';

/** What each controller counts of its requests is what its clients got. */
export const metrics: Check = {
  name: 'metrics',
  run({ events, journals, scenario }: History) {
    const findings = new Findings('metrics');
    const cutOff = new Set<ProcessLife>();
    for (const snapshot of events) {
      if (snapshot.kind === 'frontendEnded') cutOff.add(snapshot.process);
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
      checkSenders(events, snapshot, scenario, cutOff.has(snapshot.process), findings);
      checkNeededGpus(snapshot, scenario, findings);
      const journal = journals.find(({ process, mayBeCut }) => process === snapshot.process && !mayBeCut);
      if (journal !== undefined) checkOffers(journal.text, counted, snapshot, findings);
    }
    return findings.list;
  },
};

type Snapshot = Extract<HistoryEvent, { readonly kind: 'snapshot' }>;

/** The same for each class and each tenant. */
function checkSenders(
  events: readonly HistoryEvent[],
  { process, atNs, metrics: text }: Snapshot,
  { cluster: { classes = [], tenants = [] } }: History['scenario'],
  isCutOff: boolean,
  findings: Findings,
): void {
  const groups = [
    ...classes.map(({ name }, i) => ({
      sender: 'class',
      name,
      isOf: (one: Asked) => (one.requestClass ?? 0) === i,
    })),
    ...tenants.map(({ name }, i) => ({
      sender: 'tenant',
      name,
      isOf: (one: Asked) => (one.tenant ?? 0) === i,
    })),
  ];
  for (const { sender, name, isOf } of groups) {
    const metric = `escapement_${sender}_requests_total`;
    const own = text
      .split('\n')
      .filter((line) => line.includes(`${sender}="${name}"`))
      .join('\n');
    const counted = readCounters(own, metric, 'outcome');
    const got = answersOf(events, process, atNs, isOf);
    for (const outcome of ['ok', 'late']) {
      const [inMetrics, atClients] = [counted.get(outcome) ?? 0, got.get(outcome) ?? 0];
      if (isCutOff ? inMetrics >= atClients : inMetrics === atClients) continue;
      const what = `${process} counts ${inMetrics} requests of ${name} as ${outcome}, and its clients got ${atClients}`;
      findings.add(atNs, what);
    }
  }
}

/** A scaler asks for one GPU of each kind at least, and no more than it may. */
function checkNeededGpus(
  { process, atNs, metrics: text }: Snapshot,
  { cluster }: History['scenario'],
  findings: Findings,
): void {
  const { scaler, machines } = cluster;
  if (scaler === undefined) return;
  const needed = readCounters(text, 'escapement_gpus_needed', 'kind');
  for (const [kind, gpus] of needed) {
    // Where machines do not name a kind there is one of them.
    const own = machines.filter((machine) => machine.kind === undefined || machine.kind.name === kind);
    const most = own.reduce((sum, machine) => sum + machine.gpus, scaler.more);
    if (gpus >= 1 && gpus <= most) continue;
    findings.add(atNs, `${process} needs ${gpus} GPUs of kind ${kind}, of which there may be 1 to ${most}`);
  }
}

/** Each request that entered the scheduler before the snapshot has one outcome. */
function checkOffers(
  journal: string,
  counted: ReadonlyMap<string, number>,
  { process, atNs, requests }: Snapshot,
  findings: Findings,
): void {
  const offers = journal.split('\n').filter((line) => /^[of] /.test(line)).length;
  const outcomes = [...counted.values()].reduce((sum, count) => sum + count, 0);
  if (outcomes + requests <= offers) return;
  findings.add(
    atNs,
    `${process} counts ${outcomes} answers and ${requests} open requests, and took ${offers}`,
  );
}

type Asked = Extract<HistoryEvent, { readonly kind: 'asked' }>;

function answersOf(
  events: readonly HistoryEvent[],
  process: string,
  untilNs: number,
  isOf: (asked: Asked) => boolean = () => true,
): Map<string, number> {
  const asked = new Set<number>();
  const counts = new Map<string, number>();
  for (const event of events) {
    if (event.atNs > untilNs) break;
    if (event.kind === 'asked' && event.process === process && isOf(event)) asked.add(event.request);
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
