import type { Command, EngineEvent } from '../protocol.js';
import { Player } from './player.js';

/** Types for the thread that this runs in. */
declare const addEventListener: (
  type: 'message',
  listener: (message: { readonly data: Command }) => void,
) => void;
declare const postMessage: (event: EngineEvent, transfer: readonly ArrayBuffer[]) => void;

const player = new Player({
  post: (event, transfer) => postMessage(event, transfer),
  nowMs: () => performance.now(),
  later: (run, delayMs) => void setTimeout(run, delayMs),
});

addEventListener('message', ({ data }) => void player.handle(data));
