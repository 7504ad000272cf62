import { Gauge, type Registry } from 'prom-client';
import { NS_PER_S } from '../../../base/units.js';
import { ModelLabels } from './model-labels.js';
import { STAGE_NAMES, type Stage, type StageAverages } from './stage-averages.js';

/** The moving averages as a gauge, computed when somebody asks. Models that ran nothing lately have no value. */
export function registerStageGauge(
  registry: Registry,
  averages: StageAverages,
  modelNames: readonly string[],
  nowNs: () => number,
): void {
  const labels = new ModelLabels(modelNames);
  new Gauge({
    name: 'escapement_stage_seconds',
    help: 'Moving average, over about ten seconds, of the time that executed requests spent in a stage',
    labelNames: ['model', 'stage'],
    registers: [registry],
    collect() {
      this.reset();
      const atNs = nowNs();
      labels.values.forEach((model, label) => {
        const endModel = label === labels.values.length - 1 ? modelNames.length : label + 1;
        STAGE_NAMES.forEach((stage, index) => {
          const meanNs = averages.meanNs(label, endModel, index as Stage, atNs);
          if (meanNs !== null) this.set({ model, stage }, meanNs / NS_PER_S);
        });
      });
    },
  });
}
