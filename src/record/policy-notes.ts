import { listed } from '../text/words.js';
import type { PolicyNote } from './results.js';

/** Notes on several runs for people, one per text, with all policies that it is about. */
export function noteTexts(notes: readonly PolicyNote[]): Pick<PolicyNote, 'kind' | 'text'>[] {
  const firsts = new Map(notes.map((note) => [note.text, note]));
  return [...firsts.values()].map(({ kind, text }) => {
    const same = notes.filter((note) => note.text === text);
    const policies = [...new Set(same.flatMap(({ policy }) => policy ?? []))];
    const who = policies.length === 1 ? 'policy' : 'policies';
    return { kind, text: policies.length === 0 ? text : `${who} ${listed(policies)}: ${text}` };
  });
}

/** Notes as lines for stderr. */
export function noteLines(notes: readonly PolicyNote[]): string[] {
  return noteTexts(notes).map(({ kind, text }) => `${kind}: ${text}`);
}
