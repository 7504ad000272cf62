import { figureOf } from '../../record/figures.js';

/** A term of the reports and its meaning. */
interface Term {
  readonly term: string;
  readonly meaning: string;
  /** Pattern of uses of the word in a text; default: the term itself. */
  readonly pattern?: RegExp;
}

/** Terms of reports and the README. */
export const TERMS: readonly Term[] = [
  {
    term: 'SLO',
    meaning: 'how soon after its arrival a request must be answered; that moment is its deadline',
    pattern: /\bSLOs?\b/,
  },
  { term: 'offered', meaning: 'all requests that arrived, whatever their outcome' },
  { term: 'goodput', meaning: 'answers within their SLO, per second' },
  {
    term: 'attainment',
    meaning: figureOf('attainment')!.description.replace('Share', 'share').replace(/;.*/, ''),
    pattern: /attain/i,
  },
  {
    term: 'p99',
    meaning:
      'time within which 99 % of the offered requests were answered; never: more than 1 % were not answered within their SLO',
    pattern: /\bp\d+/,
  },
  {
    term: 'LOAD, INFER',
    meaning: 'the actions of a GPU: copy the weights of a model into its memory, run a batch',
    pattern: /\bLOADs?\b|\bINFERs?\b/,
  },
  {
    term: 'cold start',
    meaning: 'a request that arrives while no GPU holds its model, so that it has to wait for a LOAD',
    pattern: /cold (start|GPU|model)|timed out cold/i,
  },
  {
    term: 'schedule_ahead',
    meaning:
      'how far ahead the scheduler books each GPU: far enough that the next order arrives in time, and no further, because booked requests cannot join a fuller batch',
    pattern: /schedule_?ahead/i,
  },
  {
    term: 'window',
    meaning:
      'when an action may start; later, a GPU refuses it, because it would delay the actions planned next',
  },
  {
    term: 'bound',
    meaning: 'goodput that no scheduler can exceed, even one that knows all requests in advance',
    pattern: /\bbounds?\b/i,
  },
  {
    term: 'digest',
    meaning: 'fingerprint of all decisions: runs with the same digest made the same decisions',
  },
];

/** Terms that a text uses. */
export function termsIn(text: string): Term[] {
  return TERMS.filter(({ term, pattern }) => (pattern ?? new RegExp(term, 'i')).test(text));
}
