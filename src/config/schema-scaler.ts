import * as z from 'zod';
import type { PolicyOptions } from '../policies/entry.js';
import type { ScalerEntry } from '../scalers/entry.js';
import { SCALERS } from '../scalers/registry.js';
import { duration, section } from './fields.js';
import { optionSchema } from './schema-policy.js';

/** How the number of GPUs is decided: by which scaler, with the options of its entry. */
export interface ScalerChoice {
  /** `none`: the number stays as it is. */
  readonly kind: string;
  /** Between two decisions. */
  readonly intervalNs: number;
  readonly options: PolicyOptions;
}

const NONE = 'none';
const interval = duration('Time between two decisions.', 1).prefault('10s');

type KindSchema = z.core.$ZodTypeDiscriminable & z.ZodType<ScalerChoice>;

export const scalerSchema = z
  .discriminatedUnion('kind', [
    section({ kind: z.literal(NONE), interval })
      .describe('The number of GPUs stays as it is.')
      .transform(chosen) as unknown as KindSchema,
    ...SCALERS.map(entrySchema),
  ])
  .prefault({ kind: NONE })
  .describe('What decides how many GPUs there are, between min and max of each kind in cluster.gpus.');

/** The scaler of that kind; null: none is wanted. */
export function scalerEntryOf({ kind }: ScalerChoice): ScalerEntry | null {
  return SCALERS.find((entry) => entry.kind === kind) ?? null;
}

function entrySchema({ kind, summary, options }: ScalerEntry): KindSchema {
  const shape = Object.fromEntries(
    Object.entries(options).map(([name, option]) => [name, optionSchema(option)]),
  ) as z.ZodRawShape;
  return section({ kind: z.literal(kind), interval, ...shape })
    .describe(summary)
    .transform(chosen) as unknown as KindSchema;
}

function chosen({ kind, interval: intervalNs, ...options }: Record<string, unknown>): ScalerChoice {
  return { kind: kind as string, intervalNs: intervalNs as number, options: options as PolicyOptions };
}
