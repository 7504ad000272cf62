import type { WorkerDescription } from '../messages.js';
import { whyNotTogether } from './cluster-of-workers.js';
import type { Member } from './member.js';

interface Founders {
  /** Those that the cluster is made of. */
  readonly present: readonly { readonly name: string; readonly description: WorkerDescription }[];
  /** The guests among them. */
  readonly guests: ReadonlySet<Member>;
}

/**
 * Which workers make the cluster: all that are known from the start and have come, and the guests that go with them, as far
 * as there is room. Where none of the known ones has come, the first guest decides what the others have to be.
 */
export function founders(members: readonly Member[], maxGpus: number | null): Founders {
  const present: { readonly name: string; readonly description: WorkerDescription }[] = [];
  const guests = new Set<Member>();
  let gpus = 0;
  for (const member of members.toSorted((a, b) => Number(a.isGuest) - Number(b.isGuest))) {
    const { description, isGuest, link } = member;
    if (description === null) continue;
    const wanted = gpus + description.gpus.length;
    const isFitting = present.length === 0 || whyNotTogether(present[0].description, description) === '';
    if (isGuest && present.length > 0 && (!isFitting || wanted > (maxGpus ?? 0))) continue;
    if (isGuest) guests.add(member);
    gpus = wanted;
    present.push({ name: link.name, description });
  }
  return { present, guests };
}
