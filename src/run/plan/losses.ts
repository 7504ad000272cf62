import { NS_PER_MS } from '../../base/units.js';
import type { SourceDocument } from '../../config/document.js';
import type { Experiment } from '../../config/experiment.js';
import { ON_DISK } from '../../config/files-on-disk.js';
import { applyOverrides } from '../../config/overrides.js';
import { loadPlugins } from '../../config/plugins.js';
import type { Case } from '../../config/sweep-section.js';
import { formatDuration } from '../../config/units-text.js';

/** Changes to an experiment, with a name. */
export type WhatIf = Pick<Case, 'name' | 'overrides'>;

/** Keys as written, valid since an experiment was built of them. */
export interface Written {
  readonly traffic?: { readonly factor?: string | number; readonly models?: Record<string, string | number> };
  readonly policy?: object;
  readonly cluster?: {
    readonly gpus?: number | readonly { readonly kind: string; readonly count?: number }[];
    readonly gpuClock?: readonly { readonly factor: number }[];
    readonly failures?: readonly object[];
  };
}

/** Keys of an experiment as written. */
export async function writtenKeys(source: SourceDocument, overrides: readonly string[]): Promise<Written> {
  const plugins = await loadPlugins(source, overrides, ON_DISK);
  return applyOverrides(source, overrides, [], plugins).tree as Written;
}

/**
 * For each kind of GPUs, the loss of its first one, which policies tend to fill first, for good: when the run is warm,
 * at the end of its warm-up, or else after a tenth of it. Requests count from then on, so nothing before softens it.
 */
export async function lossesOf(
  experiment: Experiment,
  source: SourceDocument,
  durationSeconds: number,
): Promise<WhatIf[]> {
  const { cluster, warmupNs } = experiment;
  const { cluster: { failures = [] } = {} } = await writtenKeys(source, experiment.source.overrides);
  const at = formatDuration(warmupNs > 0 ? warmupNs : Math.floor(durationSeconds * 100) * NS_PER_MS);
  let gpu = 0;
  return cluster.kinds.map(({ name, gpus }) => {
    const lost = { at, gpu, for: 'forever' };
    gpu += gpus;
    return {
      name: `one ${name ?? 'GPU'} lost`,
      overrides: [`cluster.failures=${JSON.stringify([...failures, lost])}`, `warmup=${at}`],
    };
  });
}
