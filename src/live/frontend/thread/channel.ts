import { EscapementError } from '../../../base/errors.js';
import { ServiceError } from '../../service.js';
import type { ThreadPort } from '../../world/threads.js';

// biome-ignore lint/suspicious/noExplicitAny: methods of every signature
type Methods = Record<string, (...args: any[]) => unknown>;

/** A call: `id` 0 wants no reply. Or the reply to one: no method, its value, and its error if it failed. */
type Message =
  | readonly [id: number, method: string, args: readonly unknown[]]
  | readonly [id: number, method: null, value: unknown, failure?: Failure];

/** An error on its way between threads, which takes its class from it. */
interface Failure {
  readonly name: string;
  readonly kind: never;
  readonly message: string;
}

interface Waiting {
  resolve(value: never): void;
  reject(error: Error): void;
}

/** Methods of one thread that another calls, both ways. */
export class Channel<Peer extends object> {
  private readonly waiting = new Map<number, Waiting>();
  private last = 0;

  /** `own`: what the peer may call. */
  constructor(
    private readonly port: ThreadPort,
    private readonly own: object,
  ) {
    port.on('message', (message: Message) => this.receive(message));
  }

  /** Calls a method that returns nothing. Throws what makes the arguments impossible to send. */
  send<M extends keyof Peer & string>(
    method: M,
    args: Peer[M] extends (...args: infer Args) => unknown ? Args : never,
    transfer: readonly ArrayBuffer[] = [],
  ): void {
    this.port.postMessage([0, method, args] satisfies Message, transfer);
  }

  /** Calls a method; rejects with its error, or with that of `end`. */
  call<M extends keyof Peer & string>(
    method: M,
    ...args: Peer[M] extends (...args: infer Args) => unknown ? Args : never
  ): Promise<Peer[M] extends (...args: never[]) => infer Result ? Awaited<Result> : never> {
    return new Promise((resolve, reject) => {
      this.waiting.set(++this.last, { resolve, reject });
      this.port.postMessage([this.last, method, args] satisfies Message);
    });
  }

  /** The peer has gone: what waits for its replies gets this error. */
  end(error: Error): void {
    for (const { reject } of this.waiting.values()) reject(error);
    this.waiting.clear();
  }

  private receive(message: Message): void {
    const [id, method] = message;
    if (method === null) this.settle(message);
    else if (id === 0) (this.own as Methods)[method](...message[2]);
    else void this.answer(id, () => (this.own as Methods)[method](...message[2]));
  }

  private async answer(id: number, act: () => unknown): Promise<void> {
    let reply: Message;
    try {
      reply = [id, null, await act()];
    } catch (error) {
      const { name, message } = error as Error;
      const kind = error instanceof ServiceError ? error.kind : (error as EscapementError).code;
      reply = [id, null, undefined, { name, kind: kind as never, message }];
    }
    this.port.postMessage(reply);
  }

  private settle([id, , value, failure]: Message): void {
    const waiting = this.waiting.get(id);
    this.waiting.delete(id);
    if (failure === undefined) waiting?.resolve(value as never);
    else waiting?.reject(errorOf(failure));
  }
}

function errorOf({ name, kind, message }: Failure): Error {
  if (name === 'ServiceError') return new ServiceError(kind, message);
  return name === 'EscapementError' ? new EscapementError(kind, message) : new Error(message);
}
