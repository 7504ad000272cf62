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

/** What the thread of links is started with. */
export interface LinkThreadData {
  readonly pulse: PulseBuffer;
  /** That of the thread that schedules. */
  readonly schedulerPulse: PulseBuffer;
  readonly candidacy: Candidacy;
}

/** Plain data. */
export type LinkSettings = Omit<
  ReconnectingLinkOptions,
  'world' | 'log' | 'timed' | 'otherAddress' | 'seat' | 'controller'
>;

interface RareOfAction {
  /** Of the action among those of the message. */
  readonly nth: number;
  readonly shapes: readonly Shape[];
}

interface RareOfResult {
  /** Of the result among those of the message. */
  readonly nth: number;
  readonly shapes: readonly Shape[] | undefined;
  readonly error: string;
  readonly inputErrors: readonly string[] | undefined;
}

/** Actions of one step, for any links of the thread; see `ActionPacker`. */
export type PackedActions = Packed<RareOfAction>;

/** Results of one turn, of any links of the thread; see `ResultPacker`. */
export type PackedResults = Packed<RareOfResult>;

/** What is asked of a link and answered. */
export type LinkCall =
  | { readonly method: 'listModels'; readonly name: string | null }
  | { readonly method: 'addModel'; readonly index: number; readonly reference: ModelReference }
  | { readonly method: 'dropModel'; readonly index: number }
  | { readonly method: 'stopRecording' };

export type LinkAnswer = WireModelList | ServedModel | ReadOperators | null;

/** To the thread of links. A text, by far the most frequent, is actions. `link`: its number. */
export type ToLinks =
  | string
  | { readonly kind: 'actions'; readonly actions: Exclude<PackedActions, string> }
  /** `originNs`: `monotonicNs` of the instant that is 0 on the controller's clock. */
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
  /** The answer to `down`: no action follows for what is down. */
  | {
      readonly kind: 'settle';
      readonly link: number;
      readonly gpu: number | null;
      readonly reason: string;
    }
  | { readonly kind: 'renew'; readonly link: number; readonly tls: ClientTls }
  | { readonly kind: 'close'; readonly link: number };

/** From the thread of links. A text is results. */
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
  /** The answer to `settle`: all inputs that the thread still had. See `packInputs`. */
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
