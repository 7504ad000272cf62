/**
 * Something that goes wrong, as plain data. It begins at `atNs` of the world's time and, where it has a duration, ends by
 * itself. Processes are named as in the scenario: `worker-0`, `controller-0`; machines have the names of their processes.
 */
export type Fault = { readonly atNs: number } & FaultKind;

export type FaultKind =
  /** The process is killed, and started again after a while. */
  | { readonly kind: 'crash'; readonly process: string; readonly forNs: number }
  /** It is asked to shut down (SIGTERM), and started again after a while. */
  | { readonly kind: 'stop'; readonly process: string; readonly forNs: number }
  /** Nothing of it runs for a while (SIGSTOP). */
  | { readonly kind: 'freeze'; readonly process: string; readonly forNs: number }
  /** Its machine is off for a while: no word to its peers, and the disk loses what it had not kept. */
  | { readonly kind: 'powerLoss'; readonly process: string; readonly forNs: number }
  | { readonly kind: 'threadDies'; readonly process: string; readonly thread: ThreadName }
  | {
      readonly kind: 'threadHangs';
      readonly process: string;
      readonly thread: ThreadName;
      readonly forNs: number;
    }
  /** Nothing passes from one machine to the other; in this direction only, or in both. */
  | {
      readonly kind: 'cut';
      readonly from: string;
      readonly to: string;
      readonly isBothWays: boolean;
      readonly forNs: number;
    }
  /** All takes longer. */
  | {
      readonly kind: 'slowLink';
      readonly from: string;
      readonly to: string;
      readonly delayNs: number;
      readonly jitterNs: number;
      readonly forNs: number;
    }
  /** Connections between the two end: with a word to both ends, or without any (half-open). */
  | { readonly kind: 'disconnect'; readonly from: string; readonly to: string; readonly isSaid: boolean }
  /** A byte of the next message is changed. */
  | { readonly kind: 'corrupt'; readonly from: string; readonly to: string }
  /** The next message never arrives, though later ones do. */
  | { readonly kind: 'vanish'; readonly from: string; readonly to: string }
  /** The next connection is made twice: both say the same first, and the second is closed after a while. */
  | { readonly kind: 'dialTwice'; readonly from: string; readonly to: string }
  /** As after a suspend: the machine's clock is ahead by so much at once. */
  | { readonly kind: 'clockJump'; readonly machine: string; readonly byNs: number }
  /** Its clock runs faster or slower from now on. */
  | { readonly kind: 'clockDrift'; readonly machine: string; readonly ppm: number }
  | { readonly kind: 'diskFull'; readonly machine: string; readonly forNs: number }
  | { readonly kind: 'diskFails'; readonly machine: string; readonly forNs: number }
  /** Each write takes so much longer. */
  | { readonly kind: 'diskSlow'; readonly machine: string; readonly delayNs: number; readonly forNs: number }
  /** INFERs and LOADs take so many times as long. */
  | {
      readonly kind: 'slowDevice';
      readonly process: string;
      readonly gpu: number;
      readonly factor: number;
      readonly forNs: number;
    }
  /** Nothing ends on it. */
  | { readonly kind: 'deviceHangs'; readonly process: string; readonly gpu: number; readonly forNs: number }
  /** So many of the next actions fail. */
  | { readonly kind: 'deviceFails'; readonly process: string; readonly gpu: number; readonly actions: number }
  /** Each LOAD fails. */
  | { readonly kind: 'outOfMemory'; readonly process: string; readonly gpu: number; readonly forNs: number }
  /** The thread learns so much later that an action has ended. */
  | {
      readonly kind: 'lateResults';
      readonly process: string;
      readonly gpu: number;
      readonly delayNs: number;
      readonly forNs: number;
    };

/** What a thread that the plan lets die says. */
export const THREAD_FAULT = 'a fault of the plan';

/** Threads of a process that may die or hang. */
export type ThreadName = 'executor' | 'frontend';

/** Until when a fault does harm by itself. */
export function endNsOf(fault: Fault): number {
  return fault.atNs + ('forNs' in fault ? fault.forNs : 0);
}
