import { SPLITS } from '../../../src/core/pipelines.js';
import type { Draw } from '../draw.js';
import type { ClusterScenario, PipelineScenario, StepScenario } from './scenario.js';

/** In two fifths of the seeds: chains, fan-outs of none to several rows, joins, steps that may be skipped, variants. */
export function drawPipelines(
  draw: Draw,
  { models }: ClusterScenario,
): Pick<ClusterScenario, 'models' | 'pipelines'> {
  if (!draw.chance(0.4)) return { models };
  const [{ inputBytes }] = models;
  const own = models.map((model, m) => {
    // Outputs fit the inputs of all.
    const fitting = { ...model, outputBytes: inputBytes };
    const { batchSizes, execNs } = model;
    if (m === 0 || !draw.chance(0.2)) return fitting;
    return {
      ...fitting,
      yieldsRows: true as const,
      batchSizes: batchSizes.slice(0, 1),
      execNs: execNs.slice(0, 1),
    };
  });
  const pipelines = Array.from({ length: draw.int(1, 3) }, (_, p) =>
    drawPipeline(draw, `pipeline-${p}`, own),
  );
  return { models: own, pipelines };
}

function drawPipeline(draw: Draw, name: string, models: ClusterScenario['models']): PipelineScenario {
  const steps: StepScenario[] = [];
  /** By step: it may have another number of requests than one, or yields rows. */
  const [areMany, haveRows]: boolean[][] = [[], []];
  for (let s = draw.int(1, 5); s > 0; s--) {
    const after = steps.length === 0 || draw.chance(0.15) ? [] : drawAfter(draw, steps.length);
    const source = after.length > 0 && draw.chance(0.8) ? draw.pick(after) : null;
    const isDealt = source === null ? draw.chance(0.25) : haveRows[source];
    const isMany = isDealt || (after.length > 0 && after.every((before) => areMany[before]));
    const plain = models.filter((model) => !model.yieldsRows);
    const list = isMany ? plain : models;
    const model = draw.pick(list);
    const others = plain.filter((other) => other !== model);
    const hasVariants = !model.yieldsRows && others.length > 0 && draw.chance(0.3);
    areMany.push(isMany);
    haveRows.push(isMany || model.yieldsRows === true);
    steps.push({
      models: [model.name, ...(hasVariants ? [draw.pick(others).name] : [])],
      ...{ after, source, isDealt },
    });
  }
  return { name, split: draw.pick(SPLITS), steps };
}

/** Of the steps so far, the last mostly. */
function drawAfter(draw: Draw, steps: number): number[] {
  const before = Array.from({ length: steps }, (_, s) => s).filter(() => draw.chance(0.3));
  return [...new Set([...before, ...(draw.chance(0.7) || before.length === 0 ? [steps - 1] : [])])];
}
