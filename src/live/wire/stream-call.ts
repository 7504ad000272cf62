import { status } from '@grpc/grpc-js';
import { NS_PER_MS } from '../../base/units.js';
import { REAL_TIME } from '../../base/world/real-time.js';
import type { Time } from '../../base/world/time.js';
import { within } from '../within.js';
import { type Numbered, Numbering } from './framing.js';
import type { Dialed, DialOptions, Network } from './network.js';
import { REAL_NETWORK } from './real-network.js';

interface StreamCallOptions<Sent, Received> extends DialOptions<Numbered<Sent>> {
  /** Text if something else listens at the address. Default: the library's. */
  readonly foreign?: string;
  /** Throws `Error` with words that follow "a message of the worker". */
  readonly decode: (bytes: Buffer) => Numbered<Received>;
  readonly receive: (message: Received) => void;
  /** The stream has ended, with a reason for people. Called once, last. */
  readonly ended: (reason: string) => void;
  /** Default: this machine's. */
  readonly time?: Time;
  readonly network?: Network;
}

/** The calling end of one stream, with a connection of its own: a broken one is never reused. */
export class StreamCall<Sent, Received> {
  private readonly time: Time;
  private readonly dialed: Dialed<Numbered<Sent>>;
  private readonly sent = new Numbering();
  private readonly received = new Numbering();
  private over = false;
  private readonly gone: Promise<void>;

  constructor(private readonly options: StreamCallOptions<Sent, Received>) {
    const { peer, foreign, time = REAL_TIME, network = REAL_NETWORK } = options;
    this.time = time;
    this.dialed = network.dial(options);
    const { stream } = this.dialed;
    this.gone = new Promise((resolve) => {
      stream.once('close', resolve);
      stream.on('error', () => resolve());
    });
    stream.on('data', (received) => this.read(received));
    stream.on('error', ({ code, details }) =>
      this.finish(isForeign(code, details) ? (foreign ?? inWords(details)) : inWords(details)),
    );
    stream.on('status', ({ details }) => this.finish(details || `the ${peer} ended the stream`));
  }

  write(message: Sent): void {
    if (!this.over) this.dialed.stream.write(this.sent.number(message));
  }

  /** Breaks off without notifying the other side. */
  cancel(reason: string): void {
    this.finish(reason);
  }

  /** Sends a last message and waits, for at most `timeoutMs`, until it was sent and the peer has hung up. */
  async close(last: Sent, timeoutMs: number): Promise<void> {
    if (this.over) return;
    this.over = true;
    this.dialed.stream.end(this.sent.number(last));
    await within(this.time, this.gone, timeoutMs * NS_PER_MS);
    this.dialed.hangUp();
  }

  private read(bytes: Buffer): void {
    if (this.over) return;
    const { decode, receive, peer } = this.options;
    let message: Received;
    try {
      message = this.received.check(decode(bytes));
    } catch (error) {
      this.finish(`a message of the ${peer} ${(error as Error).message}`);
      return;
    }
    receive(message);
  }

  private finish(reason: string): void {
    if (this.over) return;
    this.over = true;
    this.dialed.hangUp();
    this.options.ended(reason);
  }
}

/** True if a service other than ours has answered, with or without gRPC. */
function isForeign(code: status, details: string): boolean {
  return code === status.UNIMPLEMENTED || /Protocol error/.test(details);
}

/** The library's message, without details for its authors. */
function inWords(details: string): string {
  return (
    details
      .replace(/\. Resolution note: $/, '')
      // The time would make each one look new to the count of repeats.
      .replace(/ \(\d{4}-\d\d-\d\dT[^)]*\)/, '')
      .replace(/^No connection established\. Last error: (Error: )?/, 'cannot be reached: ')
  );
}
