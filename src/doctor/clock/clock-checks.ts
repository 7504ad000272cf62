import { NS_PER_MS } from '../../core/units.js';
import { type Check, type Mend, ROLES } from '../check.js';
import { advise, judged, type Question, skipped } from '../verdict.js';
import { ACCEPTABLE_OFFSET_NS, type PeerClock } from './peer-clock.js';

/** Two checks: a peer answers, and its clock agrees. `answer` is what was measured, or why nothing was. */
export function clockChecks(url: string, answer: PeerClock | { readonly reason: string }): Check[] {
  const { host } = new URL(url);
  const reached: Question = {
    id: `clock.${host}.reached`,
    title: `Reaches ${host}`,
    requiredFor: ROLES,
    wanted: 'answers',
    why: 'Nothing can be sent to, or planned for, a machine that does not answer.',
  };
  const agrees: Question = {
    id: `clock.${host}.offset`,
    title: `Clock agrees with ${host}`,
    requiredFor: [],
    wanted: `off by at most ${ACCEPTABLE_OFFSET_NS / NS_PER_MS} ms and the error`,
    why: 'Logs of the two do not line up. Schedules do not suffer: escapement translates clocks by its own pings.',
  };
  if ('reason' in answer) {
    const mend = advise(`start escapement there with --metrics-port ${new URL(url).port}, and open the port`);
    return [judged(reached, false, answer.reason, mend), skipped(agrees, 'it does not answer')];
  }
  const { offsetNs, errorNs, roundTrips } = answer;
  const { medianMs, p99Ms, runs } = roundTrips;
  const found = `round trip ${medianMs.toFixed(2)} ms (p50), ${p99Ms.toFixed(2)} ms (p99) of ${runs}`;
  const ok = Math.abs(offsetNs) <= ACCEPTABLE_OFFSET_NS + errorNs;
  const sign = offsetNs < 0 ? '−' : '+';
  const offset = `${sign}${ms(Math.abs(offsetNs))} ± ${ms(errorNs)} ms`;
  return [judged(reached, true, found), judged(agrees, ok, offset, SYNCHRONISE)];
}

const SYNCHRONISE: Mend = {
  commands: ['timedatectl set-ntp true'],
  asUser: false,
  lostAtReboot: false,
  note: 'on both machines; with chrony, chronyc makestep sets the clock at once',
};

function ms(ns: number): string {
  return (ns / NS_PER_MS).toFixed(3);
}
