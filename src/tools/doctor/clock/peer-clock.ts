import { Agent, get, type RequestOptions } from 'node:http';
import { get as getOverTls, Agent as TlsAgent } from 'node:https';
import type { ConnectionOptions } from 'node:tls';
import { Clock } from '../../../base/clock/clock.js';
import { unixMs } from '../../../base/clock/wall-clock.js';
import { protocolHint } from '../../../base/protocol-hint.js';
import { NS_PER_MS, NS_PER_S, NS_PER_US } from '../../../base/units.js';
import { ClockSync } from '../../../live/controller/link/clock-sync.js';
import { type Durations, summarize } from '../../../live/models/measure/durations.js';

/** How a wall clock elsewhere compares with ours. */
export interface PeerClock {
  /** Its wall clock minus ours. */
  readonly offsetNs: number;
  /** The offset is wrong by this much at most. */
  readonly errorNs: number;
  readonly roundTrips: Durations;
}

/** Round trips: those of a local network in a tenth of a second, far ones for as long as one waits gladly. */
const FEWEST = 16;
const MOST = 100;
const PATIENCE_NS = 2 * NS_PER_S;
const TIMEOUT_MS = 2_000;
const MOST_BYTES = 1_000;

/**
 * Asks `GET /clock` of a metrics port repeatedly over one connection, and estimates the offset as a controller does for
 * its workers. `url` is `http://HOST:PORT` or `https://…`. Rejects with the reason in words.
 */
export async function measurePeerClock(
  url: string,
  token: string | null = null,
  trust: Pick<ConnectionOptions, 'ca' | 'rejectUnauthorized'> = {},
): Promise<PeerClock> {
  const agent = isTls(url) ? new TlsAgent({ ...ONE_CONNECTION, ...trust }) : new Agent(ONE_CONNECTION);
  const headers = token === null ? {} : { authorization: `Bearer ${token}` };
  const clock = new Clock();
  const originUnixUs = unixMs() * 1_000;
  const sync = new ClockSync();
  const roundTripsNs: number[] = [];
  try {
    while (sync.samples < FEWEST || (sync.samples < MOST && clock.nowNs() < PATIENCE_NS)) {
      const { sentNs, unixUs, receivedNs } = await ask(url, { agent, headers }, clock);
      sync.add(sentNs, Math.round((unixUs - originUnixUs) * NS_PER_US), receivedNs);
      roundTripsNs.push(receivedNs - sentNs);
    }
  } finally {
    agent.destroy();
  }
  const { offsetNs } = sync;
  return { offsetNs, errorNs: sync.errorNs(clock.nowNs()), roundTrips: summarize(roundTripsNs) };
}

const ONE_CONNECTION = { keepAlive: true, maxSockets: 1 };

function isTls(url: string): boolean {
  return url.startsWith('https:');
}

interface RoundTrip {
  readonly sentNs: number;
  readonly unixUs: number;
  readonly receivedNs: number;
}

function ask(url: string, options: RequestOptions, clock: Clock): Promise<RoundTrip> {
  return new Promise((resolve, reject) => {
    const sentNs = clock.nowNs();
    const request = (isTls(url) ? getOverTls : get)(`${url}/clock`, options, (response) => {
      const receivedNs = clock.nowNs();
      let body = '';
      response.setEncoding('utf8').on('data', (text: string) => {
        body += text;
        if (body.length > MOST_BYTES) request.destroy(NO_CLOCK);
      });
      response.on('error', reject);
      response.on('end', () => {
        if (response.statusCode === 401) {
          reject(NO_TOKEN);
          return;
        }
        const unixUs = response.statusCode === 200 ? unixOf(body) : null;
        if (unixUs === null) reject(NO_CLOCK);
        else resolve({ sentNs, unixUs, receivedNs });
      });
    });
    const timer = setTimeout(
      () => request.destroy(new Error(`no answer in ${TIMEOUT_MS / 1000} s`)),
      TIMEOUT_MS,
    );
    request.on('error', (error) => {
      error.message += protocolHint(url, error.message);
      reject(error);
    });
    request.on('close', () => clearTimeout(timer));
  });
}

const NO_TOKEN = new Error('asks for its token: give its file with --token-file');
const NO_CLOCK = new Error('answers, but has no /clock: pass the metrics port of an escapement process');

function unixOf(body: string): number | null {
  try {
    const { unixUs } = JSON.parse(body) as { unixUs?: unknown };
    return typeof unixUs === 'number' && Number.isFinite(unixUs) ? unixUs : null;
  } catch {
    return null;
  }
}

/** Below this, lines of two machines' logs are in order but for what happened at almost the same time. */
export const ACCEPTABLE_OFFSET_NS = NS_PER_MS;
