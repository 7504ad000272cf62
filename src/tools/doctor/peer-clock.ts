import { Agent } from 'node:http';
import { Agent as TlsAgent } from 'node:https';
import { monotonicNs } from '../../base/clock/clock.js';
import { unixMs } from '../../base/clock/wall-clock.js';
import { NS_PER_MS, NS_PER_S, NS_PER_US } from '../../base/units.js';
import { ClockSync } from '../../live/controller/link/clock-sync.js';
import { type Durations, summarize } from '../../live/models/measure/durations.js';
import { type Access, asJson, ask, OPEN } from '../ask.js';
import { advise, asRoot, ROLES, type Row } from './check.js';

/** A remote wall clock compared with ours. */
export interface PeerClock {
  /** The peer's wall clock minus ours. */
  readonly offsetNs: number;
  /** Largest possible error of the offset. */
  readonly errorNs: number;
  readonly roundTrips: Durations;
}

/** Below this, lines of two machines' logs are in order except for nearly simultaneous events. */
const ACCEPTABLE_OFFSET_NS = NS_PER_MS;

/** Checks of the process at `url`, as measured by `measurePeerClock`, or the reason why that failed. */
export function peerRows(url: string): Row<PeerClock | { readonly reason: string }>[] {
  const { host, port } = new URL(url);
  return [
    {
      id: `clock.${host}.reached`,
      title: `Reaches ${host}`,
      requiredFor: ROLES,
      wanted: 'answers',
      why: 'A machine that does not answer cannot be used.',
      read: (answer) => {
        const fix = advise(`start escapement there with --metrics-port ${port}, and open the port`);
        if ('reason' in answer) return { ok: false, found: answer.reason, fix };
        const { medianMs, p99Ms, runs } = answer.roundTrips;
        const found = `round trip ${medianMs.toFixed(2)} ms (p50), ${p99Ms.toFixed(2)} ms (p99) of ${runs}`;
        return { ok: true, found };
      },
    },
    {
      id: `clock.${host}.offset`,
      title: `Clock agrees with ${host}`,
      requiredFor: [],
      wanted: `offset of at most ${ACCEPTABLE_OFFSET_NS / NS_PER_MS} ms plus the error`,
      why: 'Otherwise logs of the two machines do not line up. Schedules are not affected: escapement measures the offset with its own pings.',
      read: (answer) => {
        if ('reason' in answer) return 'no answer';
        const { offsetNs, errorNs } = answer;
        return {
          ok: Math.abs(offsetNs) <= ACCEPTABLE_OFFSET_NS + errorNs,
          found: `${offsetNs < 0 ? '−' : '+'}${ms(Math.abs(offsetNs))} ± ${ms(errorNs)} ms`,
          fix: asRoot(
            ['timedatectl set-ntp true'],
            'run it on both machines; with chrony, chronyc makestep sets the clock at once',
          ),
        };
      },
    },
  ];
}

function ms(ns: number): string {
  return (ns / NS_PER_MS).toFixed(3);
}

/** Round trips: a tenth of a second on a local network; distant peers are limited by the longest acceptable wait. */
const FEWEST = 16;
const MOST = 100;
const LONGEST_NS = 2 * NS_PER_S;
const ONE_CONNECTION = { keepAlive: true, maxSockets: 1 };

/**
 * Queries `GET /clock` of a metrics port repeatedly over one connection, and estimates the offset as a controller does
 * for its workers. `url` is `http://HOST:PORT` or `https://…`. Rejects with the reason in words.
 */
export async function measurePeerClock(url: string, access: Access = OPEN): Promise<PeerClock> {
  const isTls = url.startsWith('https:');
  const agent = isTls ? new TlsAgent({ ...ONE_CONNECTION, ...access.trust }) : new Agent(ONE_CONNECTION);
  const beginNs = monotonicNs();
  const beginUnixUs = unixMs() * 1_000;
  const sync = new ClockSync();
  const roundTripsNs: number[] = [];
  try {
    while (sync.samples < FEWEST || (sync.samples < MOST && monotonicNs() - beginNs < LONGEST_NS)) {
      const { status, body, sentNs, receivedNs } = await ask(`${url}/clock`, access, { agent });
      if (status === 401) throw new Error('asks for its token: give its file with --token-file');
      const { unixUs } = (asJson(body) ?? {}) as { readonly unixUs?: unknown };
      if (status !== 200 || typeof unixUs !== 'number')
        throw new Error('answers, but has no /clock: pass the metrics port of an escapement process');
      sync.add(sentNs - beginNs, Math.round((unixUs - beginUnixUs) * NS_PER_US), receivedNs - beginNs);
      roundTripsNs.push(receivedNs - sentNs);
    }
  } finally {
    agent.destroy();
  }
  const { offsetNs } = sync;
  return { offsetNs, errorNs: sync.errorNs(monotonicNs() - beginNs), roundTrips: summarize(roundTripsNs) };
}
