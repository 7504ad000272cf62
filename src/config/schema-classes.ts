import * as z from 'zod';
import { MOST_CLASSES } from '../core/classes.js';
import { count, section, share } from './fields.js';

const MOST_WEIGHT = 1e6;

const classSection = section({
  name: z
    .string()
    .regex(/^[A-Za-z0-9][\w-]*$/, 'must be letters, digits, - and _')
    .describe('Name of the class, which workload sections and results use.'),
  weight: count(
    'What a request of the class answered in time is worth, relative to those of other classes.',
    MOST_WEIGHT,
  ).prefault(1),
  share: share(
    'Least share of GPU time that its requests get while some of them wait, e.g. 20%; default: no guarantee.',
    1,
  ).prefault(0),
  priority: z
    .array(z.int().min(1).max(Number.MAX_SAFE_INTEGER))
    .or(z.int().min(1).max(Number.MAX_SAFE_INTEGER))
    .exactOptional()
    .describe(
      "Values of the protocol's parameter `priority`, one or a list, that mean this class to a server.",
    ),
}).meta({ id: 'class' });

/** `classes`: who matters how much. The first is that of requests that name none. */
export const classesSchema = z
  .array(classSection)
  .min(1)
  .max(MOST_CLASSES)
  .superRefine((classes, context) => {
    const refuse = (path: readonly (string | number)[], message: string) =>
      context.addIssue({ code: 'custom', path: [...path], message });
    const names = classes.map(({ name }) => name);
    const owners = new Map<number, string>();
    classes.forEach(({ name, priority = [] }, i) => {
      if (names.indexOf(name) < i) refuse([i, 'name'], `${name} is listed twice`);
      for (const value of [priority].flat()) {
        const owner = owners.get(value);
        if (owner !== undefined) refuse([i, 'priority'], `${value} means the class ${owner} already`);
        owners.set(value, name);
      }
    });
    const guaranteed = classes.reduce((sum, each) => sum + each.share, 0);
    if (guaranteed > 1 + 1e-9)
      refuse([], `guarantee ${+(guaranteed * 100).toPrecision(6)} % of the GPU time: must be at most 100 %`);
  })
  .exactOptional()
  .describe(
    'Classes of requests, by what they are worth. The first is that of requests that name none; without any, all requests weigh 1.',
  );

/** One class of requests, as it is declared. */
export interface ClassConfig {
  readonly name: string;
  readonly weight: number;
  /** Guaranteed share of GPU time; 0: none. */
  readonly share: number;
  /** Values of the protocol's `priority` that mean it. */
  readonly priorities: readonly number[];
}

/** Empty where the file declares none. */
export function classesOf(declared: z.output<typeof classesSchema> = []): readonly ClassConfig[] {
  return declared.map(({ name, weight, share, priority = [] }) => ({
    name,
    weight,
    share,
    priorities: [priority].flat(),
  }));
}
