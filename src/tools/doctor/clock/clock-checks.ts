import { NS_PER_MS } from '../../../base/units.js';
import { type Check, type Fix, ROLES } from '../check.js';
import { advise, checked, type Question, skipped } from '../verdict.js';
import { ACCEPTABLE_OFFSET_NS, type PeerClock } from './peer-clock.js';

/** Two checks: a peer answers, and its clock agrees. `answer` is what was measured, or why nothing was. */
export function clockChecks(url: string, answer: PeerClock | { readonly reason: string }): Check[] {
  const { host } = new URL(url);
  const reached: Question = {
    id: `clock.${host}.reached`,
    title: `Reaches ${host}`,
    requiredFor: ROLES,
    wanted: 'answers',
    why: 'A machine that does not answer cannot be used.',
  };
  const agrees: Question = {
    id: `clock.${host}.offset`,
    title: `Clock agrees with ${host}`,
    requiredFor: [],
    wanted: `offset of at most ${ACCEPTABLE_OFFSET_NS / NS_PER_MS} ms plus the error`,
    why: 'Otherwise logs of the two machines do not line up. Schedules are not affected: escapement measures the offset with its own pings.',
  };
  if ('reason' in answer) {
    const fix = advise(`start escapement there with --metrics-port ${new URL(url).port}, and open the port`);
    return [checked(reached, false, answer.reason, fix), skipped(agrees, 'no answer')];
  }
  const { offsetNs, errorNs, roundTrips } = answer;
  const { medianMs, p99Ms, runs } = roundTrips;
  const found = `round trip ${medianMs.toFixed(2)} ms (p50), ${p99Ms.toFixed(2)} ms (p99) of ${runs}`;
  const ok = Math.abs(offsetNs) <= ACCEPTABLE_OFFSET_NS + errorNs;
  const sign = offsetNs < 0 ? '−' : '+';
  const offset = `${sign}${ms(Math.abs(offsetNs))} ± ${ms(errorNs)} ms`;
  return [checked(reached, true, found), checked(agrees, ok, offset, SYNCHRONISE)];
}

const SYNCHRONISE: Fix = {
  commands: ['timedatectl set-ntp true'],
  asUser: false,
  lostAtReboot: false,
  note: 'run it on both machines; with chrony, chronyc makestep sets the clock at once',
};

function ms(ns: number): string {
  return (ns / NS_PER_MS).toFixed(3);
}
