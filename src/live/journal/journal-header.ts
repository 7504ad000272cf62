import { z } from 'zod';
import { ADMISSIONS, type Admission } from '../../core/controller.js';
import { EscapementError } from '../../core/errors.js';
import type { ModelSpec } from '../../core/model.js';

/** All that a controller is made from: the first line of a journal. */
export interface JournalHeader {
  readonly models: readonly ModelSpec[];
  readonly gpus: number;
  /** Pages of each GPU's weights cache. */
  readonly pages: number;
  readonly oneLane: boolean;
  /** Values of options by name, durations in ns; `auto`: tuned while running. */
  readonly policy: {
    readonly kind: string;
    readonly options: Readonly<Record<string, number | 'auto' | undefined>>;
  };
  readonly defaultSloNs: number;
  readonly admission: Admission;
}

const FORMAT = 'escapement-journal';
const VERSION = 1;

const count = z.int().nonnegative();
const HEADER = z.object({
  models: z.array(
    z.object({
      name: z.string(),
      weightsBytes: count,
      pages: count,
      loadNs: count,
      batchSizes: z.array(count),
      execNs: z.array(count),
      inputBytes: count,
      outputBytes: count,
    }),
  ),
  gpus: count,
  pages: count,
  oneLane: z.boolean(),
  policy: z.object({
    kind: z.string(),
    options: z.record(z.string(), z.union([z.number(), z.literal('auto')])),
  }),
  defaultSloNs: z.number().positive(),
  admission: z.enum(ADMISSIONS),
});

export function formatHeader(header: JournalHeader): string {
  return JSON.stringify({ format: FORMAT, version: VERSION, ...header });
}

/** Throws `E_JOURNAL`. */
export function parseHeader(line: string): JournalHeader {
  const value = parseJson(line);
  if (value?.format !== FORMAT) throw new EscapementError('E_JOURNAL', 'is not a journal of escapement');
  if (value.version !== VERSION) {
    const what = `is a journal of version ${value.version}, and this escapement reads version ${VERSION}`;
    throw new EscapementError('E_JOURNAL', what);
  }
  const parsed = HEADER.safeParse(value);
  if (parsed.success) return parsed.data;
  const [{ path, message }] = parsed.error.issues as [z.core.$ZodIssue];
  throw new EscapementError('E_JOURNAL', `header: ${path.join('.')}: ${message}`);
}

function parseJson(line: string): { readonly format?: unknown; readonly version?: unknown } | null {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}
