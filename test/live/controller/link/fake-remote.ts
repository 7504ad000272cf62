import { Server, ServerCredentials } from '@grpc/grpc-js';
import { onTestFinished } from 'vitest';
import { monotonicNs } from '../../../../src/base/clock/clock.js';
import { Numbering } from '../../../../src/live/wire/framing.js';
import {
  CONTROLLER_MESSAGES,
  type ControllerMessage,
  WORKER_SERVICE,
  type WorkerMessage,
} from '../../../../src/live/wire/protocol.js';
import type { ControllerCall } from '../../../../src/live/worker/endpoint/machine-endpoint.js';
import { DESCRIPTION, STATE } from './fake-machine.js';

export interface RemoteBehavior {
  /** What it says of itself, unchecked. */
  readonly description?: object;
  /** What it says instead of what a worker should; null: nothing; undefined: as it should. */
  readonly instead?: (heard: ControllerMessage) => WorkerMessage | null | undefined;
  /** What it says and does not arrive. */
  readonly loses?: (said: WorkerMessage) => boolean;
}

/** A worker at the other end of a network that says what the test wants. Resolves with its port; ends with the test. */
export async function fakeRemote({
  description = {},
  instead = () => undefined,
  loses = () => false,
}: RemoteBehavior): Promise<number> {
  const server = new Server();
  server.addService(WORKER_SERVICE, {
    Drive: (call: ControllerCall) => {
      call.on('error', () => {});
      call.on('end', () => call.end());
      const sent = new Numbering();
      const say = (message: WorkerMessage) => {
        const numbered = sent.number(message);
        if (!loses(message)) call.write(numbered);
      };
      say({ body: 'welcome', description: { ...DESCRIPTION, ...description }, maxMessageBytes: 1e6 });
      say({ body: 'lease', term: 0, controller: '' });
      const controller = String(call.metadata.get('escapement-controller')[0]);
      call.on('data', (bytes: Buffer) => {
        const heard = CONTROLLER_MESSAGES.decode(bytes);
        const own = instead(heard);
        const said = own === undefined ? proper(heard, controller) : own;
        if (said !== null) say(said);
      });
    },
  });
  onTestFinished(() => server.forceShutdown());
  return new Promise((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) =>
      error === null ? resolve(port) : reject(error),
    );
  });
}

function proper(heard: ControllerMessage, controller: string): WorkerMessage | null {
  if (heard.body === 'take') return { body: 'lease', term: heard.term, controller };
  if (heard.body === 'ping') return { body: 'pong', sentNs: heard.sentNs, workerNs: monotonicNs() };
  if (heard.body === 'ask' && heard.question.what === 'quiesce')
    return { body: 'answer', id: heard.id, value: STATE, error: '' };
  return null;
}
