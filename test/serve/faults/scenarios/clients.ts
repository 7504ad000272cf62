import { connect, type Socket } from 'node:net';
import { sleep } from '../clients/counting-clients.js';
import type { Scenario } from '../play.js';
import type { Rig } from '../rig.js';

const TIMES = 100;
const BODY = '{"inputs":[{"name":"input","datatype":"FP32","shape":[1,2],"data":[1,2]}]}';
const REQUEST = `POST /v2/models/tiny-0/infer HTTP/1.1\r\nhost: x\r\ncontent-length: ${BODY.length}\r\n\r\n${BODY}`;

/** What clients do that break off, next to those that count. */
export const CLIENT_FAULTS: readonly Scenario[] = [
  each('clients vanish in the middle of their requests', async (socket) => {
    socket.write(REQUEST.slice(0, -10));
    await sleep(5);
    socket.destroy();
  }),
  each('clients vanish before their answers come', async (socket) => {
    socket.write(REQUEST);
    socket.destroy();
  }),
  each('clients reset their connections when their answers begin', async (socket) => {
    socket.write(REQUEST.repeat(10));
    await new Promise((resolve) => socket.once('data', resolve).once('close', resolve));
    socket.resetAndDestroy();
  }),
  each('clients say no more after half a request', async (socket) => {
    socket.end(REQUEST.slice(0, -10));
    await sleep(5);
  }),
  {
    name: 'clients vanish with their requests while the worker dies that has them',
    inject: async (rig, clients) => {
      const sockets = Array.from({ length: 50 }, () => open(rig));
      for (const socket of sockets) socket.write(REQUEST);
      await sleep(5);
      await rig.workers[0].kill('SIGKILL');
      for (const socket of sockets) socket.destroy();
      await clients.someMore(30);
      await rig.restart(0);
    },
  },
];

function each(name: string, misbehave: (socket: Socket) => Promise<void>): Scenario {
  return {
    name,
    inject: async (rig) => {
      for (let i = 0; i < TIMES; i++) await misbehave(open(rig));
    },
  };
}

function open({ http }: Rig): Socket {
  return connect(http, '127.0.0.1').on('error', () => {});
}
