import { entryOf, noteOnKinds } from './create-policy.js';
import type { Experiment } from './experiment.js';
import type { PolicyChoice } from './schema-policy.js';
import { sloNote } from './slo-note.js';

/** What of an experiment a policy may not be able to treat as asked. */
interface Asked {
  readonly policy: PolicyChoice;
  /** Number of kinds of GPUs. */
  readonly kinds: number;
  readonly hasClasses: boolean;
  readonly hasLengths: boolean;
}

/** What one policy does not do. */
export interface PolicyNote {
  readonly policy: string;
  readonly about: 'kinds' | 'weights' | 'lengths' | 'lengthsWithClasses' | 'slo';
  /** For people; of kinds, where each policy does something else instead, and of what no policy could do. */
  readonly text?: string;
}

/** What a policy does not do of what an experiment asks for; empty: it does all. */
export function policyNotes({ policy, kinds, hasClasses, hasLengths }: Asked): PolicyNote[] {
  const { kind } = policy;
  const entry = entryOf(policy);
  const onKinds = noteOnKinds(policy, kinds);
  return [
    ...(hasClasses && entry?.weights !== 'used' ? [{ policy: kind, about: 'weights' as const }] : []),
    ...(hasLengths ? onLengths(kind, entry?.batchesByLength === true, hasClasses) : []),
    ...(onKinds === null ? [] : [{ policy: kind, about: 'kinds' as const, text: onKinds }]),
  ];
}

function onLengths(policy: string, batchesByLength: boolean, hasClasses: boolean): PolicyNote[] {
  if (!batchesByLength) return [{ policy, about: 'lengths' }];
  return hasClasses ? [{ policy, about: 'lengthsWithClasses' }] : [];
}

/** The same of a whole experiment. */
export function experimentNotes(experiment: Experiment): PolicyNote[] {
  const { policy, cluster, classes, models } = experiment;
  const hasLengths = models.some(({ lengths }) => lengths !== undefined);
  const tooShort = sloNote(experiment);
  return [
    ...policyNotes({ policy, kinds: cluster.kinds.length, hasClasses: classes.length > 0, hasLengths }),
    ...(tooShort === null ? [] : [{ policy: policy.kind, about: 'slo' as const, text: tooShort }]),
  ];
}
