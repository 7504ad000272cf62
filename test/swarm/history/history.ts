import type { Scenario } from '../scenario/scenario.js';

/**
 * What an observer from outside saw of a run, as plain data: what clients sent and got, what crossed the network and reached
 * the devices, logs, metrics, journals. All that checks may use.
 */
export interface History {
  readonly scenario: Scenario;
  /** In the order in which they happened. */
  readonly events: readonly HistoryEvent[];
  readonly journals: readonly JournalFile[];
}

/** `atNs`: true time since the beginning of the world, which no process of it can read. */
export type HistoryEvent = { readonly atNs: number } & (
  | RequestEvent
  | DeviceEvent
  | NetworkEvent
  | ProcessEvent
  | SnapshotEvent
);

/** One life of a process: `worker-0#2` was started for the second time. */
export type ProcessLife = string;

type RequestEvent =
  /** A client sends a request through a frontend of this controller. A repeated one has a number of its own. */
  | {
      readonly kind: 'asked';
      readonly request: number;
      readonly client: string;
      /** Absent: it names none. */
      readonly requestClass?: number;
      readonly tenant?: number;
      readonly process: ProcessLife;
      readonly model: string;
      readonly sloNs: number;
    }
  | {
      readonly kind: 'answered';
      readonly request: number;
      readonly outcome: Outcome;
      readonly error: string;
      /** Of each output. */
      readonly outputBytes: readonly number[];
      /** By output: the number that each of its rows begins with. */
      readonly numbers: readonly (readonly number[])[];
    }
  /** Its client goes without waiting for the answer any longer. */
  | { readonly kind: 'left'; readonly request: number }
  /** The frontend refuses it before the scheduler sees it, as not ready. */
  | { readonly kind: 'refused'; readonly request: number; readonly why: string }
  /** The thread of the frontend has ended: what it has not answered, it never will. */
  | { readonly kind: 'frontendEnded'; readonly process: ProcessLife }
  | { readonly kind: 'modelChange'; readonly change: 'load' | 'unload'; readonly model: string };

export type Outcome = 'ok' | 'late' | 'timeout' | 'rejected' | 'error' | 'cancelled';

type DeviceEvent =
  /** The threads of the GPUs have started, with empty caches. */
  | { readonly kind: 'executorStarted'; readonly process: ProcessLife; readonly gpus: readonly number[] }
  | {
      readonly kind: 'began';
      readonly process: ProcessLife;
      readonly gpu: number;
      readonly action: number;
      readonly what: 'LOAD' | 'INFER';
      readonly model: string;
      readonly pages: number;
      /** Requests of an INFER. */
      readonly count: number;
      /** By the clock of the worker's machine, like the window in which it may begin. */
      readonly localNs: number;
      readonly earliestNs: number;
      readonly latestNs: number;
    }
  | {
      readonly kind: 'ended';
      readonly process: ProcessLife;
      readonly gpu: number;
      readonly action: number;
      readonly isOk: boolean;
    }
  | {
      readonly kind: 'unloaded';
      readonly process: ProcessLife;
      readonly gpu: number;
      readonly model: string;
    };

type NetworkEvent =
  /** `stream`: one between a controller and a worker. */
  | {
      readonly kind: 'streamOpened';
      readonly stream: number;
      readonly controller: ProcessLife;
      readonly worker: ProcessLife;
    }
  | { readonly kind: 'streamEnded'; readonly stream: number }
  /** A message has arrived with a byte that is wrong, or has vanished on its way. */
  | { readonly kind: 'damaged'; readonly stream: number }
  /** The worker has said who drives it. */
  | {
      readonly kind: 'leaseSaid';
      readonly stream: number;
      readonly term: number;
      readonly driver: string;
    }
  /** The worker has said that it is idle, and takes actions from this stream. */
  | { readonly kind: 'stateSaid'; readonly stream: number }
  /**
   * The controller sends actions. By the clock of the worker's machine: how long ago the first of their windows ended, negative if none
   * has, and how far ahead the last of them begins. Null: they have no end, or no beginning.
   */
  | {
      readonly kind: 'windowsSent';
      readonly stream: number;
      readonly pastNs: number | null;
      readonly aheadNs: number | null;
    }
  /** Bytes of a message with actions were handed to the worker. */
  | { readonly kind: 'actionsArrived'; readonly stream: number; readonly actions: readonly number[] }
  /** The worker has sent results. */
  | { readonly kind: 'resultsSent'; readonly stream: number; readonly actions: readonly number[] };

type ProcessEvent =
  | { readonly kind: 'started'; readonly process: ProcessLife }
  /** Asked to shut down. */
  | { readonly kind: 'asked to stop'; readonly process: ProcessLife }
  /** `crashed`: killed by the plan. `died`: by an error of its own. `exited`: as asked, or to be started again. */
  | {
      readonly kind: 'crashed' | 'died' | 'exited';
      readonly process: ProcessLife;
      readonly why: string;
    }
  /** A thread besides the main one died by an error of its own. */
  | {
      readonly kind: 'threadDied';
      readonly process: ProcessLife;
      readonly thread: string;
      readonly why: string;
    }
  | { readonly kind: 'frozen' | 'thawed'; readonly process: ProcessLife }
  | {
      readonly kind: 'logged';
      readonly process: ProcessLife;
      readonly level: LogLevel;
      readonly line: string;
    };

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'fatal';

/** What one controller says of itself when it should be at rest. */
type SnapshotEvent = {
  readonly kind: 'snapshot';
  readonly process: ProcessLife;
  readonly isReady: boolean;
  readonly drives: boolean;
  readonly gpus: readonly GpuSnapshot[];
  /** Without an answer, in the scheduler's table. */
  readonly requests: number;
  /** Actions without a result. */
  readonly actions: number;
  /** Metrics in Prometheus' text format. */
  readonly metrics: string;
};

/** A GPU that the controller counts as up. */
export interface GpuSnapshot {
  readonly worker: string;
  /** On that worker. */
  readonly gpu: number;
  readonly warm: readonly string[];
  readonly freePages: number;
}

export interface JournalFile {
  readonly process: ProcessLife;
  readonly path: string;
  readonly text: string;
  /** The disk refused something, or the process was killed: it may end anywhere. */
  readonly mayBeCut: boolean;
}

export function nameOf(process: ProcessLife): string {
  return process.split('#')[0];
}
