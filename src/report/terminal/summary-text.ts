import type { CellResult, RunResult, SweepResults } from '../../record/results.js';
import type { Comparison } from '../compare/compare.js';
import { documentText } from '../document.js';
import { compareDocument } from '../pages/compare-document.js';
import { policiesDocument } from '../pages/policies-document.js';
import { runDocument } from '../pages/run-document.js';
import { sweepDocument } from '../pages/sweep-document.js';
import type { PolicyComparison } from '../policies/compare.js';

/** A result for the terminal as plain text, wrapped at 80 columns; tables of sweeps are cut at `columns`. */
export function summaryText(result: RunResult | CellResult | SweepResults, columns?: number): string {
  return 'cells' in result ? documentText(sweepDocument(result), columns) : runText(result);
}

/** Runs side by side for the terminal: figures, then the changes of each run. */
export function comparisonText(comparison: Comparison): string {
  const document = compareDocument(comparison, []);
  const [first = '', ...lead] = document.lead;
  return documentText({ ...document, title: first, lead });
}

/** Policies over a matrix of conditions for the terminal. */
export function policiesText(comparison: PolicyComparison): string {
  return documentText(policiesDocument(comparison));
}

/** One run for the terminal: its figures, then its requests by group, class, tenant, length and kind of GPU. */
export function runText(run: RunResult | CellResult): string {
  // The figures say it.
  return documentText({ ...runDocument(run), title: '' });
}
