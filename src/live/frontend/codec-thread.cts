// Entry of the threads of `Codec`: piscina calls the member of the given name once a job. Of CommonJS because piscina
// tries require() first, and Node 20 aborts the whole process when a thread is ended while it requires an ES module.
import type { DecodeTask, EncodeTask } from './http-body.js' with { 'resolution-mode': 'import' };

export = {
  decode: async (task: DecodeTask): Promise<unknown> => (await import('./http-body.js')).decode(task),
  encode: async (task: EncodeTask): Promise<unknown> => (await import('./http-body.js')).encode(task),
};
