import type { Time } from '../../base/world/time.js';
import type { ClientTls } from './credentials.js';
import { helloToHeaders } from './hello.js';
import type { Network } from './network.js';
import { type ControllerMessage, WORKER_MESSAGES, WORKER_SERVICE, type WorkerMessage } from './protocol.js';
import { StreamCall } from './stream-call.js';
import { TensorRelay } from './tensor-relay.js';

/** Plain data. */
export interface WorkerCallSettings {
  /** HOST:PORT. */
  readonly address: string;
  /** Empty: none. */
  readonly token: string;
  /** Absent: no encryption. */
  readonly tls: ClientTls | undefined;
  /** Name of the controller. */
  readonly controller: string;
  /** Largest message accepted from the worker. */
  readonly maxMessageBytes: number;
}

interface WorkerCallEvents {
  /** Outputs of results own their memory. */
  receive(message: WorkerMessage): void;
  /** The stream has ended, with a reason for people. Called once, last; not after `close`. */
  ended(reason: string): void;
}

/** A stream of a controller with a worker. */
export interface WorkerCall {
  write(message: ControllerMessage): void;
  /** Breaks off without notifying the worker. */
  cancel(reason: string): void;
  /** Takes leave of the worker, and waits briefly until it has hung up. */
  close(): Promise<void>;
}

export type CallWorker = (settings: WorkerCallSettings, events: WorkerCallEvents) => WorkerCall;

const BYE_TIMEOUT_MS = 1000;

/** Calls workers from this thread, and relays tensors that they keep. */
export function callsFrom({ time, network }: { readonly time: Time; readonly network: Network }): CallWorker {
  const relay = new TensorRelay();
  return ({ address, token, tls, controller, maxMessageBytes }, events) => {
    const stream = relay.open({ write: (message) => call.write(message), receive: events.receive });
    const call = new StreamCall<ControllerMessage, WorkerMessage>({
      ...{ time, network, address, tls, maxMessageBytes, peer: 'worker' },
      method: WORKER_SERVICE.Drive,
      headers: helloToHeaders({ token, controller, maxMessageBytes }),
      decode: (bytes) => WORKER_MESSAGES.decode(bytes),
      receive: (message) => stream.receive(withOwnOutputs(message)),
      ended: (reason) => {
        stream.ended();
        events.ended(reason);
      },
    });
    return {
      write: (message) => stream.write(message),
      cancel: (reason) => call.cancel(reason),
      close: () => {
        stream.ended();
        return call.close({ body: 'bye' }, BYE_TIMEOUT_MS);
      },
    };
  };
}

/** Decoded tensors are parts of their message, and would keep all of it. */
function withOwnOutputs(message: WorkerMessage): WorkerMessage {
  if (message.body !== 'results' && message.body !== 'fetched') return message;
  const results = message.results.map((result) => ({
    ...result,
    outputs: result.outputs.map((output) => new Uint8Array(output)),
  }));
  return { ...message, results } as WorkerMessage;
}
