import type { Tally } from './tally.js';

/** Models of the server under attack: names and elements of their one FP32 input. Each has 1,000 outputs. */
export const SMALL = { name: 'small', elements: 1024 } as const;
export const LARGE = { name: 'large', elements: 150_528 } as const;
export const OUTPUT_ELEMENTS = 1000;

/** How the server under attack is set up. */
export type Setting = 'plain' | 'token' | 'tls' | 'cluster-token';

/** Where it listens on 127.0.0.1. */
export interface Target {
  readonly http: number;
  readonly grpc: number;
  readonly metrics: number;
  /** 0: there is no worker of its own. */
  readonly worker: number;
  readonly tls: boolean;
  /** The victim has it, attackers do not. */
  readonly token: string | null;
  /** Share of each attack's size: 1 shows how much the server withstands, less suffices for a test. */
  readonly size: number;
}

/** What one misbehaving client does. */
export interface Attack {
  readonly name: string;
  readonly setting: Setting;
  /** Attacks, and counts the answers, until it has nothing left to do or `untilMs` on the clock of performance.now(). */
  run(target: Target, tally: Tally, untilMs: number): Promise<void>;
}
