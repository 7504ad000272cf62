import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { monotonicNs } from '../../../../src/base/clock/clock.js';
import { REAL_TIME } from '../../../../src/base/world/real-time.js';
import { INFER, LOAD } from '../../../../src/core/action.js';
import { FleetWorker } from '../../../../src/live/controller/fleet-worker.js';
import type { CallThread } from '../../../../src/live/controller/link/call-thread.js';
import { RemoteLink, type RemoteLinkOptions } from '../../../../src/live/controller/link/remote-link.js';
import { RemoteLinks } from '../../../../src/live/controller/link/remote-links.js';
import type { WorkerLink } from '../../../../src/live/controller/link/worker-link.js';
import type { ActionMessage } from '../../../../src/live/messages.js';
import type { ServedPort } from '../../../../src/live/wire/listener.js';
import {
  serveMachine,
  type WorkerEndpointOptions,
} from '../../../../src/live/worker/endpoint/worker-endpoint.js';
import { FakeMachine } from './fake-machine.js';
import { Recorder } from './recorder.js';

/** A fake machine behind a server on loopback; both end with the test. */
export async function serve(
  options: Partial<WorkerEndpointOptions> = {},
): Promise<{ machine: FakeMachine; server: ServedPort }> {
  const machine = new FakeMachine();
  const server = await serveMachine(machine, { port: 0, ...options });
  onTestFinished(() => server.close());
  return { machine, server };
}

/** The worker is in the thread of the tests, which others on the machine may keep waiting. */
export const PATIENT = { silenceMs: 30_000 };

/** A started link to a port on loopback, of a controller whose clock is `aheadNs` ahead. It ends with the test. */
export function connectTo(
  port: number,
  {
    aheadNs = 0,
    thread,
    ...options
  }: Partial<RemoteLinkOptions> & { aheadNs?: number; thread?: CallThread } = {},
): ReturnType<typeof start> {
  const links = new RemoteLinks(thread === undefined ? {} : { call: thread.call });
  return start(new RemoteLink({ address: `localhost:${port}`, ...PATIENT, ...options }, links), aheadNs);
}

/** A worker that is driven over a link. */
export function start(
  link: WorkerLink,
  aheadNs = 0,
): { worker: FleetWorker; events: Recorder; nowNs: () => number } {
  const worker = new FleetWorker(() => link, REAL_TIME);
  const events = new Recorder();
  const nowNs = () => monotonicNs() + aheadNs;
  worker.connect(events, nowNs);
  onTestFinished(() => worker.close());
  return { worker, events, nowNs };
}

export function load(id: number): ActionMessage {
  return {
    id,
    gpu: 0,
    kind: LOAD,
    model: 0,
    batchIndex: 0,
    bucket: 0,
    count: 0,
    earliestNs: 0,
    latestNs: 1,
    inputs: [],
  };
}

/** An INFER of the small model for one request. */
export function infer(id: number): ActionMessage {
  const inputs = [new Uint8Array([1, 2, id % 256]), new Uint8Array([3, 4])];
  return { ...load(id), kind: INFER, count: 1, inputs };
}

/** An INFER of the large model, with 2 MiB of input for each of `count` requests. */
export function inferLarge(id: number, count: 1 | 2): ActionMessage {
  const input = new Uint8Array(count * 2 * 1024 * 1024);
  for (let i = 0; i < input.length; i++) input[i] = (i * 31 + id) % 251;
  return { ...load(id), kind: INFER, model: 1, batchIndex: count - 1, count, inputs: [input] };
}

/** For loops that wait until something is so. */
export function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 5));
}

/** A wire between controller and worker that can be cut, or go dead without notice. */
export interface Wire {
  readonly port: number;
  /** Bytes that the worker has sent. */
  readonly sent: () => number;
  /** Passes nothing on any more, on the connections that there are. */
  freeze(): void;
  /** Breaks the connections that there are. */
  cut(): void;
}

export function wireTo(port: number): Promise<Wire> {
  const sockets = new Set<Socket>();
  let sent = 0;
  const server = createServer((near) => {
    const far = connect(port, '127.0.0.1');
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        near.destroy();
        far.destroy();
      });
    }
    near.pipe(far).pipe(near);
    far.on('data', ({ length }) => {
      sent += length;
    });
  });
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      resolve({
        port: (server.address() as AddressInfo).port,
        sent: () => sent,
        freeze: () => {
          for (const socket of sockets) socket.unpipe().pause();
        },
        cut: () => {
          for (const socket of sockets) socket.destroy();
        },
      });
    });
  });
}
