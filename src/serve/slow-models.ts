import { NS_PER_MS } from '../base/units.js';
import type { Experiment } from '../config/experiment.js';
import { targetNames } from '../config/pipelines.js';
import { formatDuration } from '../config/units-text.js';
import { TIMELINE_FUTURE_NS } from '../core/timeline.js';
import { selectModels } from '../workload/select-models.js';

/** A model with its measured time, and the SLO of its requests. */
interface TimedModel {
  readonly name: string;
  /** Time of an INFER at batch size 1. */
  readonly execNs: number;
  readonly sloNs: number;
}

/** Number of models named. */
const MOST_NAMED = 5;
/** Headroom of a suggested SLO for queueing, and its steps. */
const ROOM = 2;
const STEP_NS = 10 * NS_PER_MS;

/** Warning about models that can't meet their SLOs even on an idle GPU; null: none. */
export function slowModelsWarning(models: readonly TimedModel[]): string | null {
  const slow = models.filter(({ execNs, sloNs }) => execNs + TIMELINE_FUTURE_NS > sloNs);
  if (slow.length === 0) return null;
  const named = slow
    .slice(0, MOST_NAMED)
    .map(({ name, execNs, sloNs }) => `${name} (takes ${ms(execNs)}, SLO ${formatDuration(sloNs)})`);
  const others = slow.length > MOST_NAMED ? ` and ${slow.length - MOST_NAMED} more` : '';
  const longestNs = Math.max(...slow.map(({ execNs }) => execNs));
  const enough = formatDuration(STEP_NS * Math.ceil((ROOM * longestNs) / STEP_NS));
  return (
    `some models take longer on this device than their SLO allows, so none of their requests can be answered in time: ${named.join(', ')}${others}. ` +
    `Use a longer SLO (--set slo=${enough}, or slo in the config.yaml of a model) or a faster device`
  );
}

/** Models of an experiment with the shortest SLO that its workload has for each. */
export function timedModels({ models, pipelines, workloads, sloNs }: Experiment): TimedModel[] {
  const names = targetNames(models, pipelines);
  const shortestNs = models.map(() => Number.POSITIVE_INFINITY);
  for (const workload of workloads) {
    for (const m of selectModels(names, workload.models))
      if (m < models.length) shortestNs[m] = Math.min(shortestNs[m], workload.sloNs ?? sloNs);
  }
  return models.map(({ name, execNs }, m) => ({ name, execNs: execNs[0], sloNs: shortestNs[m] }));
}

function ms(ns: number): string {
  return `${Number((ns / NS_PER_MS).toPrecision(3))} ms`;
}
