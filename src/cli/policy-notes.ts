import { INSTEAD_OF_SHARES } from '../config/create-policy.js';
import { type PolicyNote, policyNotes } from '../config/policy-notes.js';
import type { CellResult, RunResult } from '../record/results.js';
import { listed } from '../text/words.js';

/** The notes of all policies as lines for stderr: one for each thing, however many policies do not do it. */
export function noteLines(notes: readonly PolicyNote[]): string[] {
  const policies = (wanted: PolicyNote['about']) => [
    ...new Set(notes.filter(({ about }) => about === wanted).map(({ policy }) => policy)),
  ];
  const line = (names: readonly string[], text: (verb: 's' | '', who: string) => string) =>
    names.length === 0 ? [] : [text(names.length === 1 ? 's' : '', named(names))];
  return [
    ...line(
      policies('weights'),
      (s, who) =>
        `warning: weights: ignored by ${who}, which serve${s} all classes alike; results are still reported by class`,
    ),
    ...line(
      policies('shares'),
      (s, who) =>
        `warning: shares: ${who} do${s === '' ? '' : 'es'} not serve requests within them first: ${INSTEAD_OF_SHARES}`,
    ),
    ...line(
      policies('sharesWithLengths'),
      (s, who) =>
        `warning: shares: with padding: bucket, ${who} do${s === '' ? '' : 'es'} not serve requests within them first: ${INSTEAD_OF_SHARES}`,
    ),
    ...line(
      policies('lengths'),
      (s, who) => `note: lengths: not used by ${who}, which put${s} inputs of any length into a batch`,
    ),
    ...line(
      policies('lengthsWithClasses'),
      (s, who) =>
        `note: lengths: where requests have classes, ${who} put${s} inputs of any length into a batch, because a batch takes requests by weight; leave out classes to batch by length`,
    ),
    ...new Set(notes.flatMap(({ text }) => (text === undefined ? [] : [`note: ${text}`]))),
  ];
}

/** The same of a finished run. Of a policy from a plugin nothing is known but what the run says itself. */
export function notesOn(run: CellResult | RunResult): PolicyNote[] {
  const { summary, lengths, plugin } = run;
  const { policy: kind, classes, tenants = [], kindsNote } = summary;
  if (kind === undefined) return [];
  // A cell of a sweep does not say how its inputs share a batch.
  const padding = 'setup' in run ? (run.setup?.padding ?? 'batch') : 'batch';
  const asked = { kinds: 1, hasClasses: classes !== undefined, hasLengths: lengths !== undefined };
  const policy = { kind, options: {} };
  return [
    ...(plugin === undefined ? policyNotes({ policy, ...asked, tenants: tenants.length, padding }) : []),
    ...(kindsNote === undefined ? [] : [{ policy: kind, about: 'kinds' as const, text: kindsNote }]),
  ];
}

function named(policies: readonly string[]): string {
  return `the ${policies.length === 1 ? 'policy' : 'policies'} ${listed(policies)}`;
}
