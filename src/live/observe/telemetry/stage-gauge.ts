import { Gauge, type Registry } from 'prom-client';
import { NS_PER_S } from '../../../base/units.js';
import type { Cluster } from '../../../core/cluster.js';
import { ModelLabels } from './model-labels.js';
import { STAGE_NAMES, type Stage, type StageAverages } from './stage-averages.js';

/** The moving averages as a gauge, computed when somebody asks. Models that ran nothing lately have no value. */
export function registerStageGauge(
  registry: Registry,
  averages: StageAverages,
  cluster: Pick<Cluster, 'models'>,
  nowNs: () => number,
): void {
  new Gauge({
    name: 'escapement_stage_seconds',
    help: 'Moving average, over about ten seconds, of the time that executed requests spent in a stage',
    labelNames: ['model', 'stage'],
    registers: [registry],
    collect() {
      this.reset();
      const atNs = nowNs();
      const labels = new ModelLabels(cluster.models.map(({ name }) => name));
      labels.values.forEach((model, label) => {
        const models = labels.modelsOf(label);
        STAGE_NAMES.forEach((stage, index) => {
          const meanNs = averages.meanNs(models, index as Stage, atNs);
          if (meanNs !== null) this.set({ model, stage }, meanNs / NS_PER_S);
        });
      });
    },
  });
}
