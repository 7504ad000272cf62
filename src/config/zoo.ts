import type { ModelSpec } from '../core/model.js';
import { fitModel } from './fit.js';
import { ZOO_VARIETIES } from './zoo-varieties.js';

/**
 * The mixed zoo: many well-known vision models, each in many copies, as in Clockwork's evaluation
 * (61 varieties × 66 copies = 4,026 instances). Ordered copy 0 of every variety, then copy 1 of every
 * variety and so on, so that popular functions assigned in blocks drive different varieties.
 */
export function zooModels(varieties: number, copies: number, pageBytes: number): ModelSpec[] {
  const chosen = ZOO_VARIETIES.slice(0, varieties).map(({ name, parametersM, imagesPerS, imageSize }) =>
    fitModel({ name, parameters: parametersM * 1e6, imagesPerS, imageSize }, pageBytes),
  );
  if (copies === 1) return chosen;
  return Array.from({ length: copies }, (_, copy) =>
    chosen.map((model) => ({ ...model, name: `${model.name}-${copy}` })),
  ).flat();
}
