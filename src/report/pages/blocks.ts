import type { MeasuredSummary } from '../../record/figures.js';
import { notesOn } from '../../record/policy-notes.js';
import { capital } from '../../text/words.js';
import type { Block } from '../document.js';

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

/** Requested settings that the policies of these runs do not support, a line each. */
export function policyNotes(summaries: readonly MeasuredSummary[]): Block[] {
  return notesOn(summaries).map(({ kind, text }) => ({
    text: `${capital(text)}.`,
    tone: kind === 'warning' ? 'alert' : 'small',
  }));
}
