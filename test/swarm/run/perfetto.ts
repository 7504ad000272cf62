import {
  instant,
  processNames,
  slice,
  span,
  type TimelineEvent,
  type Track,
  trackNames,
} from '../../../src/record/timeline-events.js';
import { TimelineFile } from '../../../src/record/timeline-file.js';
import type { Finding } from '../check/finding.js';
import { type History, type HistoryEvent, nameOf } from '../history/history.js';
import { endNsOf, type Fault } from '../scenario/fault.js';

/**
 * Writes a run as a timeline for Perfetto (ui.perfetto.dev): what was found and what went wrong on top, then the clients' requests,
 * then each process with its lives, what it logged, its streams to workers, and its GPUs.
 */
export function writePerfetto(
  path: string,
  { scenario, events }: History,
  findings: readonly Finding[],
): void {
  const timeline = new RunTimeline();
  for (const { check, what, atNs } of findings) timeline.mark('plan', 'findings', check, atNs, { what });
  timeline.spanOf('plan', 'phases', 'load and faults', 0, scenario.loadNs, {});
  for (const fault of scenario.faults)
    timeline.spanOf('plan', 'faults', nameOfFault(fault), fault.atNs, endNsOf(fault), { ...fault });
  for (const event of events) timeline.add(event);
  timeline.end(events.at(-1)?.atNs ?? 0);
  const file = new TimelineFile(path, { seed: scenario.seed });
  for (const event of timeline.events) file.write(event);
  file.close();
}

type Of<K extends HistoryEvent['kind']> = Extract<HistoryEvent, { readonly kind: K }>;

function nameOfFault(fault: Fault): string {
  const { kind } = fault;
  if ('from' in fault) return `${kind} ${fault.from} → ${fault.to}`;
  if ('machine' in fault) return `${kind} ${fault.machine}`;
  return 'gpu' in fault ? `${kind} ${fault.process} GPU ${fault.gpu}` : `${kind} ${fault.process}`;
}

const OVER = ['crashed', 'died', 'exited'];

class RunTimeline {
  readonly events: TimelineEvent[] = [];
  /** By name of the process; numbers count from 1. */
  private readonly processes = new Map<string, Map<string, Track>>();
  private lastId = 0;
  /** By what is under way: ends it, with how it ended. */
  private readonly open = new Map<
    string,
    { readonly process: string; end(atNs: number, how: string): void }
  >();

  add(event: HistoryEvent): void {
    const { atNs } = event;
    if (event.kind === 'asked') this.asked(event);
    else if (event.kind === 'answered')
      this.close(`request ${event.request}`, atNs, `${event.outcome} ${event.error}`);
    else if (event.kind === 'refused') this.close(`request ${event.request}`, atNs, `refused: ${event.why}`);
    else if (event.kind === 'began') this.began(event);
    else if (event.kind === 'ended')
      this.close(`${event.process} ${event.gpu} ${event.action}`, atNs, event.isOk ? 'ok' : 'failed');
    else if (event.kind === 'streamOpened') this.streamOpened(event);
    else if (event.kind === 'streamEnded') this.close(`stream ${event.stream}`, atNs, 'ended');
    else if ('process' in event) this.ofProcess(event);
  }

  /** What has not ended yet lasts until then. */
  end(atNs: number): void {
    for (const key of [...this.open.keys()]) this.close(key, atNs, 'under way at the end');
  }

  mark(process: string, track: string, name: string, atNs: number, args: object): void {
    this.events.push(instant(this.track(process, track), name, track, atNs, { ...args }));
  }

  spanOf(process: string, track: string, name: string, beginNs: number, endNs: number, args: object): void {
    const where = this.track(process, track);
    this.events.push(...span(where, name, track, ++this.lastId, beginNs, endNs, { args: { ...args } }));
  }

  private asked({ atNs, request, client, process, model, sloNs }: Of<'asked'>): void {
    this.begin(`request ${request}`, process, (endNs, how) =>
      this.spanOf('clients', client, `${model} ${how}`, atNs, endNs, {
        request,
        process,
        sloMs: sloNs / 1e6,
      }),
    );
  }

  private began({ atNs, process, gpu, action, what, model, count, ...window }: Of<'began'>): void {
    const { localNs, earliestNs, latestNs } = window;
    const args = { action, count, afterEarliestNs: localNs - earliestNs, beforeLatestNs: latestNs - localNs };
    const where = this.track(nameOf(process), `GPU ${gpu} ${what}`);
    const name = what === 'INFER' ? `${model} ×${count}` : `LOAD ${model}`;
    this.begin(`${process} ${gpu} ${action}`, process, (endNs, how) =>
      this.events.push(slice(where, name, what, atNs, endNs, { ...args, how })),
    );
  }

  private streamOpened({ atNs, stream, controller, worker }: Of<'streamOpened'>): void {
    this.begin(`stream ${stream}`, '', (endNs) =>
      this.spanOf(nameOf(controller), 'streams', worker, atNs, endNs, { stream, controller }),
    );
  }

  private ofProcess(event: Extract<HistoryEvent, { readonly process: string }>): void {
    const { atNs, kind, process, ...facts } = event;
    const name = nameOf(process);
    if (kind === 'started')
      this.begin(process, '', (endNs, how) =>
        this.events.push(slice(this.track(name, 'process'), process, 'process', atNs, endNs, { how })),
      );
    else if (kind === 'frozen')
      this.begin(`${process} frozen`, process, (endNs) =>
        this.events.push(slice(this.track(name, 'frozen'), 'frozen', 'process', atNs, endNs, {})),
      );
    else if (kind === 'thawed') this.close(`${process} frozen`, atNs, '');
    else if (event.kind === 'logged') this.mark(name, 'log', `${event.level}: ${event.line}`, atNs, {});
    else if (OVER.includes(kind)) this.over(event as Of<'crashed'>);
    else this.mark(name, 'events', kind, atNs, facts);
  }

  /** What it did ends with it. */
  private over({ atNs, kind, process, why }: Of<'crashed' | 'died' | 'exited'>): void {
    for (const [key, { process: of }] of this.open)
      if (of === process) this.close(key, atNs, 'lost with its process');
    this.close(process, atNs, `${kind} ${why}`);
  }

  private begin(key: string, process: string, end: (atNs: number, how: string) => void): void {
    this.open.set(key, { process, end });
  }

  private close(key: string, atNs: number, how: string): void {
    this.open.get(key)?.end(atNs, how.trim());
    this.open.delete(key);
  }

  private track(process: string, name: string): Track {
    const tracks = this.tracksOf(process);
    const known = tracks.get(name);
    if (known !== undefined) return known;
    const pid = [...this.processes.keys()].indexOf(process) + 1;
    const track = { pid, tid: pid * 1000 + tracks.size };
    tracks.set(name, track);
    this.events.push(...trackNames(track, name, tracks.size));
    return track;
  }

  private tracksOf(process: string): Map<string, Track> {
    const known = this.processes.get(process);
    if (known !== undefined) return known;
    const tracks = new Map<string, Track>();
    this.processes.set(process, tracks);
    this.events.push(...processNames(this.processes.size, process, this.processes.size));
    return tracks;
  }
}
