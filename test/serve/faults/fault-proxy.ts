import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** What a link does to the bytes that go through it. */
interface Weather {
  /** They arrive so much later. */
  delayMs: number;
  /** They vanish. */
  hole: boolean;
  /** One in so many chunks has a flipped bit; 0: none. */
  corruptEvery: number;
}

/** A link between a controller and a worker that goes bad on command. */
export class FaultProxy {
  readonly weather: Weather = { delayMs: 0, hole: false, corruptEvery: 0 };
  port = 0;
  /** Bits flipped so far. */
  flipped = 0;
  private readonly sockets = new Set<Socket>();
  private readonly server: Server;
  private chunks = 0;

  constructor(target: number) {
    this.server = createServer((near) => {
      const far = connect(target, '127.0.0.1');
      for (const [from, to] of [
        [near, far],
        [far, near],
      ]) {
        this.sockets.add(from);
        from.on('error', () => {});
        from.on('data', (chunk: Buffer) => this.pass(chunk, to));
        from.on('close', () => {
          this.sockets.delete(from);
          to.destroy();
        });
      }
    });
    onTestFinished(() => this.close());
  }

  async listen(): Promise<this> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    this.port = (this.server.address() as AddressInfo).port;
    return this;
  }

  /** Breaks all connections. */
  cut(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  clear(): void {
    Object.assign(this.weather, { delayMs: 0, hole: false, corruptEvery: 0 });
  }

  private pass(chunk: Buffer, to: Socket): void {
    const { delayMs, hole, corruptEvery } = this.weather;
    if (hole) return;
    this.chunks++;
    if (corruptEvery > 0 && this.chunks % corruptEvery === 0) {
      const at = (this.chunks * 7919) % chunk.length;
      chunk[at] ^= 1 << (this.chunks % 8);
      this.flipped++;
    }
    if (delayMs === 0) to.write(chunk);
    else setTimeout(() => to.destroyed || to.write(chunk), delayMs);
  }

  private close(): void {
    this.cut();
    this.server.close();
  }
}
