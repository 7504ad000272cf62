import { NS_PER_MS } from '../base/units.js';

/** Whether it happens in that time. */
export async function within(happens: Promise<void>, timeoutNs: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), timeoutNs / NS_PER_MS);
  });
  const happened = await Promise.race([happens.then(() => true), tooLate]);
  clearTimeout(timer);
  return happened;
}
