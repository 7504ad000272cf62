import type { Logger } from 'pino';
import type { ActionMessage } from '../../../src/live/messages.js';
import type { Simulation } from './simulation.js';

/** Which run of which process. Incarnations count from 1. */
export interface Incarnation {
  readonly process: string;
  readonly incarnation: number;
}

export type ProcessChange = 'started' | 'exited' | 'crashed' | 'died' | 'frozen' | 'thawed';
export type Direction = 'toServer' | 'toClient';

/** An action as a device sees it; its window is by the clock of the machine. */
export type DeviceAction = Pick<
  ActionMessage,
  'id' | 'kind' | 'model' | 'batchIndex' | 'count' | 'earliestNs' | 'latestNs'
>;

/** Follows what happens in a simulated world. Called with the true time. What it takes stays as it is. */
export interface Tap {
  log?(nowNs: number, of: Incarnation, level: string, line: string, facts: object): void;
  /** `why`: what it threw, or the status it ended with. */
  process?(nowNs: number, of: Incarnation, change: ProcessChange, why: string): void;
  /** A thread has ended, or hangs, or goes on. */
  thread?(
    nowNs: number,
    of: Incarnation,
    kind: string,
    change: 'started' | 'ended' | 'hangs' | 'goes on',
  ): void;
  /**
   * A thread threw what nothing caught, or a promise was rejected in it: `main`, or the kind of the thread. It ends, and the
   * process with it where it is the main one. Absent: `Simulation.run` rejects.
   */
  threw?(nowNs: number, of: Incarnation, thread: string, error: Error): void;
  /** `closed`: neither end has it any more. */
  connection?(
    nowNs: number,
    id: number,
    change: 'opened' | 'closed',
    from: Incarnation,
    to: Incarnation,
  ): void;
  /** As it was given to `write` or `end`. Frames of a direction count from 0. */
  message?(nowNs: number, id: number, direction: Direction, message: unknown, frame: number): void;
  /** Its bytes are handed to the other side. */
  delivered?(nowNs: number, id: number, direction: Direction, frame: number): void;
  /** A byte of what is handed to the other side is another now, or it never arrives. */
  damaged?(nowNs: number, id: number): void;
  /** An executor has started, with empty caches. */
  executorStarted?(nowNs: number, of: Incarnation, gpus: readonly number[]): void;
  deviceBegan?(nowNs: number, of: Incarnation, gpu: number, action: DeviceAction, localNs: number): void;
  deviceEnded?(
    nowNs: number,
    of: Incarnation,
    gpu: number,
    action: number,
    status: number,
    localNs: number,
  ): void;
  deviceUnloaded?(nowNs: number, of: Incarnation, gpu: number, model: number, localNs: number): void;
}

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const;

/** A logger as far as servers and workers use pino's: each line goes to the tap. */
export function simLogger(simulation: Simulation, of: Incarnation): Logger {
  const write = (level: string) => (first: object | string, second?: string) => {
    const line = typeof first === 'string' ? first : (second ?? '');
    const facts = typeof first === 'string' ? {} : first;
    simulation.tap.log?.(simulation.nowNs, of, level, line, facts);
  };
  const byLevel = Object.fromEntries(LEVELS.map((level) => [level, write(level)]));
  return { ...byLevel, level: 'info', isLevelEnabled: () => false } as unknown as Logger;
}
