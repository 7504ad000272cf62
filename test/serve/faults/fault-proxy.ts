import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { stream } from '../../../src/base/random/streams.js';

type Direction = 'to worker' | 'to controller';

/** What a link does to the bytes that go through it. */
interface Weather {
  /** They arrive so much later. */
  delayMs: number;
  /** And up to that much more, by chance. */
  jitterMs: number;
  /** No more than so many arrive in a second; 0: any number. */
  bytesPerSecond: number;
  /** They vanish. */
  hole: Direction | 'both' | null;
  /** What a new connection meets: the worker, the end, silence, or a server of another kind. */
  greeting: 'worker' | 'end' | 'silence' | 'stranger';
  /** One in so many chunks has a flipped bit; 0: none. */
  corruptEvery: number;
}

/** Of a slow link. */
const PIECES_PER_SECOND = 100;

const FAIR: Weather = {
  delayMs: 0,
  jitterMs: 0,
  bytesPerSecond: 0,
  hole: null,
  greeting: 'worker',
  corruptEvery: 0,
};

/** A link between a controller and a worker that goes bad on command. */
export class FaultProxy {
  readonly weather: Weather = { ...FAIR };
  port = 0;
  /** Bits flipped so far. */
  harmed = 0;
  /** Connections so far. */
  connections = 0;
  private readonly sockets = new Set<Socket>();
  private server: Server;
  private chunks = 0;
  private readonly jitter = stream(1, 'jitter');

  constructor(
    /** The worker's port, which may change. */
    public target: number,
  ) {
    this.server = this.newServer();
    onTestFinished(() => this.close());
  }

  async listen(): Promise<this> {
    await new Promise<void>((resolve) => this.server.listen(this.port, '127.0.0.1', resolve));
    this.port = (this.server.address() as AddressInfo).port;
    return this;
  }

  /** Breaks all connections; `how` they end: properly, or with a reset. */
  cut(how: 'end' | 'reset' = 'end'): void {
    for (const socket of this.sockets) {
      if (how === 'end') socket.destroy();
      else socket.resetAndDestroy();
    }
  }

  clear(): void {
    Object.assign(this.weather, FAIR);
  }

  /** New connections are refused until the returned function is called. */
  async refuse(): Promise<() => Promise<void>> {
    const closed = new Promise((resolve) => this.server.close(resolve));
    this.cut();
    await closed;
    return async () => {
      this.server = this.newServer();
      await this.listen();
    };
  }

  private newServer(): Server {
    return createServer((near) => this.admit(near));
  }

  private admit(near: Socket): void {
    this.connections++;
    const { greeting } = this.weather;
    this.sockets.add(near);
    near.on('error', () => {});
    near.on('close', () => this.sockets.delete(near));
    if (greeting === 'end') near.destroy();
    if (greeting === 'stranger') near.end('HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n');
    if (greeting !== 'worker') return;
    const far = connect(this.target, '127.0.0.1');
    this.sockets.add(far);
    far.on('error', () => {});
    far.on('close', () => this.sockets.delete(far));
    this.join(near, far, 'to worker');
    this.join(far, near, 'to controller');
  }

  private join(from: Socket, to: Socket, direction: Direction): void {
    from.setNoDelay(true);
    // What comes later never overtakes: timers may.
    const queue: Buffer[] = [];
    const deliver = () => {
      const next = queue.shift();
      if (next !== undefined && !to.destroyed) to.write(next);
    };
    let dueMs = 0;
    from.on('data', (chunk: Buffer) => {
      const { delayMs, jitterMs, bytesPerSecond, hole } = this.weather;
      const bytes = this.harm(chunk);
      if (hole === 'both' || hole === direction) return;
      const nowMs = performance.now();
      dueMs = Math.max(dueMs, nowMs + delayMs + jitterMs * this.jitter());
      const pieceBytes =
        bytesPerSecond === 0 ? bytes.length : Math.max(1, bytesPerSecond / PIECES_PER_SECOND);
      for (let at = 0; at < bytes.length; at += pieceBytes) {
        const piece = bytes.subarray(at, at + pieceBytes);
        if (bytesPerSecond > 0) dueMs += (1000 * piece.length) / bytesPerSecond;
        queue.push(piece);
        if (dueMs <= nowMs && queue.length === 1) deliver();
        else setTimeout(deliver, Math.ceil(dueMs - nowMs));
      }
    });
    from.on('close', () => to.destroy());
  }

  private harm(chunk: Buffer): Buffer {
    const { corruptEvery } = this.weather;
    const bytes = Buffer.from(chunk);
    this.chunks++;
    if (corruptEvery > 0 && this.chunks % corruptEvery === 0) {
      bytes[(this.chunks * 7919) % bytes.length] ^= 1 << (this.chunks % 8);
      this.harmed++;
    }
    return bytes;
  }

  private close(): void {
    this.cut();
    this.server.close();
  }
}
