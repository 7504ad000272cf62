import { NS_PER_MS, NS_PER_S } from '../../../src/base/units.js';
import { SCALERS } from '../../../src/scalers/registry.js';
import type { Draw } from './draw.js';
import type { ClusterScenario, KindScenario, MachineScenario, ScalerScenario } from './scenario.js';

/** In a third of the seeds, machines with GPUs of up to three kinds. The first machine has room for every model. */
export function drawKinds(draw: Draw, cluster: ClusterScenario): readonly MachineScenario[] {
  const { machines, pages } = cluster;
  if (!draw.chance(0.35)) return machines;
  const kinds = Array.from({ length: draw.int(1, 3) }, (_, i): KindScenario => {
    const least = i === 0 ? pages : draw.int(1, pages);
    return {
      name: `kind-${i}`,
      slowness: draw.log(25, 400) / 100,
      pages: draw.chance(0.5) ? pages : least,
    };
  });
  return machines.map((machine, i) => ({ ...machine, kind: i === 0 ? kinds[0] : draw.pick(kinds) }));
}

/** In a quarter of the seeds, machines of one kind that lack models, each of which another one has. */
export function drawLacks(
  draw: Draw,
  { models, control }: ClusterScenario,
  machines: readonly MachineScenario[],
): readonly MachineScenario[] {
  const isDrawn = draw.chance(0.25);
  if (!isDrawn || machines.length === 1 || control !== 'all' || machines.some(({ kind }) => kind))
    return machines;
  const lacks = machines.map((): string[] => []);
  for (const { name } of models) {
    const kept = draw.int(0, machines.length - 1);
    for (const [i, list] of lacks.entries()) if (i !== kept && draw.chance(0.5)) list.push(name);
  }
  return machines.map((machine, i) => ({ ...machine, lacks: lacks[i] }));
}

/** In a quarter of the seeds. A log may say every ten seconds, or more often, that another number of GPUs is needed. */
export function drawScaler(draw: Draw): { readonly scaler?: ScalerScenario } {
  if (!draw.chance(0.25)) return {};
  return {
    scaler: {
      kind: draw.pick(SCALERS.filter(({ needsHindsight }) => !needsHindsight)).kind,
      intervalNs: draw.log(100 * NS_PER_MS, 10 * NS_PER_S),
      startNs: draw.chance(0.3) ? 0 : draw.log(100 * NS_PER_MS, 60 * NS_PER_S),
      more: draw.int(0, 8),
    },
  };
}
