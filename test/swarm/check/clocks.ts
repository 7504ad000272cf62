import { NS_PER_S } from '../../../src/base/units.js';
import { type History, type HistoryEvent, nameOf } from '../history/history.js';
import { endNsOf, type Fault } from '../scenario/fault.js';
import { type Check, Findings } from './finding.js';

type Opened = Extract<HistoryEvent, { readonly kind: 'streamOpened' }>;

/** A controller that learns of a clock through links that are slow is wrong by less. */
const SLACK_NS = NS_PER_S;
/** The longest that policies plan ahead: LOADs and INFERs that wait for each other. */
const AHEAD_NS = 10 * NS_PER_S;
/** So soon it notices that a clock has jumped. */
const NOTICED_NS = 5 * NS_PER_S;

/**
 * Windows are in the clock of the worker's machine: none has ended long before it is sent, and none lies far ahead. Clocks that have
 * just jumped, and processes that have just stood still, are excused.
 */
export const clocks: Check = {
  name: 'clocks',
  run({ events, scenario }: History) {
    const findings = new Findings('clocks');
    const streams = new Map<number, Opened>();
    for (const event of events) {
      if (event.kind === 'streamOpened') streams.set(event.stream, event);
      if (event.kind !== 'windowsSent') continue;
      const { stream, pastNs, aheadNs, atNs } = event;
      const ends = streams.get(stream);
      const [past, ahead] = [pastNs ?? 0, aheadNs ?? 0];
      if (ends === undefined || (past <= SLACK_NS && ahead <= AHEAD_NS + SLACK_NS)) continue;
      const { controller, worker } = ends;
      const names = [nameOf(controller), nameOf(worker)];
      if (scenario.faults.some((fault) => disturbs(fault, names, atNs))) continue;
      const how = past > SLACK_NS ? `ended ${past} ns before` : `begins ${ahead} ns after`;
      const what = `${controller} sends ${worker} an action whose window ${how}, by the clock of the worker`;
      findings.add(atNs, what, (one) => 'stream' in one && one.stream === stream);
    }
    return findings.list;
  },
};

function disturbs(fault: Fault, names: readonly string[], atNs: number): boolean {
  if (fault.atNs > atNs || atNs > endNsOf(fault) + NOTICED_NS) return false;
  if (fault.kind === 'clockJump') return names.includes(fault.machine);
  return (fault.kind === 'freeze' || fault.kind === 'threadHangs') && names.includes(fault.process);
}
