import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { PacedLoad, PacedTimes } from './load.js';
import { type Passages, WatchedServer } from './server.js';

/** What the controller itself takes of a request at a steady rate, µs: p50, p99 and p99.9. */
interface Share {
  readonly rate: number;
  /** What was reached. */
  readonly reachedRate: number;
  /** From the first byte that the frontend read to the moment its INFER is sent. */
  readonly inUs: Percentiles;
  /** From the moment the thread that schedules has the result to that in which the client has read the answer. */
  readonly outUs: Percentiles;
  readonly sumUs: Percentiles;
  /** As the client sees it, from writing to reading, with the executor, which takes no time by itself, in between. */
  readonly clientUs: Percentiles;
}

type Percentiles = readonly [number, number, number];

/** Next to the bundle that this file becomes a part of. */
const CHILD = fileURLToPath(new URL('share-child.js', import.meta.url));
const WARM_UP_REQUESTS = 20_000;
const WARM_UP_RATE = 4000;

/** One line per rate and round: HTTP with 256 bytes of tensor in and out, and always a GPU that is idle. */
export async function measureShare(
  rates: readonly number[],
  rounds: number,
  seconds: number,
): Promise<Share[]> {
  const child = fork(CHILD);
  const server = await WatchedServer.start();
  try {
    await measure(child, server, WARM_UP_RATE, WARM_UP_REQUESTS);
    const shares: Share[] = [];
    for (let round = 0; round < rounds; round++)
      for (const rate of rates) shares.push(await measure(child, server, rate, rate * seconds));
    return shares;
  } finally {
    child.kill();
    await server.stop();
  }
}

async function measure(
  child: ChildProcess,
  server: WatchedServer,
  rate: number,
  requests: number,
): Promise<Share> {
  const passages = server.watch(requests);
  const times = await new Promise<PacedTimes & { readonly error?: string }>((resolve) => {
    child.once('message', resolve);
    child.send({ port: server.http.port, rate, requests } satisfies PacedLoad);
  });
  if (times.error !== undefined) throw new Error(times.error);
  return shareOf(passages, times, rate);
}

function shareOf(
  { arrivedNs, sentNs, ranNs }: Passages,
  { writtenNs, readNs }: PacedTimes,
  rate: number,
): Share {
  const inNs = sentNs.map((ns, i) => ns - arrivedNs[i]);
  const outNs = ranNs.map((ns, i) => readNs[i] - ns);
  const last = readNs.length - 1;
  return {
    rate,
    reachedRate: Math.round((1e9 * last) / (writtenNs[last] - writtenNs[0])),
    inUs: percentilesUs(inNs),
    outUs: percentilesUs(outNs),
    sumUs: percentilesUs(inNs.map((ns, i) => ns + outNs[i])),
    clientUs: percentilesUs(Float64Array.from(readNs, (ns, i) => ns - writtenNs[i])),
  };
}

function percentilesUs(valuesNs: Float64Array): Percentiles {
  const sorted = valuesNs.toSorted();
  const at = (share: number) => Math.round(sorted[Math.floor(share * sorted.length)] / 1000);
  return [at(0.5), at(0.99), at(0.999)];
}
