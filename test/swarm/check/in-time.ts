import { NS_PER_MS } from '../../../src/base/units.js';
import type { History, HistoryEvent, ProcessLife } from '../history/history.js';
import { type Check, Findings } from './finding.js';

/** From the thread that schedules to that of the frontend. */
const HANDOVER_NS = 2 * NS_PER_MS;
/** A request in flight for a minute is measured so much differently by a clock that is off by 1,000 ppm. */
const CLOCK_ERROR = 1e-3;

/** No answer says that it is in time, and is late; unless its process was frozen or its clock set forward meanwhile. */
export const inTime: Check = {
  name: 'in time',
  run({ events, scenario }: History) {
    const findings = new Findings('in time');
    const asked = new Map<number, Extract<HistoryEvent, { kind: 'asked' }>>();
    const stalls = stallsOf(events, scenario.faults);
    for (const event of events) {
      if (event.kind === 'asked') asked.set(event.request, event);
      if (event.kind !== 'answered' || event.outcome !== 'ok') continue;
      const request = asked.get(event.request);
      if (request === undefined) continue;
      const tookNs = event.atNs - request.atNs;
      const allowedNs = request.sloNs * (1 + CLOCK_ERROR) + HANDOVER_NS;
      if (tookNs <= allowedNs + stalledNs(stalls, request.process, request.atNs, event.atNs)) continue;
      const what = `request ${event.request} of ${request.process} is answered "ok" after ${ms(tookNs)}, with an SLO of ${ms(request.sloNs)}`;
      findings.add(event.atNs, what, (one) => 'request' in one && one.request === event.request);
    }
    return findings.list;
  },
};

interface Stall {
  /** Of the process, without its number. */
  readonly name: string;
  readonly beginNs: number;
  readonly endNs: number;
}

/** When processes did not run, or threads between client and scheduler, as the plan says. */
function stallsOf(events: History['events'], faults: History['scenario']['faults']): Stall[] {
  const stalls: Stall[] = faults.flatMap((fault) =>
    fault.kind === 'threadHangs'
      ? { name: fault.process, beginNs: fault.atNs, endNs: fault.atNs + fault.forNs }
      : [],
  );
  const frozen = new Map<ProcessLife, number>();
  for (const event of events) {
    if (event.kind === 'frozen') frozen.set(event.process, event.atNs);
    if (event.kind !== 'thawed') continue;
    const beginNs = frozen.get(event.process) ?? event.atNs;
    stalls.push({ name: event.process.split('#')[0], beginNs, endNs: event.atNs });
  }
  return stalls;
}

function stalledNs(stalls: readonly Stall[], process: ProcessLife, fromNs: number, toNs: number): number {
  const [name] = process.split('#');
  return stalls
    .filter((stall) => stall.name === name)
    .reduce(
      (sum, { beginNs, endNs }) => sum + Math.max(0, Math.min(toNs, endNs) - Math.max(fromNs, beginNs)),
      0,
    );
}

function ms(ns: number): string {
  return `${(ns / NS_PER_MS).toFixed(3)} ms`;
}
