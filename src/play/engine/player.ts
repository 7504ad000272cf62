import { EscapementError } from '../../base/errors.js';
import { NS_PER_MS } from '../../base/units.js';
import { parseExperiment } from '../../browser/parse.js';
import { boundOf } from '../../run/bound.js';
import type { Command, EngineEvent, ErrorEvent, FrameEvent, LaneSource } from '../protocol.js';
import { Lane } from './lane.js';

/** Host of the engine: a Web Worker, or a test. */
interface EngineHost {
  post(event: EngineEvent, transfer: readonly ArrayBuffer[]): void;
  /** Wall time since any origin. */
  readonly nowMs: () => number;
  /** Runs a function as a task of its own, after messages that arrive until then. */
  readonly later: (run: () => void, delayMs: number) => void;
}

/** Length of a slice of work, between which commands are handled: a frame of a display. */
const SLICE_MS = 12;
const FRAME_MS = 1000 / 60;
/** Number of instants between readings of the clock. */
const INSTANTS = 16;
/** Limit on the time played per tick: a tab that was asleep does not catch up. */
const LONGEST_TICK_MS = 100;

type Mode =
  | { readonly kind: 'paused' }
  | { readonly kind: 'play'; readonly speed: number }
  | { readonly kind: 'jump' }
  | { readonly kind: 'end' };

const PAUSED: Mode = { kind: 'paused' };

/**
 * Runs one or two experiments in step, in slices of work between which it handles commands. Slicing a run does not
 * change its decisions.
 */
export class Player {
  private lanes: readonly Lane[] = [];
  private nowNs = 0;
  private mode: Mode = PAUSED;
  /** Commands and ticks run one after the other. */
  private last: Promise<void> = Promise.resolve();
  private isTicking = false;
  private tickedMs = 0;
  private framedMs = Number.NEGATIVE_INFINITY;
  /** Virtual time that playing should have reached. */
  private dueNs = 0;
  private isDone = false;

  constructor(private readonly host: EngineHost) {}

  /** Executes a command after the previous ones. Errors become events. */
  handle(command: Command): Promise<void> {
    return this.enqueue(() => this.obey(command));
  }

  private enqueue(work: () => Promise<void>): Promise<void> {
    this.last = this.last.then(work).catch((error: unknown) => {
      this.mode = PAUSED;
      this.post(problemOf(error));
    });
    return this.last;
  }

  private async obey(command: Command): Promise<void> {
    switch (command.type) {
      case 'open':
        await this.open(command.lanes);
        return;
      case 'change':
        await this.change(command.lanes);
        return;
      case 'play':
        return this.start({ kind: 'play', speed: command.speed });
      case 'jumpToNextLate':
        return this.start({ kind: 'jump' });
      case 'runToEnd':
        return this.start({ kind: 'end' });
      case 'pause':
        this.stop();
        return;
      case 'stepEvent':
        await this.step(this.nextNs);
        this.stop();
        return;
      case 'story': {
        const { lane, request } = command;
        this.post({ type: 'story', lane, request, story: this.lanes[lane]?.story(request) ?? null });
        return;
      }
      case 'bound': {
        const { text, overrides, files } = command.source;
        const figures = await boundOf(await parseExperiment(text, { overrides, files }));
        this.post({ type: 'bound', figures });
      }
    }
  }

  private async open(sources: readonly LaneSource[]): Promise<void> {
    this.mode = PAUSED;
    const lanes = await this.lanesOf(sources);
    if (lanes === null) return;
    this.lanes = lanes;
    this.nowNs = 0;
    this.isDone = false;
    this.post({ type: 'opened', lanes: lanes.map((lane) => lane.opened(true)) });
    this.stop();
  }

  private async change(sources: readonly LaneSource[]): Promise<void> {
    const { nowNs } = this;
    const lanes = await this.lanesOf(sources);
    if (lanes === null) return;
    for (const lane of lanes) await lane.advance(nowNs);
    const before = this.lanes.map(({ digest }) => digest);
    this.lanes = lanes;
    this.isDone = false;
    this.post({ type: 'opened', lanes: lanes.map((lane, i) => lane.opened(lane.digest === before[i])) });
    if (this.mode.kind === 'paused') this.stop();
    else this.frame();
  }

  /** Opens the lanes; null if one has a mistake, which is reported: the old ones stay. */
  private async lanesOf(sources: readonly LaneSource[]): Promise<Lane[] | null> {
    const lanes: Lane[] = [];
    for (const [lane, source] of sources.entries()) {
      try {
        lanes.push(await Lane.open(source));
      } catch (error) {
        this.post({ ...problemOf(error), lane });
        return null;
      }
    }
    return lanes;
  }

  private start(mode: Mode): void {
    this.mode = mode;
    this.tickedMs = this.host.nowMs();
    this.dueNs = this.nowNs;
    this.tickLater(0);
  }

  /** Pauses, and sends the current state. */
  private stop(): void {
    this.mode = PAUSED;
    this.frame();
    if (this.nextNs < Number.POSITIVE_INFINITY || this.isDone || this.lanes.length === 0) return;
    this.isDone = true;
    this.post({ type: 'done', lanes: this.lanes.map((lane) => lane.result()) });
  }

  private tickLater(delayMs: number): void {
    if (this.isTicking) return;
    this.isTicking = true;
    this.host.later(() => {
      this.isTicking = false;
      void this.enqueue(() => this.tick());
    }, delayMs);
  }

  private async tick(): Promise<void> {
    const { mode, host } = this;
    if (mode.kind === 'paused') return;
    const beganMs = host.nowMs();
    if (mode.kind === 'play') {
      this.dueNs += Math.min(beganMs - this.tickedMs, LONGEST_TICK_MS) * mode.speed * NS_PER_MS;
    }
    this.tickedMs = beganMs;
    const untilNs = mode.kind === 'play' ? this.dueNs : Number.MAX_VALUE;
    const isReached = await this.advance(untilNs, beganMs + SLICE_MS, mode.kind === 'jump');
    // On a machine slower than the speed, playing falls behind and does not catch up.
    if (!isReached) this.dueNs = this.nowNs;
    const isOver = this.nextNs === Number.POSITIVE_INFINITY;
    if (isOver || (isReached && mode.kind === 'jump')) return this.stop();
    const sinceMs = host.nowMs() - this.framedMs;
    if (sinceMs >= FRAME_MS) this.frame();
    this.tickLater(isReached ? Math.max(0, FRAME_MS - (host.nowMs() - beganMs)) : 0);
  }

  /** Runs until `untilNs`; false if the clock reached `endMs` first. A jump ends at the first missed request. */
  private async advance(untilNs: number, endMs: number, isJump: boolean): Promise<boolean> {
    for (let instant = 1; ; instant++) {
      const nextNs = this.nextNs;
      if (nextNs > untilNs) {
        if (untilNs < Number.MAX_VALUE) this.nowNs = untilNs;
        else if (isJump) this.post({ type: 'jumped', missed: null });
        return true;
      }
      const answered = this.lanes.map((lane) => lane.answered);
      await this.step(nextNs);
      if (isJump && this.tellMissed(answered)) return true;
      if (instant % INSTANTS === 0 && this.host.nowMs() >= endMs) return false;
    }
  }

  /** Reports the first request not answered in time since these numbers of answers. */
  private tellMissed(answered: readonly number[]): boolean {
    for (const [lane, played] of this.lanes.entries()) {
      const request = played.missedFrom(answered[lane]);
      if (request === null) continue;
      this.post({ type: 'jumped', missed: { lane, request } });
      return true;
    }
    return false;
  }

  private get nextNs(): number {
    return this.lanes.reduce((next, lane) => Math.min(next, lane.nextNs), Number.POSITIVE_INFINITY);
  }

  private async step(nextNs: number): Promise<void> {
    if (nextNs === Number.POSITIVE_INFINITY) return;
    for (const lane of this.lanes) if (lane.nextNs <= nextNs) await lane.advance(nextNs);
    this.nowNs = nextNs;
  }

  private frame(): void {
    const { nowNs, mode, lanes } = this;
    if (lanes.length === 0) return;
    this.framedMs = this.host.nowMs();
    const frame: FrameEvent = {
      type: 'frame',
      nowNs,
      isPlaying: mode.kind !== 'paused',
      lanes: lanes.map((lane) => lane.frame(nowNs)),
    };
    const buffers = frame.lanes.flatMap(({ actions, requests, latency }) => [actions, requests, latency]);
    this.host.post(
      frame,
      buffers.map(({ buffer }) => buffer),
    );
  }

  private post(event: EngineEvent): void {
    this.host.post(event, []);
  }
}

function problemOf(error: unknown): ErrorEvent {
  if (!(error instanceof EscapementError)) return { type: 'error', message: String(error) };
  const { line, key } = error.place;
  return {
    type: 'error',
    message: error.message,
    ...(line === undefined ? {} : { line }),
    ...(key === undefined ? {} : { key }),
  };
}
