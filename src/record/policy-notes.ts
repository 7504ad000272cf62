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

/** One note for each thing, however many policies do not do it. */
export function noteTexts(notes: readonly PolicyNote[]): NoteText[] {
  const note = (
    kind: NoteText['kind'],
    about: PolicyNote['about'],
    text: (verb: 's' | '', who: string) => string,
  ): NoteText[] => {
    const names = [...new Set(notes.filter((one) => one.about === about).map(({ policy }) => policy))];
    if (names.length === 0) return [];
    return [{ kind, text: text(names.length === 1 ? 's' : '', named(names)) }];
  };
  return [
    ...note(
      'warning',
      'weights',
      (s, who) =>
        `weights: ignored by ${who}, which serve${s} all classes alike; results are still reported by class`,
    ),
    ...note(
      'warning',
      'shares',
      (s, who) =>
        `shares: ${who} do${s === '' ? '' : 'es'} not serve requests within them first: ${INSTEAD_OF_SHARES}`,
    ),
    ...note(
      'warning',
      'sharesWithLengths',
      (s, who) =>
        `shares: with padding: bucket, ${who} do${s === '' ? '' : 'es'} not serve requests within them first: ${INSTEAD_OF_SHARES}`,
    ),
    ...note(
      'note',
      'lengths',
      (s, who) => `lengths: not used by ${who}, which put${s} inputs of any length into a batch`,
    ),
    ...note(
      'note',
      'lengthsWithClasses',
      (s, who) =>
        `lengths: where requests have classes, ${who} put${s} inputs of any length into a batch, because a batch takes requests by weight; leave out classes to batch by length`,
    ),
    ...[...new Map(notes.flatMap(({ about, text }) => (text === undefined ? [] : [[text, about]])))].map(
      ([text, about]): NoteText => ({ kind: about === 'models' ? 'warning' : 'note', text }),
    ),
  ];
}

function named(policies: readonly string[]): string {
  return `the ${policies.length === 1 ? 'policy' : 'policies'} ${listed(policies)}`;
}

/** Notes as lines for stderr. */
export function noteLines(notes: readonly NoteText[]): string[] {
  return notes.map(({ kind, text }) => `${kind}: ${text}`);
}
