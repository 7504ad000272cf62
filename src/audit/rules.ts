/** Invariants of every run, under any scheduler. */
export const RULES = {
  order: 'a log is ordered by time, and its columns agree with each other',
  outcome: 'every request has exactly one outcome',
  cause:
    'a request has a cause if and only if it was not answered in time, and the cause follows from both logs',
  slo: 'an answer counts as in time if and only if it came within its SLO',
  result: 'every action has at most one result',
  window: 'a LOAD or INFER starts inside its window',
  lane: 'a lane runs one action at a time',
  weights: 'an INFER runs on a GPU on which a LOAD of its model has ended, with no UNLOAD before its end',
  fleet: 'a GPU gets actions only while it is on, and works only while it is on or drains',
  pages: 'the weights on a GPU never exceed the pages of its cache',
  served:
    'an executed request was in one INFER of its model that succeeded, and no other request claims an INFER',
  batch: 'an INFER has at least one request, and no more than its batch size',
  length:
    'an INFER is padded to a length of its model that holds its longest input, and to the least where it should be',
  pipeline:
    'a step begins when those that it waits for end, and the request of a pipeline is executed if all of its steps are, with the last',
  answer: 'an answer comes with the result of its INFER, not before the INFER ends',
} as const;

export type Rule = keyof typeof RULES;

export interface Violation {
  readonly rule: Rule;
  readonly file: string;
  readonly line: number;
  readonly what: string;
}

/** Number of violations kept in full. */
const MOST_KEPT = 10;

/** Counts checks and violations of each rule; keeps the first violations. */
export class Findings {
  readonly first: Violation[] = [];
  private readonly tested: Record<string, number> = {};
  private readonly broken: Record<string, number> = {};

  /** Counts a check of the rule. */
  check(rule: Rule): void {
    this.tested[rule] = (this.tested[rule] ?? 0) + 1;
  }

  violated(rule: Rule, file: string, line: number, what: string): void {
    this.broken[rule] = (this.broken[rule] ?? 0) + 1;
    if (this.first.length < MOST_KEPT) this.first.push({ rule, file, line, what });
  }

  checks(rule: Rule): number {
    return this.tested[rule] ?? 0;
  }

  violations(rule: Rule): number {
    return this.broken[rule] ?? 0;
  }

  get total(): number {
    return Object.values(this.broken).reduce((sum, count) => sum + count, 0);
  }
}
