import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Load, LoadResult } from './load.js';
import { type LoadKind, numbersOf } from './model.js';
import { QuickServer } from './server.js';

export interface ThroughputOptions {
  readonly kinds: readonly LoadKind[];
  /** Another build's command line, measured in turns with this one; undefined: none. */
  readonly main: string | undefined;
  /** CPUs of the servers, as `taskset -c` takes them; empty: all. */
  readonly cpus: string;
  readonly frontends: number;
  readonly rounds: number;
  /** Of each load. */
  readonly seconds: number;
}

/** Medians over rounds. */
interface Figures {
  readonly rps: number;
  /** Of the server, all its threads together. */
  readonly cpuUsPerRequest: number;
  /** Of the one thread that schedules: there is one of it, however many cores and frontend threads there are. */
  readonly schedulingUsPerRequest: number;
}

interface Throughput extends Readonly<Partial<Record<LoadKind, Figures>>> {}

interface Comparison extends Throughput {
  readonly other?: Throughput;
  /** Medians of this build's requests per second by those of the other in the same round. */
  readonly ratio?: Partial<Record<LoadKind, number>>;
}

const DIST = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
/** Next to the bundle that this file becomes a part of. */
const CHILD = fileURLToPath(new URL('throughput-child.js', import.meta.url));
/** Of requests with so many numbers fewer are under way, as their bodies take megabytes. */
const MANY_NUMBERS = 10_000;
/** Enough that all is compiled. */
const WARM_UP_REQUESTS = 20_000;
const WARM_UP_SECONDS = 60;

/** Requests per second of a server whose device takes no time, with 32 requests always under way, or 4 large ones. */
export async function measureThroughput(options: ThroughputOptions): Promise<Comparison> {
  const child = fork(CHILD);
  const servers: QuickServer[] = [];
  try {
    for (const main of options.main === undefined ? [DIST] : [DIST, options.main])
      servers.push(
        await QuickServer.start({ ...options, main, frontends: main === DIST ? options.frontends : 1 }),
      );
    const [own, other] = await measureAll(child, servers, options);
    if (other === undefined) return own.medians();
    return { ...own.medians(), other: other.medians(), ratio: own.ratios(other) };
  } finally {
    child.kill();
    for (const server of servers) await server.stop();
  }
}

/** What one build did, round by round. */
class Series {
  private readonly rounds = new Map<LoadKind, Figures[]>();

  constructor(kinds: readonly LoadKind[]) {
    for (const kind of kinds) this.rounds.set(kind, []);
  }

  add(kind: LoadKind, figures: Figures): void {
    this.rounds.get(kind)?.push(figures);
  }

  medians(): Throughput {
    return Object.fromEntries([...this.rounds].map(([kind, rounds]) => [kind, medianFigures(rounds)]));
  }

  ratios({ rounds: others }: Series): Partial<Record<LoadKind, number>> {
    return Object.fromEntries(
      [...this.rounds].map(([kind, rounds]) => [kind, medianRatio(rounds, others.get(kind) ?? [])]),
    );
  }
}

async function measureAll(
  child: ChildProcess,
  servers: readonly QuickServer[],
  { kinds, rounds, seconds }: ThroughputOptions,
): Promise<Series[]> {
  const series = servers.map(() => new Series(kinds));
  for (let round = -1; round < rounds; round++) {
    for (const kind of kinds) {
      const isLarge = numbersOf(kind) > MANY_NUMBERS;
      const open = isLarge ? 4 : 32;
      // Whichever comes first may find the machine in another state.
      const order = round % 2 === 0 ? servers : servers.toReversed();
      for (const server of order) {
        const isWarmUp = round < 0;
        const figures = await measure(child, server, {
          ...{ kind, port: server.portFor(kind), open },
          requests: isWarmUp ? WARM_UP_REQUESTS / (isLarge ? 100 : 1) : Number.MAX_SAFE_INTEGER,
          seconds: isWarmUp ? WARM_UP_SECONDS : seconds,
        });
        if (!isWarmUp) series[servers.indexOf(server)].add(kind, figures);
      }
    }
  }
  return series;
}

async function measure(child: ChildProcess, server: QuickServer, load: Load): Promise<Figures> {
  const before = server.cpuMs();
  const result = await new Promise<LoadResult & { readonly error?: string }>((resolve) => {
    child.once('message', resolve);
    child.send(load);
  });
  const after = server.cpuMs();
  const { answered, failed, seconds, error } = result;
  if (error !== undefined) throw new Error(`${load.kind}: ${error}`);
  if (failed > 0) throw new Error(`${load.kind}: ${failed} of ${answered} answers are none of the model`);
  const perRequest = (ms: number) => Math.round((1000 * ms) / answered);
  return {
    rps: Math.round(answered / seconds),
    cpuUsPerRequest: perRequest(after.all - before.all),
    schedulingUsPerRequest: perRequest(after.scheduling - before.scheduling),
  };
}

function medianFigures(all: readonly Figures[]): Figures {
  return {
    rps: median(all.map(({ rps }) => rps)),
    cpuUsPerRequest: median(all.map(({ cpuUsPerRequest }) => cpuUsPerRequest)),
    schedulingUsPerRequest: median(all.map(({ schedulingUsPerRequest }) => schedulingUsPerRequest)),
  };
}

function medianRatio(own: readonly Figures[], other: readonly Figures[]): number {
  return Math.round(100 * median(own.map(({ rps }, i) => rps / other[i].rps))) / 100;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
}
