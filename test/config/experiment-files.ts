import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Experiment } from '../../src/config/experiment.js';
import { loadExperiment } from '../../src/config/load.js';

export const MODELS_CSV = `model_id,weights_bytes,pages,weights_transfer_ns,b1_ns,b2_ns,b4_ns,input_bytes,output_bytes
0,102160300,7,8310000,2730000,4050000,5880000,602112,4000
1,102160300,7,8310000,2730000,4050000,5880000,602112,4000
`;

/** A complete experiment to change one thing of. */
export const BASE = `seed: 1
cluster: { gpus: 1, pages: 1376 }
models: { kind: csv, path: models.csv }
workload: { kind: poisson, rate: 600/s, duration: 20s }
slo: 100ms
policy: { kind: clockwork }
`;

/** A new folder with models.csv, arrivals.csv and the given files. */
export function folder(files: Readonly<Record<string, string>> = {}): string {
  const path = mkdtempSync(join(tmpdir(), 'escapement-'));
  const all = {
    'models.csv': MODELS_CSV,
    'arrivals.csv': 'arrival_ns,model_id,slo_ns\n5,0,100000000\n',
    ...files,
  };
  for (const [name, text] of Object.entries(all)) writeFileSync(join(path, name), text);
  return path;
}

/** Loads the text as `exp.yaml` of a new folder. Messages name the file by its full path there. */
export async function load(text: string, overrides: readonly string[] = [], files = {}): Promise<Experiment> {
  return loadExperiment(join(folder({ 'exp.yaml': text, ...files }), 'exp.yaml'), overrides);
}
