/** Name of a GPU as `cluster.gpus` takes it: lower case, with - for everything but letters and digits. */
export function gpuKind(gpu: string): string {
  const words = gpu.toLowerCase().match(/[a-z0-9]+/g) ?? ['unknown'];
  return words.join('-');
}

/** File next to imported requests with the guesses behind them, a sentence a line. */
export function notesPath(arrivals: string): string {
  return `${arrivals}.notes`;
}

const MOST_NAMED = 5;

/** The first of some names, and the number of the others. */
export function firstOf(names: readonly string[]): string {
  const more = names.length - MOST_NAMED;
  return names.slice(0, MOST_NAMED).join(', ') + (more > 0 ? ` and ${more} more` : '');
}
