import { status } from '@grpc/grpc-js';
import { REAL_TIME } from '../../../base/world/real-time.js';
import type { Time, Timer } from '../../../base/world/time.js';
import { checkAddress, formatAddress } from '../../wire/address.js';
import type { ServerTls } from '../../wire/credentials.js';
import { type Numbered, Numbering } from '../../wire/framing.js';
import { accessFromHeaders, type CallError, callErrorOf } from '../../wire/hello.js';
import type { ServedPort } from '../../wire/listener.js';
import type { AcceptedStream, Network } from '../../wire/network.js';
import {
  MAX_REGISTRATION_BYTES,
  REGISTRATION_MESSAGES,
  REGISTRATION_SERVICE,
  type RegistrationMessage,
  type WireLease,
  type WireRegistration,
} from '../../wire/protocol.js';
import { REAL_NETWORK } from '../../wire/real-network.js';
import type { Registration } from '../fleet-worker.js';
import type { Registrations } from './registrations.js';

interface RegistrationEndpointOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Token that workers must present; absent: none. */
  readonly token?: string | undefined;
  /** Absent: no encryption. */
  readonly tls?: ServerTls | undefined;
  /** Default: this machine's. */
  readonly time?: Time;
  readonly network?: Network;
}

type WorkerCall = AcceptedStream<Numbered<WireLease>>;

/** Concurrent connections: one per worker. */
const MOST_CONNECTIONS = 1088;
/** Messages of one worker, which normally sends one in that time. */
const MOST_PER_SECOND = 20;
/** Seconds of silence after which a stream ends. */
const MOST_SILENT_S = 5;

/** Port at which workers register. Throws `E_LISTEN` and `E_TLS`. */
export async function openRegistration(
  registrations: Registrations,
  { host, port, token = '', tls, time = REAL_TIME, network = REAL_NETWORK }: RegistrationEndpointOptions,
): Promise<ServedPort> {
  const server = network.server({
    tls,
    whose: 'the controller',
    maxMessageBytes: MAX_REGISTRATION_BYTES,
    mostConnections: MOST_CONNECTIONS,
  });
  const streams = new Set<RegistrationStream>();
  // Decided by the headers: the body of a refused call is not read, decompressed or decoded.
  const register = (call: WorkerCall) => {
    const error = callErrorOf(accessFromHeaders(call.metadata), token, 'worker', 'controller');
    const peer = call.getPeer();
    if (error !== null) {
      const why = error.code === status.UNAUTHENTICATED ? 'token' : 'protocol';
      registrations.turnAway(why, hostOf(peer), error.details);
      call.emit('error', error);
      return;
    }
    server.prove(peer);
    const stream = new RegistrationStream(
      call,
      hostOf(peer),
      registrations,
      () => {
        streams.delete(stream);
        server.doubt(peer);
      },
      time,
    );
    streams.add(stream);
  };
  server.addService(REGISTRATION_SERVICE, { Register: register });
  return {
    port: await server.listen(host, port),
    renew: (identity) => server.renew(identity),
    close: async () => {
      server.stopListening();
      for (const stream of [...streams]) stream.end(GOING);
      await server.close();
    },
  };
}

const GOING: CallError = { code: status.UNAVAILABLE, details: 'the controller shuts down' };

/** The controller's end of a worker's registration. */
class RegistrationStream {
  private registration: Registration | null = null;
  private isOver = false;
  private readonly sent = new Numbering();
  private readonly received = new Numbering();
  /** Number of messages since the timer last fired, and of seconds without one. */
  private messages = 0;
  private silentS = 0;
  private readonly timer: Timer;

  constructor(
    private readonly call: WorkerCall,
    private readonly host: string,
    private readonly registrations: Registrations,
    private readonly ended: () => void,
    time: Time,
  ) {
    this.timer = time.every(1000, () => this.tick());
    call.on('data', (bytes) => this.read(bytes));
    // Without a handler, an error of the stream would end the process.
    call.on('error', () => this.finish());
    call.on('cancelled', () => this.finish());
    call.on('end', () => {
      this.finish();
      call.end();
    });
  }

  end(error: CallError): void {
    if (this.isOver) return;
    this.finish();
    this.call.emit('error', error);
  }

  private tick(): void {
    this.silentS = this.messages === 0 ? this.silentS + 1 : 0;
    this.messages = 0;
    if (this.silentS < MOST_SILENT_S) return;
    const details = `the worker has said nothing for ${MOST_SILENT_S} s`;
    this.end({ code: status.ABORTED, details });
  }

  private read(bytes: Buffer): void {
    if (this.isOver) return;
    if (++this.messages > MOST_PER_SECOND) {
      this.end({ code: status.RESOURCE_EXHAUSTED, details: 'the worker registers too often' });
      return;
    }
    let message: RegistrationMessage;
    try {
      message = this.received.check(REGISTRATION_MESSAGES.decode(bytes));
    } catch (error) {
      this.end({ code: status.DATA_LOSS, details: `a message of the worker ${(error as Error).message}` });
      return;
    }
    if (message.body === 'register') this.register(message);
    else this.leave();
  }

  private register(given: WireRegistration): void {
    const registration = this.registrationOf(given);
    const isAnother = this.registration !== null && registration?.address !== this.registration.address;
    if (registration === null || isAnother) {
      const details = 'the worker gives no address at which it serves, or a different one than before';
      this.end({ code: status.INVALID_ARGUMENT, details });
      return;
    }
    this.registration = registration;
    const lease = this.registrations.renew(registration);
    this.call.write(this.sent.number(lease));
  }

  private leave(): void {
    if (this.registration !== null) this.registrations.leave(this.registration);
    this.finish();
    this.call.end();
  }

  /** Null: invalid. */
  private registrationOf({ address, port, instance }: WireRegistration): Registration | null {
    const { host } = this;
    try {
      return { address: checkAddress(address === '' ? formatAddress(host, port) : address), instance, host };
    } catch {
      return null;
    }
  }

  private finish(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.timer.cancel();
    this.ended();
  }
}

/** Host of `HOST:PORT` as sockets name it; IPv4 addresses without their IPv6 prefix. */
function hostOf(peer: string): string {
  const host = peer.slice(0, peer.lastIndexOf(':')).replace(/^\[(.*)\]$/, '$1');
  return host.replace(/^::ffff:(?=\d+\.)/i, '');
}
