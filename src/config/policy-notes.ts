import type { Padding } from '../core/lengths.js';
import type { PolicyNote } from '../record/policy-notes.js';
import { entryOf, noteOnKinds, whySharesAreNotFirst } from './create-policy.js';
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
  /** Number of tenants. */
  readonly tenants: number;
  readonly padding: Padding;
}

/** What a policy does not do of what an experiment asks for; empty: it does all. */
export function policyNotes(asked: Asked): PolicyNote[] {
  const { policy, kinds, hasClasses, hasLengths, tenants, padding } = asked;
  const { kind } = policy;
  const entry = entryOf(policy);
  const onKinds = noteOnKinds(policy, kinds);
  const notFirst = whySharesAreNotFirst(policy, tenants, padding);
  return [
    ...(hasClasses && entry?.weights !== 'used' ? [{ policy: kind, about: 'weights' as const }] : []),
    ...(notFirst === null
      ? []
      : [
          {
            policy: kind,
            about: notFirst === 'lengths' ? ('sharesWithLengths' as const) : ('shares' as const),
          },
        ]),
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
  const { policy, cluster, classes, models, tenants, padding, warnings } = experiment;
  const hasLengths = models.some(({ lengths }) => lengths !== undefined);
  const tooShort = sloNote(experiment);
  return [
    ...policyNotes({
      ...{ policy, kinds: cluster.kinds.length, hasClasses: classes.length > 0, hasLengths },
      ...{ tenants: tenants.list.length, padding },
    }),
    ...warnings.map((text) => ({ policy: policy.kind, about: 'models' as const, text })),
    ...(tooShort === null ? [] : [{ policy: policy.kind, about: 'slo' as const, text: tooShort }]),
  ];
}
