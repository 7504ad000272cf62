/** Reason why a worker with this many GPUs waits, for people; 0: number unknown. */
export function noRoom(gpus: number, room: number): string {
  const has = gpus === 0 ? '' : `it has ${inWords(gpus)}, and `;
  const left = room === 0 ? 'no more GPUs' : `${inWords(room)} only`;
  return `waits for room: ${has}--max-gpus leaves room for ${left}; ${WHAT_TO_DO}`;
}

const WHAT_TO_DO = 'stop another worker, or start the controller with a larger --max-gpus';

function inWords(gpus: number): string {
  return gpus === 1 ? '1 GPU' : `${gpus} GPUs`;
}
