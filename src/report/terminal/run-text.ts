import type { CellResult, RunResult } from '../../record/results.js';
import { runDocument } from '../pages/run-document.js';
import { documentText } from './document-text.js';

/** One run for the terminal: its figures, then its requests by group, class, tenant, length and kind of GPU. */
export function runText(run: RunResult | CellResult): string {
  // The figures say it.
  return documentText({ ...runDocument(run), title: '' });
}
