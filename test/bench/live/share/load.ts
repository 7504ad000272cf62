import { connect, type Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { monotonicNs } from '../../../../src/base/clock/clock.js';
import { NS_PER_MS, NS_PER_S } from '../../../../src/base/units.js';
import { httpRequest } from '../throughput/http-request.js';

/** Plain data: it goes to a process of its own. */
export interface PacedLoad {
  readonly port: number;
  readonly rate: number;
  readonly requests: number;
}

/** By request, on the monotonic clock that all processes share: when it was written and when its answer was read. */
export interface PacedTimes {
  readonly writtenNs: readonly number[];
  readonly readNs: readonly number[];
}

/** SLO of request 0. That of each one after it is 1 ns longer: by that a server knows which one it is. */
export const FIRST_SLO_NS = 20 * NS_PER_S;

const CONNECTIONS = 128;

/** Sends requests at a steady rate, each on a connection that waits for no answer. */
export async function runPaced({ port, rate, requests }: PacedLoad): Promise<PacedTimes> {
  const writtenNs = new Array<number>(requests).fill(0);
  const readNs = new Array<number>(requests).fill(0);
  const idle = Array.from({ length: CONNECTIONS }, () => new Connection(port));
  let answered = 0;
  let failure: Error | null = null;
  const began = monotonicNs();
  for (let next = 0; answered < requests; ) {
    if (failure !== null) throw failure;
    const due = Math.min(requests, Math.floor(((monotonicNs() - began) * rate) / NS_PER_S));
    while (next < due && idle.length > 0) {
      const connection = idle.pop() as Connection;
      const request = next++;
      writtenNs[request] = monotonicNs();
      connection.ask(request, (isGood) => {
        readNs[request] = monotonicNs();
        if (!isGood) failure = new Error('an answer is none of the model');
        answered++;
        idle.push(connection);
      });
    }
    await setTimeout(1);
  }
  for (const connection of idle) connection.close();
  return { writtenNs, readNs };
}

class Connection {
  private readonly socket: Socket;
  private answered: (isGood: boolean) => void = () => {};

  constructor(port: number) {
    this.socket = connect({ port, host: '127.0.0.1', noDelay: true });
    // An answer is small enough to come in one piece.
    this.socket.on('data', (bytes) => this.answered(bytes.toString('latin1', 0, 13) === 'HTTP/1.1 200 '));
    this.socket.on('error', () => this.answered(false));
  }

  ask(request: number, answered: (isGood: boolean) => void): void {
    this.answered = answered;
    this.socket.write(requestOf(FIRST_SLO_NS + request));
  }

  close(): void {
    this.socket.destroy();
  }
}

/** All are equally long, and have the same head. */
function requestOf(sloNs: number): Buffer {
  return httpRequest(`{"slo_ms":${(sloNs / NS_PER_MS).toFixed(6)}}`);
}
