import { freePorts } from '../../free-ports.js';
import { median } from '../child.js';
import { BenchFolder, commandOf, MAIN, MeasuredProcess } from './processes.js';

export interface ThroughputOptions {
  readonly kinds: readonly string[];
  /** Another build's command line, measured in turns with this one; undefined: none. */
  readonly main: string | undefined;
  /** CPUs of the servers, as `taskset -c` takes them; empty: all. */
  readonly cpus: string;
  readonly frontends: number;
  /** Requests per second; empty: 32 requests are always under way. */
  readonly rates: readonly number[];
  readonly rounds: number;
  /** Input of a request. */
  readonly inputBytes: number;
  /** Length of each load. */
  readonly seconds: number;
}

/** Medians over rounds, of a server whose device takes no time: what requests cost is all its own. */
interface Figures {
  readonly rps: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** CPU time of the server's threads together, and of the one that schedules. */
  readonly cpuUsPerRequest: number;
  readonly schedulingUsPerRequest: number;
}

interface Throughput {
  readonly kind: string;
  /** Null: as many as the server takes. */
  readonly rate: number | null;
  readonly now: Figures;
  /** The other build, and the median of the ratios of the rounds. */
  readonly other?: Figures;
  readonly ratio?: number;
}

const CLIENTS = 32;

/** A line for each kind of load: closed-loop clients, or a steady rate. */
export async function measureThroughput(options: ThroughputOptions): Promise<Throughput[]> {
  const folder = new BenchFolder(options.inputBytes);
  const servers: Server[] = [];
  try {
    for (const main of options.main === undefined ? [MAIN] : [MAIN, options.main])
      servers.push(await startServer(folder, main, options));
    const lines: Throughput[] = [];
    for (const kind of options.kinds)
      for (const rate of options.rates.length === 0 ? [null] : options.rates)
        lines.push(await measureLoad(folder, servers, kind, rate, options));
    return lines;
  } finally {
    await Promise.all(servers.map(({ process }) => process.stop()));
    folder.remove();
  }
}

interface Server {
  readonly process: MeasuredProcess;
  readonly urls: Readonly<Record<string, string>>;
}

async function startServer(
  folder: BenchFolder,
  main: string,
  { cpus, frontends }: ThroughputOptions,
): Promise<Server> {
  const [http, grpc] = await freePorts(2);
  const args = [
    ...['serve', '--device', folder.device, '--time-scale', '0', '--frontends', `${frontends}`],
    ...['--http-port', `${http}`, '--grpc-port', `${grpc}`, '--metrics-port', 'off', '--log-level', 'error'],
    ...['--set', 'slo=20s', '--set', 'policy.kind=fifo'],
  ];
  const pinned = cpus === '' ? [] : ['taskset', '-c', cpus];
  const process = new MeasuredProcess([...pinned, ...commandOf(args, main)]);
  await process.untilReady(http);
  return { process, urls: { http: `http://127.0.0.1:${http}`, grpc: `grpc://127.0.0.1:${grpc}` } };
}

async function measureLoad(
  folder: BenchFolder,
  servers: readonly Server[],
  kind: string,
  rate: number | null,
  { rounds, seconds }: ThroughputOptions,
): Promise<Throughput> {
  const clients =
    rate === null ? `{ kind: closed-loop, clients: ${CLIENTS}` : `{ kind: fixed, rate: ${rate}/s`;
  const workload = `${clients}, duration: ${seconds}s }`;
  const series = servers.map((): Figures[] => []);
  // The first round warms up. Whichever comes first may find the machine in another state.
  for (let round = 0; round <= rounds; round++)
    for (const server of round % 2 === 0 ? servers : servers.toReversed()) {
      const figures = await measure(folder, server, kind, workload);
      if (round > 0) series[servers.indexOf(server)].push(figures);
    }
  const [own, other] = series;
  const line = { kind, rate, now: medians(own) };
  if (other === undefined) return line;
  const ratio = Number(median(own.map(({ rps }, i) => rps / other[i].rps)).toFixed(2));
  return { ...line, other: medians(other), ratio };
}

async function measure(
  folder: BenchFolder,
  { process, urls }: Server,
  kind: string,
  workload: string,
): Promise<Figures> {
  const before = process.cpuUs;
  const flags = kind === 'http' ? ['--connections', `${CLIENTS}`] : [];
  const summary = await folder.load(urls[kind] ?? kind, 1, workload, flags);
  const after = process.cpuUs;
  const { requests, durationSeconds, executedLatencyMs } = summary;
  const answered = requests.ok + requests.late;
  if (answered < requests.offered) throw new Error(`${kind}: ${requests.offered - answered} have no result`);
  return {
    rps: answered / durationSeconds,
    p50Ms: executedLatencyMs.p50 ?? 0,
    p99Ms: executedLatencyMs.p99 ?? 0,
    cpuUsPerRequest: (after.all - before.all) / answered,
    schedulingUsPerRequest: (after.scheduler - before.scheduler) / answered,
  };
}

function medians(rounds: readonly Figures[]): Figures {
  const keys = Object.keys(rounds[0]) as (keyof Figures)[];
  const entries = keys.map((key) => [key, Number(median(rounds.map((round) => round[key])).toPrecision(4))]);
  return Object.fromEntries(entries) as unknown as Figures;
}
