import type { MeasuredSummary } from '../../record/figures.js';
import { notesOn } from '../../record/policy-notes.js';
import { capital } from '../../text/words.js';
import { html, type Markup } from '../html/markup.js';

/** Requested settings that the policies of these runs do not support, a line each. */
export function policyNotes(summaries: readonly MeasuredSummary[]): Markup {
  const notes = notesOn(summaries).map(({ kind, text }) => ({
    kind: kind === 'warning' ? 'alert' : 'small',
    text: `${capital(text)}.`,
  }));
  return html`${notes.map(({ kind, text }) => html`<p class="${kind}">${text}</p>\n`)}`;
}
