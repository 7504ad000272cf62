import { Server, status } from '@grpc/grpc-js';
import { EscapementError } from '../../../base/errors.js';
import { formatAddress } from '../../wire/address.js';
import { type ServerTls, serverCredentials } from '../../wire/credentials.js';
import { DEFAULT_MAX_MESSAGE_BYTES, WORKER_SERVICE } from '../../wire/protocol.js';
import type { Machine } from '../machine.js';
import { MachineEndpoint } from './machine-endpoint.js';
import { type ControllerCall, StreamEndpoint } from './stream-endpoint.js';

export interface WorkerEndpointOptions {
  /** Address to listen on; absent: only this machine can connect. */
  readonly host?: string;
  /** 0: any that is free. */
  readonly port: number;
  /** What controllers must present; absent: nothing. */
  readonly token?: string;
  /** Absent: no encryption. */
  readonly tls?: ServerTls;
  /** Largest message that is taken from a controller. */
  readonly maxMessageBytes?: number;
  /** Takes lines for the operator: who drives the worker, and why not any more. */
  readonly log?: (line: string) => void;
}

export interface WorkerEndpoint {
  /** The port that it listens on. */
  readonly port: number;
  /**
   * Drains and stops listening: what runs is finished and reported, what has not started is dropped, the controller
   * is notified. The machine stays its owner's to close.
   */
  close(): Promise<void>;
}

/**
 * Offers a machine to a controller on the network (worker.proto), one at a time. Throws `E_LISTEN` when the address
 * cannot be listened on and `E_TLS` for an unusable certificate.
 */
export async function serveMachine(
  machine: Machine,
  options: WorkerEndpointOptions,
): Promise<WorkerEndpoint> {
  const {
    host = '127.0.0.1',
    token = '',
    maxMessageBytes = DEFAULT_MAX_MESSAGE_BYTES,
    log = () => {},
  } = options;
  const endpoint = new MachineEndpoint(machine);
  const streams = new Set<StreamEndpoint>();
  let closing = false;
  const drive = (call: ControllerCall) => {
    const stream = new StreamEndpoint({
      call,
      endpoint,
      token,
      maxMessageBytes,
      log,
      ended: () => streams.delete(stream),
    });
    streams.add(stream);
    if (closing) stream.end(status.UNAVAILABLE, 'the worker shuts down');
  };
  const server = new Server({
    'grpc.max_receive_message_length': maxMessageBytes,
    'grpc.max_send_message_length': -1,
    'grpc-node.flow_control_window': FLOW_CONTROL_WINDOW_BYTES,
    'grpc.keepalive_time_ms': KEEPALIVE_MS,
    'grpc.keepalive_timeout_ms': KEEPALIVE_TIMEOUT_MS,
    'grpc.max_connection_idle_ms': IDLE_CONNECTION_MS,
  });
  server.addService(WORKER_SERVICE, { Drive: drive });
  const port = await listen(server, host, options);
  return {
    port,
    close: async () => {
      closing = true;
      await Promise.all([...streams].map((stream) => stream.drain()));
      await stop(server);
    },
  };
}

/** A connection that does not answer a ping in time is dead: its controller has gone without a word. */
const KEEPALIVE_MS = 10_000;
const KEEPALIVE_TIMEOUT_MS = 5_000;
/** A connection without a stream is of no use. */
const IDLE_CONNECTION_MS = 60_000;
/** See the controller's end. */
const FLOW_CONTROL_WINDOW_BYTES = 1024 * 1024;
/** Time for connections to close by themselves. */
const STOP_TIMEOUT_MS = 500;

function listen(server: Server, host: string, { port, tls }: WorkerEndpointOptions): Promise<number> {
  const credentials = serverCredentials(tls);
  return new Promise((resolve, reject) => {
    server.bindAsync(formatAddress(host, port), credentials, (error, bound) => {
      if (error === null) resolve(bound);
      else
        reject(
          new EscapementError('E_LISTEN', `cannot listen on ${formatAddress(host, port)}: ${error.message}`),
        );
    });
  });
}

/** Does not wait for ever: a peer that neither reads nor hangs up would keep the server open. */
function stop(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const force = setTimeout(() => {
      server.forceShutdown();
      resolve();
    }, STOP_TIMEOUT_MS);
    server.tryShutdown(() => {
      clearTimeout(force);
      resolve();
    });
  });
}
