import { listed } from '../text/words.js';

/** Features of an experiment that a policy may not support. A summary lists those that its policy lacks. */
export const POLICY_NOTES = [
  'weights',
  'shares',
  'sharesWithLengths',
  'lengths',
  'lengthsWithClasses',
] as const;

/** A feature that a policy does not support. */
export interface PolicyNote {
  readonly policy: string;
  readonly about: (typeof POLICY_NOTES)[number] | 'kinds' | 'slo' | 'models';
  /** Text for people, if the fallback depends on the policy or no policy supports the feature. */
  readonly text?: string;
}

/** True if a summary lists it. */
export function isListed(about: PolicyNote['about']): about is (typeof POLICY_NOTES)[number] {
  return (POLICY_NOTES as readonly string[]).includes(about);
}

/** A note for people; a warning says that a requested setting is ignored. */
interface NoteText {
  readonly kind: 'warning' | 'note';
  readonly text: string;
}

/** Parts of a summary that notes on its policy depend on. */
interface Noted {
  readonly policy?: string;
  readonly policyNotes?: readonly (typeof POLICY_NOTES)[number][];
  readonly kindsNote?: string;
}

/** Notes on the policies of runs. */
export function notesOn(summaries: readonly Noted[]): NoteText[] {
  return noteTexts(
    summaries.flatMap(({ policy = '', policyNotes = [], kindsNote }): PolicyNote[] => [
      ...policyNotes.map((about) => ({ policy, about })),
      ...(kindsNote === undefined ? [] : [{ policy, about: 'kinds' as const, text: kindsNote }]),
    ]),
  );
}

const SHARES = 'requests within a share do not come first; those above one may be refused under overload';

/** Consequences of each feature that policies do not support; WHO stands for them. */
const TEXTS: Readonly<
  Record<(typeof POLICY_NOTES)[number], readonly [kind: NoteText['kind'], text: string]>
> = {
  weights: ['warning', 'weights: ignored by WHO; results are still reported by class'],
  shares: ['warning', `shares: with WHO, ${SHARES}`],
  sharesWithLengths: ['warning', `shares: with padding: bucket and WHO, ${SHARES}`],
  lengths: ['note', 'lengths: not used by WHO: inputs of any length share a batch'],
  lengthsWithClasses: [
    'note',
    'lengths: not used by WHO where requests have classes, because a batch takes requests by weight; leave out classes to batch by length',
  ],
};

/** One note per feature, however many policies lack it. */
export function noteTexts(notes: readonly PolicyNote[]): NoteText[] {
  const listedNotes = POLICY_NOTES.flatMap((about) => {
    const names = [...new Set(notes.filter((one) => one.about === about).map(({ policy }) => policy))];
    if (names.length === 0) return [];
    const [kind, text] = TEXTS[about];
    return {
      kind,
      text: text.replace('WHO', `the ${names.length === 1 ? 'policy' : 'policies'} ${listed(names)}`),
    };
  });
  const others = new Map(notes.flatMap(({ about, text }) => (text === undefined ? [] : [[text, about]])));
  return [
    ...listedNotes,
    ...[...others].map(
      ([text, about]): NoteText => ({ kind: about === 'models' ? 'warning' : 'note', text }),
    ),
  ];
}

/** Notes as lines for stderr. */
export function noteLines(notes: readonly NoteText[]): string[] {
  return notes.map(({ kind, text }) => `${kind}: ${text}`);
}
