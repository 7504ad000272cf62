import type { History, HistoryEvent } from '../history/history.js';

/** A property that does not hold. */
export interface Finding {
  /** Name of the check. */
  readonly check: string;
  readonly atNs: number;
  /** What, of which request, action or worker; one line for people. */
  readonly what: string;
  /** Which events have to do with it. */
  readonly concerns: (event: HistoryEvent) => boolean;
}

/** Equal for findings of one reason: without numbers, and lists with any number of things. */
export function kindOf({ check, what }: Finding): string {
  const [line] = what.split('\n');
  const plain = line.replaceAll(/\[[^\]]*\]/g, '[]').replaceAll(/\d+(?:\.\d+)?/g, '#');
  return `${check}: ${plain.replaceAll(/(GPU # of worker-#)(?:, \1)+/g, '$1')}`;
}

export interface Check {
  readonly name: string;
  run(history: History): readonly Finding[] | Promise<readonly Finding[]>;
}

/** Collects what a check finds. */
export class Findings {
  readonly list: Finding[] = [];

  constructor(private readonly check: string) {}

  add(atNs: number, what: string, concerns: (event: HistoryEvent) => boolean = () => true): void {
    this.list.push({ check: this.check, atNs, what, concerns });
  }
}
