import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { ModelSpec } from '../core/model.js';
import { fitModel } from './fit.js';

/**
 * The mixed zoo: many well-known vision models, each in many copies, as in Clockwork's evaluation
 * (61 varieties × 66 copies = 4,026 instances). Ordered copy 0 of every variety, then copy 1 of every
 * variety and so on, so that popular functions assigned in blocks drive different varieties.
 */
export async function zooModels(varieties: number, copies: number, pageBytes: number): Promise<ModelSpec[]> {
  const chosen = (await readZoo()).varieties
    .slice(0, varieties)
    .map(({ name, parametersM, imagesPerS, imageSize }) =>
      fitModel({ name, parameters: parametersM * 1e6, imagesPerS, imageSize }, pageBytes),
    );
  if (copies === 1) return chosen;
  return Array.from({ length: copies }, (_, copy) =>
    chosen.map((model) => ({ ...model, name: `${model.name}-${copy}` })),
  ).flat();
}

/** The bundled list of varieties: facts about published models with their source. */
interface Zoo {
  readonly source: string;
  readonly varieties: readonly {
    readonly name: string;
    /** Millions of parameters. */
    readonly parametersM: number;
    /** Measured throughput, see `source`. */
    readonly imagesPerS: number;
    readonly imageSize: number;
  }[];
}

export async function readZoo(): Promise<Zoo> {
  return JSON.parse(await readFile(ZOO_FILE, 'utf8'));
}

// src/config and dist/config are equally deep, so this holds before and after the build.
const ZOO_FILE = fileURLToPath(new URL('../../experiments/profiles/zoo.json', import.meta.url));
