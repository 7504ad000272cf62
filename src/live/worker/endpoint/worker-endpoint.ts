import { status } from '@grpc/grpc-js';
import { invariant } from '../../../base/invariant.js';
import { REAL_TIME } from '../../../base/world/real-time.js';
import type { Time } from '../../../base/world/time.js';
import type { ServerTls } from '../../wire/credentials.js';
import { type CallError, callErrorOf, helloFromHeaders } from '../../wire/hello.js';
import type { ServedPort } from '../../wire/listener.js';
import type { Network } from '../../wire/network.js';
import { DEFAULT_MAX_MESSAGE_BYTES, WORKER_SERVICE, WORKER_SHUTS_DOWN } from '../../wire/protocol.js';
import { REAL_NETWORK } from '../../wire/real-network.js';
import type { Machine } from '../machine.js';
import type { KeptMemory } from './kept-tensors.js';
import { type ControllerCall, MachineEndpoint, StreamEndpoint } from './machine-endpoint.js';

export interface WorkerEndpointOptions {
  /** Address to listen on; absent: only this machine can connect. */
  readonly host?: string;
  /** 0: any free port. */
  readonly port: number;
  /** Name of this process for controllers that it registers with. Default: none. */
  readonly instance?: string;
  /** Token that controllers must present; absent: none. */
  readonly token?: string;
  /** Absent: no encryption. */
  readonly tls?: ServerTls;
  /** Largest message accepted from a controller. */
  readonly maxMessageBytes?: number;
  /** Memory for tensors between the steps of pipelines. Default: none. */
  readonly keptMemory?: KeptMemory;
  /** Silence after which a controller is considered gone. Default: a second. */
  readonly silenceMs?: number;
  /** Receives lines for the operator: who drives the worker, and why no longer. */
  readonly log?: (line: string) => void;
  /** Default: this machine's. */
  readonly time?: Time;
  readonly network?: Network;
}

/**
 * Offers a machine to controllers on the network, one of which at a time drives it. Throws `E_LISTEN` if
 * the address cannot be listened on and `E_TLS` for an unusable certificate. `close` drains: running actions are finished
 * and reported, others are dropped, the controller is notified. Closing the machine is left to its owner.
 */
export async function serveMachine(machine: Machine, options: WorkerEndpointOptions): Promise<ServedPort> {
  const {
    host = '127.0.0.1',
    instance = '',
    token = '',
    maxMessageBytes = DEFAULT_MAX_MESSAGE_BYTES,
    keptMemory = { mostBytes: 0, usedBytes: 0, totalBytes: 0 },
    silenceMs = DEFAULT_SILENCE_MS,
    log = () => {},
    time = REAL_TIME,
    network = REAL_NETWORK,
  } = options;
  const endpoint = new MachineEndpoint(machine);
  const streams = new Set<StreamEndpoint>();
  let closing = false;
  const server = network.server({
    tls: options.tls,
    whose: 'the worker',
    maxMessageBytes,
    mostConnections: MOST_CONNECTIONS,
  });
  // Decided by the headers: the body of a refused call is not read, decompressed or decoded.
  const drive = (call: ControllerCall) => {
    const hello = helloFromHeaders(call.metadata);
    const error = closing ? GOING : callErrorOf(hello, token, 'controller', 'worker');
    if (error !== null) {
      call.emit('error', error);
      return;
    }
    invariant(hello !== null, 'without the headers of a controller it is refused');
    const peer = call.getPeer();
    server.prove(peer);
    const stream = new StreamEndpoint({
      call,
      time,
      peer,
      endpoint,
      instance,
      controller: hello.controller,
      silenceMs,
      bytesRead: () => server.bytesFrom(peer),
      maxMessageBytes,
      controllerMaxMessageBytes: hello.maxMessageBytes,
      keptMemory,
      log,
      ended: () => {
        streams.delete(stream);
        server.doubt(peer);
      },
    });
    streams.add(stream);
  };
  server.addService(WORKER_SERVICE, { Drive: drive });
  return {
    port: await server.listen(host, options.port),
    renew: (tls) => server.renew(tls),
    close: async () => {
      closing = true;
      server.stopListening();
      await Promise.all([...streams].map((stream) => stream.drain()));
      await server.close();
    },
  };
}

const DEFAULT_SILENCE_MS = 1000;
/** Concurrent connections: each controller needs one, and for a moment two. */
const MOST_CONNECTIONS = 64;

const GOING: CallError = { code: status.UNAVAILABLE, details: WORKER_SHUTS_DOWN };
