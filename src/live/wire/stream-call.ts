import {
  Client,
  type ClientDuplexStream,
  type Metadata,
  type MethodDefinition,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import { type ClientTls, clientCredentials } from './credentials.js';

interface StreamCallOptions<Sent, Received> {
  /** HOST:PORT. */
  readonly address: string;
  readonly tls: ClientTls | undefined;
  /** Whom the certificate is to be for; absent: the host of the address. */
  readonly serverName?: string | undefined;
  /** Of who is called, for people. */
  readonly peer: 'worker' | 'controller';
  /** What to say where something else listens at the address. Default: what the library says. */
  readonly foreign?: string;
  /** Both its directions are streams. */
  readonly method: Pick<MethodDefinition<Sent, unknown>, 'path' | 'requestSerialize'>;
  readonly headers: Metadata;
  readonly maxMessageBytes: number;
  /** Throws `Error` whose message follows "a message of the worker". */
  readonly decode: (bytes: Buffer) => Received;
  readonly receive: (message: Received) => void;
  /** The stream has ended, for whatever reason, in words for people. Called once, last. */
  readonly ended: (reason: string) => void;
}

/** The calling end of one stream, with a connection of its own: a broken one is never used again. */
export class StreamCall<Sent, Received> {
  private readonly client: Client;
  private readonly call: ClientDuplexStream<Sent, Buffer>;
  private over = false;
  private readonly gone: Promise<void>;

  constructor(private readonly options: StreamCallOptions<Sent, Received>) {
    const { address, tls, serverName, peer, foreign, method, headers, maxMessageBytes } = options;
    this.client = new Client(address, clientCredentials(tls, peer), {
      ...(serverName === undefined ? {} : { 'grpc.ssl_target_name_override': serverName }),
      'grpc.max_send_message_length': -1,
      'grpc.max_receive_message_length': maxMessageBytes,
      'grpc-node.flow_control_window': FLOW_CONTROL_WINDOW_BYTES,
      'grpc.use_local_subchannel_pool': 1,
      // Only the caller decides what is sent again, and when.
      'grpc.enable_retries': 0,
      'grpc.service_config_disable_resolution': 1,
      'grpc.enable_http_proxy': 0,
      'grpc.enable_channelz': 0,
    });
    const bytes = (received: Buffer) => received;
    this.call = this.client.makeBidiStreamRequest(method.path, method.requestSerialize, bytes, headers);
    const { call } = this;
    this.gone = new Promise((resolve) => call.once('close', resolve).once('error', () => resolve()));
    call.on('data', (received: Buffer) => this.read(received));
    call.on('error', ({ code, details }: ServiceError) =>
      this.finish(isForeign(code, details) ? (foreign ?? inWords(details)) : inWords(details)),
    );
    call.on('status', ({ details }) => this.finish(details || `the ${peer} ended the stream`));
  }

  write(message: Sent): void {
    if (!this.over) this.call.write(message);
  }

  /** Breaks off without a word to the other side. */
  cancel(reason: string): void {
    this.finish(reason);
  }

  /** Says a last word and waits until it was sent and the peer has hung up, for `patienceMs` at most. */
  async close(last: Sent, patienceMs: number): Promise<void> {
    if (this.over) return;
    this.over = true;
    this.call.end(last);
    let timer: NodeJS.Timeout | undefined;
    const impatient = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, patienceMs);
    });
    await Promise.race([this.gone, impatient]);
    clearTimeout(timer);
    this.hangUp();
  }

  private read(bytes: Buffer): void {
    if (this.over) return;
    const { decode, receive, peer } = this.options;
    let message: Received;
    try {
      message = decode(bytes);
    } catch (error) {
      this.finish(`a message of the ${peer} ${(error as Error).message}`);
      return;
    }
    receive(message);
  }

  private finish(reason: string): void {
    if (this.over) return;
    this.over = true;
    this.hangUp();
    this.options.ended(reason);
  }

  private hangUp(): void {
    this.call.cancel();
    this.client.close();
  }
}

/** Something else than our service has answered: another one that speaks gRPC, or one that does not. */
function isForeign(code: status, details: string): boolean {
  return code === status.UNIMPLEMENTED || /Protocol error/.test(details);
}

/** What the library says, without what only its authors need. */
function inWords(details: string): string {
  return (
    details
      .replace(/\. Resolution note: $/, '')
      // When it was would make each one new to who counts repeats.
      .replace(/ \(\d{4}-\d\d-\d\dT[^)]*\)/, '')
      .replace(/^No connection established\. Last error: (Error: )?/, 'cannot be reached: ')
  );
}

/** So much is on its way before the other side has to say that it reads: more than a message of a usual batch. */
const FLOW_CONTROL_WINDOW_BYTES = 1024 * 1024;
