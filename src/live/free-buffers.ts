import { MessageChannel } from 'node:worker_threads';
import { LARGE_BYTES } from './parcel.js';

/** A port without a receiver: buffers moved to it are freed at once. */
const { port1: nowhere } = new MessageChannel();
nowhere.close();

/**
 * Frees the buffers of large tensors or models now, without a turn of the event loop. Otherwise they stay until this
 * thread's garbage is collected, which an idle thread never does. No view of these buffers may be used afterwards.
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
