import type { ModelReference, WorkerDescription, WorkerState } from '../../../messages.js';
import type { ServedModel, Shape } from '../../../model.js';
import type { ReadOperators } from '../../../operator-table.js';
import type { Packed } from '../../../packer.js';
import type { ParcelContents } from '../../../parcel.js';
import type { PulseBuffer } from '../../../pulse.js';
import type { ClientTls } from '../../../wire/credentials.js';
import type { WireModelList } from '../../../wire/protocol.js';
import type { ClockReading } from '../clock-sync.js';
import type { Candidacy } from '../election.js';
import type { ReconnectingLinkOptions } from '../reconnecting-link.js';
import type { Driving } from '../worker-link.js';

/** Start-up data of the thread of links. */
export interface LinkThreadData {
  readonly pulse: PulseBuffer;
  /** Pulse of the scheduling thread. */
  readonly schedulerPulse: PulseBuffer;
  readonly candidacy: Candidacy;
}

/** Plain data. */
export type LinkSettings = Omit<
  ReconnectingLinkOptions,
  'world' | 'log' | 'timed' | 'otherAddress' | 'lease' | 'controller'
>;

interface RareOfAction {
  /** Position of the action in the message. */
  readonly nth: number;
  readonly shapes: readonly Shape[];
}

interface RareOfResult {
  /** Position of the result in the message. */
  readonly nth: number;
  readonly shapes: readonly Shape[] | undefined;
  readonly error: string;
  readonly inputErrors: readonly string[] | undefined;
}

/** Actions of one step, for any links of the thread; see `ActionPacker`. */
export type PackedActions = Packed<RareOfAction>;

/** Results of one turn, of any links of the thread; see `ResultPacker`. */
export type PackedResults = Packed<RareOfResult>;

/** Calls of a link, with answers. */
export type LinkCall =
  | { readonly method: 'listModels'; readonly name: string | null }
  | { readonly method: 'addModel'; readonly index: number; readonly reference: ModelReference }
  | { readonly method: 'dropModel'; readonly index: number }
  | { readonly method: 'stopRecording' };

export type LinkAnswer = WireModelList | ServedModel | ReadOperators | null;

/** Messages to the thread of links. A text, by far the most frequent, holds actions. `link`: its number. */
export type ToLinks =
  | string
  | { readonly kind: 'actions'; readonly actions: Exclude<PackedActions, string> }
  /** `originNs`: `monotonicNs` at 0 of the controller's clock. */
  | {
      readonly kind: 'open';
      readonly link: number;
      readonly settings: LinkSettings;
      readonly originNs: number;
    }
  | { readonly kind: 'call'; readonly link: number; readonly id: number; readonly call: LinkCall }
  | {
      readonly kind: 'restart';
      readonly link: number;
      readonly reason: string;
      readonly gpu: number | null;
    }
  | { readonly kind: 'startRecording'; readonly link: number }
  /** Answer to `down`: no further action follows for what is down. */
  | {
      readonly kind: 'settle';
      readonly link: number;
      readonly gpu: number | null;
      readonly reason: string;
    }
  | { readonly kind: 'renew'; readonly link: number; readonly tls: ClientTls }
  | { readonly kind: 'close'; readonly link: number };

/** Messages from the thread of links. A text holds results. */
export type FromLinks =
  | string
  | { readonly kind: 'results'; readonly results: Exclude<PackedResults, string> }
  | { readonly kind: 'met'; readonly link: number; readonly description: WorkerDescription }
  | { readonly kind: 'driven'; readonly link: number; readonly by: Driving }
  | {
      readonly kind: 'up';
      readonly link: number;
      readonly description: WorkerDescription;
      readonly state: WorkerState;
    }
  | {
      readonly kind: 'down';
      readonly link: number;
      readonly gpu: number | null;
      readonly reason: string;
    }
  /** Answer to `settle`: all inputs that the thread still had. See `packInputs`. */
  | {
      readonly kind: 'settled';
      readonly link: number;
      readonly gpu: number | null;
      readonly reason: string;
      readonly inputs: ParcelContents;
    }
  | {
      readonly kind: 'called';
      readonly link: number;
      readonly id: number;
      readonly answer: LinkAnswer;
      /** Null: none. */
      readonly error: string | null;
    }
  | { readonly kind: 'timed'; readonly link: number; readonly clock: ClockReading | null }
  | { readonly kind: 'log'; readonly link: number; readonly line: string }
  | { readonly kind: 'closed'; readonly link: number };
