import type { Server, Socket } from 'node:net';

/** The open connections of a listening server, so that none of them can keep it from closing. */
export class Connections {
  private readonly open = new Set<Socket>();

  constructor(server: Server) {
    server.on('connection', (socket) => {
      this.open.add(socket);
      socket.once('close', () => this.open.delete(socket));
    });
  }

  get isAny(): boolean {
    return this.open.size > 0;
  }

  /** Hangs up on clients that have not said a word. */
  destroySilent(): void {
    for (const socket of this.open) if (socket.bytesRead === 0) socket.destroy();
  }

  destroyAll(): void {
    for (const socket of this.open) socket.destroy();
  }
}
