/** Name of a GPU as `cluster.gpus` takes it: lower case, with - for everything but letters and digits. */
export function gpuKind(gpu: string): string {
  const words = gpu.toLowerCase().match(/[a-z0-9]+/g) ?? ['unknown'];
  return words.join('-');
}

/** File next to imported requests with the guesses behind them, a sentence a line. */
export function notesPath(arrivals: string): string {
  return `${arrivals}.notes`;
}
