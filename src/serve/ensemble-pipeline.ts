import type { PipelineDefinition, TensorReference } from '../core/pipeline-definition.js';
import { MOST_STEPS } from '../core/pipelines.js';
import { stepOrder } from '../core/step-order.js';
import type { Ensemble } from '../live/model-list.js';

/** Makes a pipeline of an ensemble. Throws an error for people if its steps do not fit together. */
export function ensemblePipeline({ name, sloNs, steps, inputs, outputs }: Ensemble): PipelineDefinition {
  if (steps.length === 0 || steps.length > MOST_STEPS)
    throw new Error(`it has ${steps.length} steps, and 1 to ${MOST_STEPS} are possible`);
  const ids = steps.map(({ model }, s) => {
    const before = steps.slice(0, s).filter((each) => each.model === model).length;
    return before === 0 ? model : `${model}-${before + 1}`;
  });
  const sources = new Map<string, TensorReference>(
    inputs.map((input) => [input.name, { input: input.name }]),
  );
  for (const [step, { outputs: own }] of steps.entries()) {
    for (const [output, tensor] of Object.entries(own)) {
      const other = sources.get(tensor);
      if (other !== undefined) {
        const what = 'step' in other ? `what step ${ids[other.step]} yields` : 'an input of the ensemble';
        throw new Error(`step ${ids[step]} yields tensor ${tensor}, which is ${what}, too`);
      }
      sources.set(tensor, { step, output });
    }
  }
  const fed = steps.map(({ inputs: own }, s) =>
    Object.entries(own).map(([input, tensor]): [string, TensorReference] => {
      const source = sources.get(tensor);
      if (source !== undefined) return [input, source];
      throw new Error(`step ${ids[s]}: nothing yields tensor ${tensor}, its input ${input}`);
    }),
  );
  const after = fed.map((own) => [...new Set(own.flatMap(([, from]) => ('step' in from ? from.step : [])))]);
  const found = stepOrder(after);
  if ('circle' in found) {
    const circle = found.circle.map((step) => ids[step]).join(' after ');
    throw new Error(`its steps wait for each other in a circle: ${circle}`);
  }
  const { order } = found;
  const placed = ([key, from]: [string, TensorReference]): [string, TensorReference] =>
    'step' in from ? [key, { ...from, step: order.indexOf(from.step) }] : [key, from];
  const yielded = outputs.map((output): [string, TensorReference] => {
    const source = sources.get(output.name);
    if (source !== undefined) return placed([output.name, source]);
    throw new Error(`nothing yields output ${output.name}`);
  });
  return {
    ...{ name, sloNs, split: 'slack', outputs: Object.fromEntries(yielded) },
    steps: order.map((s) => ({
      ...{ id: ids[s], modelNames: [steps[s].model], version: steps[s].version },
      after: after[s].map((before) => order.indexOf(before)).sort((a, b) => a - b),
      inputs: Object.fromEntries(fed[s].map(placed)),
      ...{ each: [], isOne: true, least: 1, mean: 1, budget: 1 },
    })),
  };
}
