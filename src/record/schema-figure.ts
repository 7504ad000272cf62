import * as z from 'zod';

/** Facts about a figure; its description is its field's. */
export interface FigureFacts {
  /** ms for latencies, a share of 1, a count, per second, hours, or an amount in the currency of the experiment. */
  readonly unit: 'ms' | 'share' | 'count' | 'perSecond' | 'hours' | 'price';
  /** Name for people. */
  readonly label: string;
  /** Direction of improvement; absent: neither. */
  readonly better?: 'higher' | 'lower';
  /** Name in thresholds, if not that of its field. */
  readonly name?: string;
  /** True if it covers only models with enough requests to be assessed. */
  readonly ofAssessedModels?: true;
  /** True if only the scheduler knows it: a client of a server has nothing to measure. */
  readonly ofScheduler?: true;
}

/** Registry of the fields of a summary, and of its parts, that are figures. */
export const FIGURES = z.registry<FigureFacts>();

/** Fields with their descriptions; list items need none. */
export const count = (about = '') => described(z.int().nonnegative(), about);
export const amount = (about = '') => described(z.number().nonnegative(), about);
export const amountOrNull = (about: string) => amount().nullable().describe(about);
export const share = (about = '') => described(z.number().min(0).max(1), about);
export const shareOrNull = (about: string) => share().nullable().describe(about);
export const text = (about = '') => described(z.string(), about);
export const list = <T extends z.ZodType>(item: T, about: string) => z.array(item).describe(about);

function described<T extends z.ZodType>(schema: T, about: string): T {
  return about === '' ? schema : schema.describe(about);
}
