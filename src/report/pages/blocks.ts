import type { MeasuredSummary } from '../../record/figures.js';
import { noteTexts } from '../../record/policy-notes.js';
import { capital } from '../../text/words.js';
import type { Block, Section } from '../document.js';

/** Instructions to repeat it: the command, and the experiment as written. */
export function experimentToRun(experiment: string, command: string): Block[] {
  return [
    {
      text: 'Save the experiment below as experiment.yaml in a folder where its relative paths are valid, and run',
    },
    { code: command },
    { code: experiment },
  ];
}

/** First block of a comparison page: warnings, and features that the policies of these runs do not support. */
export function cautions(warnings: readonly string[], summaries: readonly MeasuredSummary[]): Section {
  const alerts = warnings.map((text) => ({ text, tone: 'alert' as const }));
  return { title: '', only: 'page', blocks: [...alerts, ...policyNotes(summaries)] };
}

/** Requested settings that the policies of these runs do not support, a line each. */
export function policyNotes(summaries: readonly MeasuredSummary[]): Block[] {
  return noteTexts(summaries.flatMap(({ policyNotes = [] }) => policyNotes)).map(({ kind, text }) => ({
    text: `${capital(text)}.`,
    tone: kind === 'warning' ? 'alert' : 'small',
  }));
}
