import { NS_PER_MS } from '../base/units.js';
import type { Time, Timer } from '../base/world/time.js';

/** True if it happens within that time. */
export async function within(time: Time, happens: Promise<unknown>, timeoutNs: number): Promise<boolean> {
  let timer: Timer | undefined;
  const tooLate = new Promise<false>((resolve) => {
    timer = time.after(timeoutNs / NS_PER_MS, () => resolve(false));
  });
  const happened = await Promise.race([happens.then(() => true), tooLate]);
  timer?.cancel();
  return happened;
}
