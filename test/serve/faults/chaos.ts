import type { Draw } from '../../swarm/draw.js';
import { fillUpDisk } from '../small-disk.js';
import { sleep } from './clients/counting-clients.js';
import type { FaultProxy } from './fault-proxy.js';
import { NO_WORKER, type Scenario, STARTING } from './play.js';
import type { Rig } from './rig.js';

/** Several faults at a time: each part of a rig is struck, or not, by one of the faults that it can have. */
export interface Chaos {
  readonly draw: Draw;
  readonly workers: number;
  /** The disk that has the journal; null: it is never full. */
  readonly disk: string | null;
}

/** One fault of a round: plain data, so that a failure says what there was. */
interface Fault {
  readonly part: 'worker' | 'link' | 'controller' | 'disk';
  /** Which worker, or the link of which. */
  readonly index: number;
  readonly kind: string;
  readonly afterMs: number;
  readonly forMs: number;
}

/** Each part is struck in this share of the rounds. */
const STRUCK = 0.35;
const LATEST_MS = 2000;
const SHORTEST_MS = 50;
/** Longer than it takes a controller and a worker to give each other up. */
const LONGEST_MS = 4000;
/** What clients have under way may break off, and once more a connection that comes at that moment. */
const BREAKS = 2;

const WORKER_KINDS = ['is killed', 'is asked to end', 'is frozen', 'loses the thread of its GPU'];
const CONTROLLER_KINDS = ['is killed', 'is frozen', 'loses its frontend thread'];
const LINK_KINDS: Readonly<Record<string, Partial<FaultProxy['weather']>>> = {
  'is late': { delayMs: 200 },
  'is late, each time by another time': { jitterMs: 300 },
  'carries little': { bytesPerSecond: 20_000 },
  'swallows everything': { hole: 'both' },
  'swallows what goes to the worker': { hole: 'to worker' },
  'swallows what comes from the worker': { hole: 'to controller' },
  'corrupts one of five chunks': { corruptEvery: 5 },
  'accepts, and nothing more': { greeting: 'silence' },
};
const CUT = 'is cut again and again';

/** A round: all of its faults are made, and end, before it is judged. */
export function chaosRound(chaos: Chaos): Scenario {
  const faults = drawFaults(chaos);
  return {
    name: faults.map(textOf).join('; ') || 'nothing',
    inject: async (rig) => {
      await Promise.all(faults.map((fault) => make(fault, rig, chaos)));
    },
    ...excuseOf(faults, chaos),
    ...(faults.some(breaksConnections) ? { breaks: BREAKS } : {}),
  };
}

/** What requests may be refused with. */
function excuseOf(faults: readonly Fault[], chaos: Chaos): Pick<Scenario, 'excuse'> {
  if (faults.some(isKilledController)) return { excuse: STARTING };
  return mayHaveNoWorker(faults, chaos) ? { excuse: NO_WORKER } : {};
}

/** While one worker and its link are whole, and the controller that knows it, no request may fail. */
function mayHaveNoWorker(faults: readonly Fault[], { workers }: Chaos): boolean {
  const struck = new Set(
    faults.filter(({ part }) => part === 'worker' || part === 'link').map(({ index }) => index),
  );
  return (
    struck.size === workers ||
    faults.some(({ part, kind }) => part === 'controller' && !kind.includes('frontend'))
  );
}

function isKilledController({ part, kind }: Fault): boolean {
  return part === 'controller' && kind === 'is killed';
}

function breaksConnections(fault: Fault): boolean {
  return isKilledController(fault) || (fault.part === 'controller' && fault.kind.includes('frontend'));
}

function drawFaults({ draw, workers, disk }: Chaos): Fault[] {
  const indices = Array.from({ length: workers }, (_, index) => index);
  const drawn = (part: Fault['part'], kinds: readonly string[], index = 0): Fault[] => {
    const [kind, afterMs] = [draw.pick(kinds), draw.int(0, LATEST_MS)];
    const fault = { part, index, kind, afterMs, forMs: draw.log(SHORTEST_MS, LONGEST_MS) };
    return draw.chance(STRUCK) ? [fault] : [];
  };
  return [
    ...indices.flatMap((index) => drawn('worker', WORKER_KINDS, index)),
    ...indices.flatMap((index) => drawn('link', [...Object.keys(LINK_KINDS), CUT], index)),
    ...drawn('controller', CONTROLLER_KINDS),
    ...(disk === null ? [] : drawn('disk', ['is full'])),
  ];
}

function textOf({ part, index, kind, afterMs, forMs }: Fault): string {
  const which = part === 'worker' || part === 'link' ? `${part} ${index}` : part;
  return `after ${afterMs} ms ${which} ${kind} for ${forMs} ms`;
}

async function make(fault: Fault, rig: Rig, { disk }: Chaos): Promise<void> {
  await sleep(fault.afterMs);
  if (fault.part === 'worker') await strikeWorker(fault, rig);
  else if (fault.part === 'link') await strikeLink(fault, rig.links[fault.index]);
  else if (fault.part === 'controller') await strikeController(fault, rig);
  else if (disk !== null) await fillFor(disk, fault.forMs);
}

async function strikeWorker({ kind, index, forMs }: Fault, rig: Rig): Promise<void> {
  const worker = rig.workers[index];
  if (kind === 'is frozen') {
    worker.signal('SIGSTOP');
    await sleep(forMs);
    worker.signal('SIGCONT');
  } else if (kind === 'loses the thread of its GPU') worker.send({ crash: 'executor' });
  else {
    await worker.kill(kind === 'is killed' ? 'SIGKILL' : 'SIGTERM');
    await sleep(forMs);
    await rig.restart(index);
  }
}

async function strikeLink({ kind, forMs }: Fault, link: FaultProxy): Promise<void> {
  const untilMs = performance.now() + forMs;
  Object.assign(link.weather, LINK_KINDS[kind]);
  if (kind === 'accepts, and nothing more') link.cut();
  while (kind === CUT && performance.now() < untilMs) {
    link.cut('reset');
    await sleep(100);
  }
  await sleep(Math.max(0, untilMs - performance.now()));
  link.clear();
  // Bytes never go missing from a connection that lives on.
  if (LINK_KINDS[kind]?.hole !== undefined) link.cut();
}

async function strikeController({ kind, forMs }: Fault, rig: Rig): Promise<void> {
  const { controller } = rig;
  if (controller === null) return;
  if (kind === 'is frozen') {
    controller.signal('SIGSTOP');
    await sleep(forMs);
    controller.signal('SIGCONT');
  } else if (kind === 'is killed') {
    await controller.kill('SIGKILL');
    await sleep(forMs);
    await rig.startController();
  } else {
    const from = controller.stderr.length;
    controller.send({ crash: 'frontend' });
    await rig.says(/the frontend thread fails/, from);
  }
}

async function fillFor(disk: string, ms: number): Promise<void> {
  const free = fillUpDisk(disk);
  await sleep(ms);
  free();
}
