import { Server, status } from '@grpc/grpc-js';
import { EscapementError } from '../../core/errors.js';
import type { Machine } from '../machine/machine.js';
import { formatAddress } from './address.js';
import { type ControllerCall, ControllerSession } from './controller-session.js';
import { type ServerTls, serverCredentials } from './credentials.js';
import { DriverSeat } from './driver-seat.js';
import { DEFAULT_MAX_MESSAGE_BYTES, WORKER_SERVICE } from './protocol.js';

export interface WorkerServerOptions {
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

export interface WorkerServer {
  /** The port that it listens on. */
  readonly port: number;
  /**
   * Drains and stops listening: what runs is finished and reported, what has not started is dropped, the controller
   * is told. The machine stays its owner's to close.
   */
  close(): Promise<void>;
}

/**
 * Offers a machine to a controller on the network (worker.proto), one at a time. Throws `E_LISTEN` when the address
 * cannot be listened on and `E_TLS` for an unusable certificate.
 */
export async function serveMachine(machine: Machine, options: WorkerServerOptions): Promise<WorkerServer> {
  const {
    host = '127.0.0.1',
    token = '',
    maxMessageBytes = DEFAULT_MAX_MESSAGE_BYTES,
    log = () => {},
  } = options;
  const seat = new DriverSeat(machine);
  const sessions = new Set<ControllerSession>();
  let closing = false;
  const drive = (call: ControllerCall) => {
    const session = new ControllerSession({
      call,
      seat,
      token,
      maxMessageBytes,
      log,
      ended: () => sessions.delete(session),
    });
    sessions.add(session);
    if (closing) session.end(status.UNAVAILABLE, 'the worker shuts down');
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
      await Promise.all([...sessions].map((session) => session.drain()));
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

function listen(server: Server, host: string, { port, tls }: WorkerServerOptions): Promise<number> {
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
