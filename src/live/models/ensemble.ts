import { dirname, join } from 'node:path';
import { EscapementError } from '../../base/errors.js';
import { FREE } from '../model.js';
import type { DeclaredTensor, Ensemble, EnsembleStep } from '../model-list.js';
import type { PbtxtSettings } from './config-pbtxt.js';
import type { ModelSettings } from './settings.js';

/** Makes an ensemble from its `config.pbtxt` and `config.yaml`. Throws `E_CONFIG_VALUE`. */
export function readEnsemble(
  name: string,
  { path, tensors, maxBatchSize }: PbtxtSettings,
  steps: readonly EnsembleStep[],
  { slo, labels, dimensions, ...rest }: ModelSettings,
): Ensemble {
  const [foreign] = Object.keys({ ...labels, ...dimensions, ...rest });
  if (foreign !== undefined) {
    const file = join(dirname(path), 'config.yaml');
    throw new EscapementError('E_CONFIG_VALUE', 'an ensemble can have slo only: leave the rest out', {
      file,
    });
  }
  const maxBatch = maxBatchSize?.size ?? 0;
  const declared = (wanted: string) =>
    tensors.flatMap(({ role, name: tensor, line, datatype, dims }): DeclaredTensor[] => {
      if (role !== wanted) return [];
      if (datatype === null || datatype === 'BF16' || dims === null) {
        const what = `${tensor} of an ensemble needs dims, and a data_type other than TYPE_BF16`;
        throw new EscapementError('E_CONFIG_VALUE', what, { file: path, line, key: role });
      }
      return [{ name: tensor, datatype, shape: maxBatch > 0 ? [FREE, ...dims] : dims }];
    });
  const tensorsOf = { inputs: declared('input'), outputs: declared('output') };
  return { name, sloNs: slo ?? null, steps, ...tensorsOf, maxBatch };
}
