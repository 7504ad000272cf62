import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { MIB } from '../../base/units.js';

/** What is smaller waits for the collector. */
const LEAST_BYTES = MIB;

let nowhere: MessagePort | null = null;

/**
 * Gives the memory under `bytes` back at once; nothing may use its buffer any more. The collector counts a buffer as the few
 * bytes of its object, so after a burst of large bodies it may not run for long, and hundreds of megabytes stay. What moves
 * to a port without a peer is freed.
 */
export function freeMemory(bytes: Uint8Array): void {
  const { buffer } = bytes;
  if (!(buffer instanceof ArrayBuffer) || buffer.byteLength < LEAST_BYTES) return;
  if (nowhere === null) {
    const { port1, port2 } = new MessageChannel();
    port2.close();
    port1.unref();
    nowhere = port1;
  }
  nowhere.postMessage(null, [buffer]);
}
