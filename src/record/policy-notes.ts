import { listed } from '../text/words.js';

/** What an experiment may ask of a policy that does not do it. A summary lists what its own does not. */
export const POLICY_NOTES = [
  'weights',
  'shares',
  'sharesWithLengths',
  'lengths',
  'lengthsWithClasses',
] as const;

/** What one policy does not do. */
export interface PolicyNote {
  readonly policy: string;
  readonly about: (typeof POLICY_NOTES)[number] | 'kinds' | 'slo' | 'models';
  /** For people; of kinds, where each policy does something else instead, and of what no policy could do. */
  readonly text?: string;
}

/** Whether a summary lists it. */
export function isListed(about: PolicyNote['about']): about is (typeof POLICY_NOTES)[number] {
  return (POLICY_NOTES as readonly string[]).includes(about);
}

/** A note for people; a warning is of something that was asked for and is not done. */
interface NoteText {
  readonly kind: 'warning' | 'note';
  readonly text: string;
}

/** What is done about shares where the policy does nothing. */
const INSTEAD_OF_SHARES =
  'once over 5 % of all work is lost, with demand over 1.1 times what can be served, requests above a share are refused';

/** What a summary says of its policy. */
interface Noted {
  readonly policy?: string;
  readonly policyNotes?: readonly (typeof POLICY_NOTES)[number][];
  readonly kindsNote?: string;
}

/** What runs say that their policies do not do. */
export function notesOn(summaries: readonly Noted[]): NoteText[] {
  return noteTexts(
    summaries.flatMap(({ policy = '', policyNotes = [], kindsNote }): PolicyNote[] => [
      ...policyNotes.map((about) => ({ policy, about })),
      ...(kindsNote === undefined ? [] : [{ policy, about: 'kinds' as const, text: kindsNote }]),
    ]),
  );
}

/** What is said of each thing that policies do not do. */
const TEXTS: Readonly<Record<(typeof POLICY_NOTES)[number], (who: string) => NoteText>> = {
  weights: (who) => ({
    kind: 'warning',
    text: `weights: ignored by ${who}; results are still reported by class`,
  }),
  shares: (who) => ({
    kind: 'warning',
    text: `shares: requests within them do not come first with ${who}: ${INSTEAD_OF_SHARES}`,
  }),
  sharesWithLengths: (who) => ({
    kind: 'warning',
    text: `shares: with padding: bucket, requests within them do not come first with ${who}: ${INSTEAD_OF_SHARES}`,
  }),
  lengths: (who) => ({
    kind: 'note',
    text: `lengths: not used by ${who}: inputs of any length share a batch`,
  }),
  lengthsWithClasses: (who) => ({
    kind: 'note',
    text: `lengths: not used by ${who} where requests have classes, because a batch takes requests by weight; leave out classes to batch by length`,
  }),
};

/** One note for each thing, however many policies do not do it. */
export function noteTexts(notes: readonly PolicyNote[]): NoteText[] {
  const listedNotes = POLICY_NOTES.flatMap((about) => {
    const names = [...new Set(notes.filter((one) => one.about === about).map(({ policy }) => policy))];
    if (names.length === 0) return [];
    return TEXTS[about](`the ${names.length === 1 ? 'policy' : 'policies'} ${listed(names)}`);
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
