import { MessageChannel } from 'node:worker_threads';
import { LARGE_BYTES } from './parcel.js';

/** Nothing is at the other end: what goes over to it is freed at once. */
const { port1: nowhere } = new MessageChannel();
nowhere.close();

/**
 * Frees the buffers of large tensors or models now, without a turn of the event loop. Otherwise they stay until the garbage of this thread is collected, and a
 * thread that has nothing to do collects none. No view of these buffers may be used afterwards.
 */
export function freeLarge(tensors: readonly Uint8Array[]): void {
  let buffers: Set<ArrayBuffer> | null = null;
  for (let i = 0; i < tensors.length; i++) {
    if (tensors[i].length <= LARGE_BYTES) continue;
    buffers ??= new Set();
    buffers.add(tensors[i].buffer as ArrayBuffer);
  }
  if (buffers !== null) nowhere.postMessage(null, [...buffers]);
}
