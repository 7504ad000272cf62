import { Client, type ClientDuplexStream, type ServiceError } from '@grpc/grpc-js';
import { type ClientTls, clientCredentials } from '../../wire/credentials.js';
import { type Hello, helloToHeaders } from '../../wire/hello.js';
import {
  type ControllerMessage,
  WORKER_MESSAGES,
  WORKER_SERVICE,
  type WorkerMessage,
} from '../../wire/protocol.js';

interface WorkerCallOptions {
  /** HOST:PORT. */
  readonly address: string;
  readonly tls: ClientTls | undefined;
  readonly hello: Omit<Hello, 'version'>;
  readonly receive: (message: WorkerMessage) => void;
  /** The stream has ended, for whatever reason, in words for people. Called once, last. */
  readonly ended: (reason: string) => void;
}

/** The controller's end of one stream, with a connection of its own: a broken one is never used again. */
export class WorkerCall {
  private readonly client: Client;
  private readonly call: ClientDuplexStream<ControllerMessage, Buffer>;
  private over = false;
  private readonly ended: (reason: string) => void;
  private readonly gone: Promise<void>;

  constructor({ address, tls, hello, receive, ended }: WorkerCallOptions) {
    this.ended = ended;
    this.client = new Client(address, clientCredentials(tls), {
      'grpc.max_send_message_length': -1,
      'grpc.max_receive_message_length': hello.maxMessageBytes,
      'grpc-node.flow_control_window': FLOW_CONTROL_WINDOW_BYTES,
      'grpc.use_local_subchannel_pool': 1,
      // Only the controller decides what is sent again, and when.
      'grpc.enable_retries': 0,
      'grpc.service_config_disable_resolution': 1,
      'grpc.enable_http_proxy': 0,
      'grpc.enable_channelz': 0,
    });
    const { path, requestSerialize, responseDeserialize } = WORKER_SERVICE.Drive;
    const call = this.client.makeBidiStreamRequest(
      path,
      requestSerialize,
      responseDeserialize,
      helloToHeaders(hello),
    );
    this.call = call;
    this.gone = new Promise((resolve) => call.once('close', resolve).once('error', () => resolve()));
    call.on('data', (bytes: Buffer) => this.read(bytes, receive));
    call.on('error', ({ details }: ServiceError) => this.finish(inWords(details)));
    call.on('status', ({ details }) => this.finish(details || 'the worker ended the stream'));
  }

  write(message: ControllerMessage): void {
    if (!this.over) this.call.write(message);
  }

  /** Breaks off without a word to the other side. */
  cancel(reason: string): void {
    this.finish(reason);
  }

  /** Says a last word and waits until it was sent and the worker has hung up, for `patienceMs` at most. */
  async close(last: ControllerMessage, patienceMs: number): Promise<void> {
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

  private read(bytes: Buffer, receive: (message: WorkerMessage) => void): void {
    if (this.over) return;
    let message: WorkerMessage;
    try {
      message = WORKER_MESSAGES.decode(bytes);
    } catch (error) {
      this.finish(`a message of the worker ${(error as Error).message}`);
      return;
    }
    receive(message);
  }

  private finish(reason: string): void {
    if (this.over) return;
    this.over = true;
    this.hangUp();
    this.ended(reason);
  }

  private hangUp(): void {
    this.call.cancel();
    this.client.close();
  }
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
