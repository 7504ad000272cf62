import { Server, ServerCredentials, status } from '@grpc/grpc-js';
import { checkIdentity, type ServerTls, tokensMatch } from '../../wire/credentials.js';
import { type Hello, helloFromHeaders } from '../../wire/hello.js';
import { DEFAULT_MAX_MESSAGE_BYTES, PROTOCOL_VERSION, WORKER_SERVICE } from '../../wire/protocol.js';
import { RenewableCredentials } from '../../wire/renewable-credentials.js';
import type { Machine } from '../machine.js';
import { GuardedPort } from './guarded-port.js';
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
  /** A controller that says nothing for so long has gone. Default: a second. */
  readonly silenceMs?: number;
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
  /** Connections that come later get this certificate, if it encrypts at all. */
  renew(tls: ServerTls): void;
}

/**
 * Offers a machine to controllers on the network (worker.proto), of which one at a time drives it. Throws `E_LISTEN` when the address
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
    silenceMs = DEFAULT_SILENCE_MS,
    log = () => {},
  } = options;
  const endpoint = new MachineEndpoint(machine);
  const streams = new Set<StreamEndpoint>();
  let closing = false;
  // Decided by the headers: of a call that is refused nothing is read, decompressed or decoded.
  const drive = (call: ControllerCall) => {
    const hello = helloFromHeaders(call.metadata);
    const refusal = closing ? GOING : whyRefused(hello, token);
    if (refusal !== null || hello === null) {
      call.emit('error', refusal);
      return;
    }
    const peer = call.getPeer();
    port.prove(peer);
    const stream = new StreamEndpoint({
      call,
      peer,
      endpoint,
      controller: hello.controller,
      silenceMs,
      bytesRead: () => port.bytesFrom(peer),
      maxMessageBytes,
      controllerMaxMessageBytes: hello.maxMessageBytes,
      log,
      ended: () => {
        streams.delete(stream);
        port.doubt(peer);
      },
    });
    streams.add(stream);
  };
  const server = new Server({
    'grpc.max_receive_message_length': maxMessageBytes,
    'grpc.max_send_message_length': -1,
    'grpc.max_concurrent_streams': MOST_STREAMS,
    'grpc-node.flow_control_window': FLOW_CONTROL_WINDOW_BYTES,
    'grpc.keepalive_time_ms': KEEPALIVE_MS,
    'grpc.keepalive_timeout_ms': KEEPALIVE_TIMEOUT_MS,
  });
  server.addService(WORKER_SERVICE, { Drive: drive });
  const renewable = renewableCredentials(options.tls);
  const connections = server.createConnectionInjector(renewable ?? ServerCredentials.createInsecure());
  const port = new GuardedPort((socket) => connections.injectConnection(socket));
  return {
    port: await port.listen(host, options.port),
    renew: (tls) => renewable?.renew(tls),
    close: async () => {
      closing = true;
      port.stopListening();
      await Promise.all([...streams].map((stream) => stream.drain()));
      await stop(server);
      port.cut();
    },
  };
}

/** Null: no encryption. Throws `E_TLS`. */
function renewableCredentials(tls: ServerTls | undefined): RenewableCredentials | null {
  if (tls === undefined) return null;
  checkIdentity(tls, 'the certificate and key of the worker');
  return new RenewableCredentials(tls);
}

/** A connection that does not answer a ping in time is dead: its controller has gone without a word. */
const KEEPALIVE_MS = 10_000;
const KEEPALIVE_TIMEOUT_MS = 5_000;
const DEFAULT_SILENCE_MS = 1000;
/** On one connection. */
const MOST_STREAMS = 4;
/** See the controller's end. */
const FLOW_CONTROL_WINDOW_BYTES = 1024 * 1024;
/** Time for connections to close by themselves. */
const STOP_TIMEOUT_MS = 500;

interface CallRefusal {
  readonly code: status;
  readonly details: string;
}

const GOING: CallRefusal = { code: status.UNAVAILABLE, details: 'the worker shuts down' };

/** Null: the controller may drive this worker, once its seat is free. */
function whyRefused(hello: Hello | null, token: string): CallRefusal | null {
  const code = status.FAILED_PRECONDITION;
  if (hello === null) return { code, details: 'its headers are not those of a controller' };
  const { version } = hello;
  if (version !== PROTOCOL_VERSION) return { code, details: otherVersion(version) };
  if (token !== '' && !tokensMatch(hello.token, token))
    return {
      code: status.UNAUTHENTICATED,
      details: 'the token is not the one that this worker asks for',
    };
  return null;
}

function otherVersion(version: number): string {
  return `the controller speaks version ${version} of the protocol, this worker ${PROTOCOL_VERSION}: install the same escapement on both`;
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
