import type { BoundFigures, ScheduledRun } from '../../record/results.js';
import type { Command, EngineEvent, FrameEvent, LaneSource, OpenedLane } from '../protocol.js';
import type { Setup } from '../share/address.js';

type StoryEvent = Extract<EngineEvent, { type: 'story' }>;
type ErrorEvent = Extract<EngineEvent, { type: 'error' }>;

/** State of a run shown on the page; replaced as a whole on every change. */
export interface View {
  readonly setup: Setup;
  readonly lanes: readonly OpenedLane[];
  /** Null: nothing simulated yet. */
  readonly frame: FrameEvent | null;
  /** Figures of the whole run, once it is over. */
  readonly runs: readonly ScheduledRun[] | null;
  /** Null: not known yet. */
  readonly bound: BoundFigures | null;
  readonly story: StoryEvent | null;
  readonly problem: ErrorEvent | null;
  /** Latest announcement for screen readers. */
  readonly said: string;
  readonly speed: number;
}

/** Receiver of frames in addition to the view: timelines and charts keep their own history. */
interface FrameSink {
  /** A run begins, or begins again: clears the drawing. */
  opened(lanes: readonly OpenedLane[]): void;
  frame(frame: FrameEvent): void;
  /** A story arrives. */
  story?(story: StoryEvent): void;
}

/** Runs setups in a worker, with a second worker for the bound, which occupies its thread. */
export class Session {
  view: View;
  private readonly sinks = new Set<FrameSink>();
  private readonly engine: Worker;
  private boundEngine: Worker | null = null;

  constructor(
    private readonly startEngine: () => Worker,
    setup: Setup,
    private readonly onView: (view: View) => void,
  ) {
    this.view = {
      ...{ setup, lanes: [], frame: null, runs: null, bound: null, story: null, problem: null },
      ...{ said: '', speed: 0.02 },
    };
    this.engine = this.started((event) => this.heard(event));
  }

  listen(sink: FrameSink): () => void {
    this.sinks.add(sink);
    if (this.view.lanes.length > 0) sink.opened(this.view.lanes);
    return () => this.sinks.delete(sink);
  }

  /** Opens a setup at its start, paused. */
  open(setup: Setup): void {
    this.replace(setup, 'open');
  }

  /** Runs another setup up to the present moment and continues as before. */
  change(setup: Setup): void {
    this.replace(setup, 'change');
  }

  play(speed = this.view.speed): void {
    this.show({ speed });
    this.send({ type: 'play', speed });
  }

  send(command: Command): void {
    this.engine.postMessage(command);
  }

  /** Answered by `view.story`. */
  tellStory(lane: number, request: number): void {
    this.send({ type: 'story', lane, request });
  }

  /** Shows a mistake that was made outside the engine. */
  fail(message: string): void {
    this.show({ problem: { type: 'error', message }, said: message });
  }

  private replace(setup: Setup, type: 'open' | 'change'): void {
    this.show({ setup, runs: null, bound: null, story: null, problem: null });
    const lanes = setup.lanes.map((_, lane) => sourceOf(setup, lane));
    this.send({ type, lanes });
    this.boundEngine?.terminate();
    this.boundEngine = null;
  }

  /** Computes the bound of the arrivals, which all policies share. */
  computeBound(): void {
    if (this.boundEngine !== null) return;
    this.boundEngine = this.started((event) => {
      if (event.type === 'bound') this.show({ bound: event.figures });
    });
    const command: Command = { type: 'bound', source: sourceOf(this.view.setup, 0) };
    this.boundEngine.postMessage(command);
  }

  /** Ends the threads. */
  close(): void {
    this.engine.terminate();
    this.boundEngine?.terminate();
  }

  private started(onEvent: (event: EngineEvent) => void): Worker {
    const worker = this.startEngine();
    worker.onmessage = ({ data }: MessageEvent<EngineEvent>) => onEvent(data);
    worker.onerror = ({ message }) => this.fail(`the engine stopped: ${message}; reload the page`);
    return worker;
  }

  private heard(event: EngineEvent): void {
    switch (event.type) {
      case 'opened':
        for (const sink of this.sinks) sink.opened(event.lanes);
        this.show({ lanes: event.lanes, frame: null, runs: null });
        return;
      case 'frame':
        for (const sink of this.sinks) sink.frame(event);
        this.show({ frame: event });
        return;
      case 'story':
        for (const sink of this.sinks) sink.story?.(event);
        this.show({
          story: event,
          said: `Request ${event.request}: ${event.story?.outcome ?? 'not answered yet'}`,
        });
        return;
      case 'jumped':
        if (event.missed === null) this.show({ said: 'All later requests were answered in time' });
        else this.tellStory(event.missed.lane, event.missed.request);
        return;
      case 'done':
        this.show({ runs: event.lanes, said: 'The run is over' });
        return;
      case 'error':
        this.show({ problem: event, said: event.message });
        return;
      case 'bound':
        return;
    }
  }

  private show(change: Partial<View>): void {
    this.view = { ...this.view, ...change };
    this.onView(this.view);
  }
}

function sourceOf({ text, overrides, lanes, files }: Setup, lane: number): LaneSource {
  return { text, overrides: [...overrides, ...lanes[lane]!], files };
}
