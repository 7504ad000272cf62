import type { NoteText } from '../record/policy-notes.js';

/** Notes as lines for stderr. */
export function noteLines(notes: readonly NoteText[]): string[] {
  return notes.map(({ kind, text }) => `${kind}: ${text}`);
}
