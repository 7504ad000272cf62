import { figureOf } from '../../record/figures.js';

/** Terms of reports and their meanings, for every page and the glossary of the documentation. */
export const TERMS: Readonly<Record<string, string>> = {
  SLO: 'how soon after its arrival a request must be answered; that moment is its deadline',
  offered: 'all requests that arrived, whatever their outcome',
  goodput: 'answers within their SLO, per second',
  attainment: figureOf('attainment')!.description.replace('Share', 'share').replace(/;.*/, ''),
  p99: 'time within which 99 % of the offered requests were answered; never: more than 1 % were not answered within their SLO',
  'LOAD, INFER': 'the actions of a GPU: copy the weights of a model into its memory, run a batch',
  'cold start': 'a request that arrives while no GPU holds its model, so that it has to wait for a LOAD',
  schedule_ahead:
    'how far ahead the scheduler books each GPU: far enough that the next order arrives in time, and no further, because booked requests cannot join a fuller batch',
  window:
    'when an action may start; later, a GPU refuses it, because it would delay the actions planned next',
  bound: 'goodput that no scheduler can exceed, even one that knows all requests in advance',
  digest: 'fingerprint of all decisions: runs with the same digest made the same decisions',
};
