import { NS_PER_MINUTE, NS_PER_S } from '../../../src/base/units.js';
import { type History, type HistoryEvent, nameOf } from '../history/history.js';
import { type Check, Findings } from './finding.js';

type Logged = Extract<HistoryEvent, { readonly kind: 'logged' }>;

/** The same line is written three times within a minute at most, once more at its end, and then as often again. */
const MOST_A_MINUTE = 7;
/** A worker that is killed for so long is missed, whatever else happens. */
const MISSED_NS = 4 * NS_PER_S;

/** Logs name what goes wrong, and say it a few times at most. No process dies by an error of its own. */
export const logs: Check = {
  name: 'logs',
  run(history: History) {
    const findings = new Findings('logs');
    checkRepeats(history.events, findings);
    checkDeaths(history.events, findings);
    checkLosses(history, findings);
    return findings.list;
  },
};

function checkRepeats(events: readonly HistoryEvent[], findings: Findings): void {
  const times = new Map<string, number[]>();
  for (const event of events) {
    if (event.kind !== 'logged' || event.level === 'debug') continue;
    const key = `${event.process} ${event.line}`;
    const said = (times.get(key) ?? []).filter((atNs) => atNs > event.atNs - NS_PER_MINUTE);
    said.push(event.atNs);
    times.set(key, said);
    if (said.length !== MOST_A_MINUTE + 1) continue;
    const what = `${event.process} logs "${event.line}" ${said.length} times within a minute`;
    findings.add(event.atNs, what, (one) => one.kind === 'logged' && one.process === event.process);
  }
}

function checkDeaths(events: readonly HistoryEvent[], findings: Findings): void {
  for (const event of events) {
    if (event.kind === 'died') findings.add(event.atNs, `${event.process} died: ${event.why}`);
    if (event.kind === 'threadDied')
      findings.add(event.atNs, `the ${event.thread} thread of ${event.process} died: ${event.why}`);
  }
}

/** A worker that is killed while a controller drives it is named in that controller's log. */
function checkLosses({ events, scenario }: History, findings: Findings): void {
  for (const fault of scenario.faults) {
    if (fault.kind !== 'crash' || fault.forNs < MISSED_NS || !isWorker(scenario, fault.process)) continue;
    const untilNs = fault.atNs + MISSED_NS;
    const driver = driverAt(events, fault.process, fault.atNs, untilNs);
    if (driver === null) continue;
    const isNamed = events.some((event) => isNaming(event, fault.process, driver, untilNs));
    if (isNamed) continue;
    const what = `${fault.process} was killed at ${fault.atNs} ns, and the log of ${driver}, which drove it, does not name it`;
    findings.add(untilNs, what, (one) => one.kind === 'logged' && one.process === driver);
  }
}

function isWorker(scenario: History['scenario'], name: string): boolean {
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
  for (const event of events) {
    if (event.atNs > untilNs) break;
    if (event.kind === 'streamOpened' && nameOf(event.worker) === worker)
      streams.set(event.stream, event.controller);
    if (event.atNs > atNs) {
      const isHit = 'process' in event && event.process === driver;
      if (isHit && ['crashed', 'died', 'exited', 'frozen', 'asked to stop'].includes(event.kind)) return null;
      continue;
    }
    if (event.kind === 'stateSaid' && streams.has(event.stream)) driver = streams.get(event.stream) ?? null;
    if (event.kind === 'streamEnded' && streams.get(event.stream) === driver) driver = null;
  }
  return driver;
}

/** Whether the line may be about the worker: it was written at any time before, as lines that repeat are held back. */
function isNaming(event: HistoryEvent, worker: string, driver: string, untilNs: number): event is Logged {
  return (
    event.kind === 'logged' &&
    event.process === driver &&
    event.atNs <= untilNs &&
    event.line.includes(worker)
  );
}
