import { NS_PER_MINUTE, NS_PER_S } from '../../../src/base/units.js';
import { type History, type HistoryEvent, nameOf, type ProcessLife } from '../history/history.js';
import { secondsOf } from '../history/timeline.js';
import { type Fault, THREAD_FAULT } from '../scenario/fault.js';
import type { Scenario } from '../scenario/scenario.js';
import { type Check, Findings } from './finding.js';
import { hasBegun } from './reasons.js';

type Logged = Extract<HistoryEvent, { readonly kind: 'logged' }>;
type Ended = Extract<HistoryEvent, { readonly why: string; readonly process: ProcessLife }>;

/** The same line is written three times within a minute at most, once more at its end, and then as often again. */
const MOST_A_MINUTE = 7;
/** A worker that is out of reach for so long is missed, whatever else happens. */
const MISSED_NS = 4 * NS_PER_S;
const LOST = / is down| has lost its GPU| has left/;
const UP = / is up/;
/** Of one line, and of all lines about a worker, in a minute. */
const MOST_SAID = 3;
const MOST_SAID_OF_WORKER = 20;
/** What ends a process, and what else keeps it from noticing a loss. */
const ENDS: readonly string[] = ['crashed', 'died', 'exited'];
const HITS: readonly string[] = ['frozen', 'asked to stop'];
/** What is said of a line that was held back. */
const LEFT_OUT = / \(\d+ other lines[^)]*\)/;
const TIMES = / \(\d+ (?:times|other lines)[^)]*\)/g;

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
  for (const [i, event] of events.entries()) {
    if (event.kind !== 'logged' || event.level === 'debug' || isReleased(event, events, i)) continue;
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
  const said = new Map<string, number[]>();
  for (const event of events) {
    if (event.kind !== 'logged') continue;
    // That it is up again may be one of the lines that are left out.
    if (LEFT_OUT.test(event.line))
      for (const key of downs) if (key.startsWith(`${event.process} `)) downs.delete(key);
    const [, worker, change] = /^(worker \S+) is (up|down|not accepted)\b/.exec(event.line) ?? [];
    if (worker === undefined) continue;
    const key = `${event.process} ${worker}`;
    const lately = (said.get(key) ?? []).filter((atNs) => atNs > event.atNs - 2 * NS_PER_MINUTE);
    said.set(key, [...lately, event.atNs]);
    // One that was not accepted had come back.
    if (change !== 'down') downs.delete(key);
    else if (downs.has(key) && lately.length < MOST_SAID) {
      const what = `${event.process} says again that ${worker} is down, which it has not called up since`;
      findings.add(event.atNs, what, (one) => one.kind === 'logged' && one.process === event.process);
    } else downs.add(key);
  }
}

/** What was held back about a worker and its GPUs is written in the instant in which something new about it is. */
function isReleased({ process, atNs, line }: Logged, events: readonly HistoryEvent[], at: number): boolean {
  const [worker] = /worker \S+/.exec(line) ?? [''];
  if (worker === '') return false;
  for (let i = at + 1; events[i]?.atNs === atNs; i++) {
    const next = events[i] as HistoryEvent;
    if (next.kind !== 'logged' || next.process !== process) continue;
    if (next.line !== line && next.line.startsWith(`${worker} `)) return true;
  }
  return false;
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

/** Whether the log says soon that the worker is lost, or has said so much of it that more is held back for a minute. */
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
  const losses = lines.filter(({ line }) => LOST.test(line));
  // A log that does not call it up need not call it down: the controller still starts, or has lost it before.
  const before = lines.findLast((line) => line.atNs <= atNs && (UP.test(line.line) || losses.includes(line)));
  if (before === undefined || losses.includes(before)) return true;
  const isHeldBack = losses.length >= MOST_SAID || lines.length >= MOST_SAID_OF_WORKER;
  return isHeldBack || losses.some((line) => line.atNs >= atNs);
}
