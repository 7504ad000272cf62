import { NS_PER_MINUTE, NS_PER_S } from '../../../src/base/units.js';
import { createPolicyOf } from '../../../src/config/create-policy.js';
import { replayJournal } from '../../../src/live/journal/replay.js';
import type { PolicyOptions } from '../../../src/policies/entry.js';
import type { JournalFile } from '../history/history.js';
import { type History, type HistoryEvent, nameOf, type ProcessLife } from '../history/history.js';
import { secondsOf } from '../history/summary.js';
import { type Fault, THREAD_FAULT } from '../scenario/fault.js';
import type { Scenario } from '../scenario/scenario.js';
import { type Check, Findings } from './finding.js';
import { hasBegun } from './reasons.js';

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

/** Each journal replays to the digest that it ends with; one that was cut off replays up to there. */
export const journals: Check = {
  name: 'journals',
  async run({ journals: files, events }: History) {
    const findings = new Findings('journals');
    const endNs = events.at(-1)?.atNs ?? 0;
    for (const file of files) {
      const problem = await problemOf(file);
      if (problem !== '') findings.add(endNs, `journal ${file.path} of ${file.process} ${problem}`);
    }
    return findings.list;
  },
};

/** Empty: there is none. */
async function problemOf({ path, text, mayBeCut }: JournalFile): Promise<string> {
  if (mayBeCut && !text.includes('\n')) return '';
  try {
    const { digest, recordedDigest } = await replayJournal(path, {
      text: [text],
      createPolicy: ({ policy: { kind, options } }, context) =>
        createPolicyOf({ kind, options: options as PolicyOptions })(context),
    });
    if (recordedDigest === null)
      return mayBeCut ? '' : 'was cut off, though nothing happened to its process or disk';
    return digest === recordedDigest ? '' : `replays to ${digest}, and was recorded with ${recordedDigest}`;
  } catch (error) {
    return `does not replay: ${(error as Error).message}`;
  }
}

type Logged = Extract<HistoryEvent, { readonly kind: 'logged' }>;
type Ended = Extract<HistoryEvent, { readonly why: string; readonly process: ProcessLife }>;

/** A line is written once a minute, which may begin again between two. */
const MOST_A_MINUTE = 2;
/** Each time that a client has models changed, the log tells. */
const ASKED_FOR = /^(?:model|pipeline) (?:is ready|cannot be)|^unloaded/;
/** A worker that is out of reach for so long is missed, whatever else happens. */
const MISSED_NS = 4 * NS_PER_S;
const LOST = / is down| has lost its GPU| has left/;
const UP = / is up/;
const CHANGES = /^(worker \S+) (is up again|is up|is down|is not accepted|has left|has joined)\b/;
/** What ends a process, and what else keeps it from noticing a loss. */
const ENDS: readonly string[] = ['crashed', 'died', 'exited'];
const HITS: readonly string[] = ['frozen', 'asked to stop'];
/** What is said of a line that was held back. */
const LEFT_OUT = / \(\d+ other lines[^)]*\)/;
const TIMES = / \((?:once|\d+ times|\d+ other lines)[^)]*\)/g;

/** Logs name what goes wrong, and say it a few times at most. No process dies by an error of its own. */
export const logs: Check = {
  name: 'logs',
  run(history: History) {
    const findings = new Findings('logs');
    checkRepeats(history.events, findings);
    checkTwice(history.events, findings);
    checkEnds(history, findings);
    checkLosses(history, findings);
    return findings.list;
  },
};

function checkRepeats(events: readonly HistoryEvent[], findings: Findings): void {
  const times = new Map<string, number[]>();
  for (const event of events) {
    if (event.kind !== 'logged' || event.level === 'debug' || ASKED_FOR.test(event.line)) continue;
    const key = `${event.process} ${event.line.replaceAll(TIMES, '')}`;
    const said = (times.get(key) ?? []).filter((atNs) => atNs > event.atNs - NS_PER_MINUTE);
    said.push(event.atNs);
    times.set(key, said);
    if (said.length !== MOST_A_MINUTE + 1) continue;
    const what = `${event.process} logs "${event.line}" ${said.length} times within a minute`;
    findings.add(event.atNs, what, (one) => one.kind === 'logged' && one.process === event.process);
  }
}

/** A loss is named once: the log calls a worker up again before it calls it down again, as long as no lines are held back. */
function checkTwice(events: readonly HistoryEvent[], findings: Findings): void {
  const downs = new Set<string>();
  /** When a worker was last said to be up again, or to have left, which is held back then. */
  const backNs = new Map<string, number>();
  for (const event of events) {
    if (event.kind !== 'logged') continue;
    // That it is up again may be one of the lines that are left out.
    if (LEFT_OUT.test(event.line))
      for (const key of downs) if (key.startsWith(`${event.process} `)) downs.delete(key);
    const [, worker, change] = CHANGES.exec(event.line) ?? [];
    if (worker === undefined) continue;
    const key = `${event.process} ${worker}`;
    const wasBackNs = backNs.get(key) ?? Number.NEGATIVE_INFINITY;
    if (change === 'is up again' || change === 'has left') backNs.set(key, event.atNs);
    // One that was not accepted, or has joined, had come back. Of one that has left, the next process may be up, as the first was.
    if (change !== 'is down') downs.delete(key);
    else if (downs.has(key) && wasBackNs < event.atNs - 2 * NS_PER_MINUTE) {
      const what = `${event.process} says again that ${worker} is down, which it has not called up since`;
      findings.add(event.atNs, what, (one) => one.kind === 'logged' && one.process === event.process);
    } else downs.add(key);
  }
}

/** No process or thread dies by an error, and none ends unasked but for its disk or a thread that hangs. */
function checkEnds({ events, scenario }: History, findings: Findings): void {
  for (const event of events) {
    if (event.kind === 'died' && !lostThreadAtStart(event, events, scenario))
      findings.add(event.atNs, `${event.process} died: ${event.why}`);
    if (event.kind === 'threadDied')
      findings.add(event.atNs, `the ${event.thread} thread of ${event.process} died: ${event.why}`);
    if (event.kind !== 'exited' || event.why === 'status 0') continue;
    if (hasBegun(scenario, ['diskFull', 'diskFails', 'threadHangs'], event.atNs)) continue;
    const what = `${event.process} ended with ${event.why} without a reason`;
    findings.add(event.atNs, what, (one) => one.kind === 'logged' && one.process === event.process);
  }
}

/** A process cannot start without its threads: the plan let one of them die before the process was ready. */
function lostThreadAtStart(
  { process, atNs, why }: Ended,
  events: readonly HistoryEvent[],
  { faults }: Scenario,
): boolean {
  const own = events.filter((event) => 'process' in event && event.process === process);
  const started = own.find(({ kind }) => kind === 'started');
  const wasReady = own.some((event) => event.kind === 'logged' && /^ready\b/.test(event.line));
  if (started === undefined || wasReady || !why.includes(THREAD_FAULT)) return false;
  return faults.some(
    (fault) =>
      fault.kind === 'threadDies' &&
      fault.process === nameOf(process) &&
      fault.atNs >= started.atNs &&
      fault.atNs <= atNs,
  );
}

/** A worker that its controller loses is named in the log as lost. */
function checkLosses({ events, scenario }: History, findings: Findings): void {
  for (const fault of scenario.faults) {
    const [worker] = lostBy(fault).filter((name) => isWorker(scenario, name));
    if (worker === undefined) continue;
    const untilNs = fault.atNs + MISSED_NS;
    const driver = driverAt(events, worker, fault.atNs, untilNs);
    if (driver === null || !isBetween(fault, worker, driver) || hangs(scenario, driver, untilNs)) continue;
    if (isNamed(events, worker, driver, fault.atNs)) continue;
    const what = `${worker} was lost by "${fault.kind}" at ${secondsOf(fault.atNs)}, and the log of ${driver}, which drove it, does not say so`;
    findings.add(untilNs, what, (one) => one.kind === 'logged' && one.process === driver);
  }
}

/** Processes that are out of reach by the fault, for so long that it is noticed. */
function lostBy(fault: Fault): readonly string[] {
  // Its system closes its connections.
  if (fault.kind === 'crash') return [fault.process];
  if (!('forNs' in fault) || fault.forNs < MISSED_NS) return [];
  if (fault.kind === 'powerLoss' || fault.kind === 'freeze') return [fault.process];
  return fault.kind === 'cut' ? [fault.from, fault.to] : [];
}

/** A cut concerns the two at its ends alone. */
function isBetween(fault: Fault, worker: string, driver: ProcessLife): boolean {
  if (fault.kind !== 'cut') return true;
  return [fault.from, fault.to].includes(worker) && [fault.from, fault.to].includes(nameOf(driver));
}

function isWorker(scenario: Scenario, name: string): boolean {
  return scenario.cluster.machines.some((machine) => machine.name === name);
}

/** The controller that drove the worker until it died, and that nothing happened to; null: there was none. */
function driverAt(
  events: readonly HistoryEvent[],
  worker: string,
  atNs: number,
  untilNs: number,
): string | null {
  const streams = new Map<number, string>();
  let driver: string | null = null;
  const frozen = new Set<ProcessLife>();
  for (const event of events) {
    if (event.atNs > untilNs) break;
    if (event.atNs > atNs && driver !== null && frozen.has(driver)) return null;
    if (event.kind === 'frozen') frozen.add(event.process);
    if (event.kind === 'thawed') frozen.delete(event.process);
    if (event.kind === 'streamOpened' && nameOf(event.worker) === worker)
      streams.set(event.stream, event.controller);
    const isOfDriver = 'process' in event && event.process === driver;
    if (isOfDriver && ENDS.includes(event.kind)) driver = null;
    if (event.atNs > atNs) {
      if (isOfDriver && HITS.includes(event.kind)) return null;
      continue;
    }
    if (event.kind === 'stateSaid' && streams.has(event.stream)) driver = streams.get(event.stream) ?? null;
    if (event.kind === 'streamEnded' && streams.get(event.stream) === driver) driver = null;
  }
  return driver !== null && frozen.has(driver) ? null : driver;
}

/** Whether a thread of the process hangs or did so, which then notices nothing. */
function hangs({ faults }: Scenario, process: ProcessLife, untilNs: number): boolean {
  return faults.some(
    (fault) => fault.kind === 'threadHangs' && fault.process === nameOf(process) && fault.atNs < untilNs,
  );
}

/** Whether the log says soon that the worker is lost, or has said so, which may be held back for a minute. */
function isNamed(
  events: readonly HistoryEvent[],
  worker: string,
  driver: ProcessLife,
  atNs: number,
): boolean {
  const lines = events.filter(
    (event): event is Logged =>
      event.kind === 'logged' &&
      event.process === driver &&
      event.atNs > atNs - NS_PER_MINUTE &&
      event.atNs <= atNs + MISSED_NS &&
      event.line.includes(worker),
  );
  // A log that does not call it up need not call it down: the controller still starts, or has lost it before.
  const isUp = lines.some((one) => one.atNs <= atNs && UP.test(one.line));
  return !isUp || lines.some(({ line }) => LOST.test(line));
}
