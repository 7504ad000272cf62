import { nearest } from '../base/nearest.js';
import type { PipelineDefinition, TensorReference } from '../core/pipeline-definition.js';
import { MOST_STEPS } from '../core/pipelines.js';
import { stepOrder } from '../core/step-order.js';
import type { Ensemble, ModelList } from '../live/model-list.js';
import type { ModelLabels } from '../live/observe/telemetry/labels.js';
import { type FindModel, type ServedPipeline, wirePipeline } from '../live/pipeline.js';
import type { ModelEntry } from '../live/service.js';
import type { DeploymentEvents } from './deployment-options.js';
import type { ModelHandles } from './model-handles.js';
import { type Deployed, type ModelTable, shownState } from './model-table.js';

/** A pipeline of a server, and its state. */
interface Row {
  readonly name: string;
  /** Null: its ensemble is. */
  readonly definition: PipelineDefinition | null;
  /** Definition in a repository; null: it is not from one. */
  ensemble: Ensemble | null;
  /** The ensemble that was served last, and is as long as its replacement cannot be. */
  last: Ensemble | null;
  /** Why its file in the repository cannot be read; '' if it can. */
  refused: string;
  /** The pipeline as its models make it; null: they are not there. */
  wired: ServedPipeline | null;
  /** Models in their slots that it was last wired with; '': none. */
  models: string;
  handle: number;
  /** Why it, or its replacement, cannot be served; '' if it can. */
  problem: string;
  /** Problem that the log has last. */
  warned: string;
}

interface Place {
  readonly table: ModelTable;
  readonly handles: ModelHandles;
  /** True while models are on their way. */
  readonly isStarting: boolean;
  /** True if workers that may have other ensembles are absent. */
  readonly keeps: boolean;
  /** Serves a pipeline. Returns its index. */
  put(index: number, pipeline: ServedPipeline): number;
  readonly events: Pick<DeploymentEvents, 'info' | 'warn'>;
  /** Text of a problem for clients. */
  reasonOf(error: Error): string;
}

/** Pipelines of a server and ensembles of its repository, each in service while all of its models are. */
export class ServedPipelines {
  /** Served pipelines, by index. */
  private rows: (Row | undefined)[] = [];
  /** Handles of models that pipelines need. */
  private readonly needed = new Set<number>();
  private isRefreshing = false;

  constructor(definitions: readonly PipelineDefinition[]) {
    this.rows = definitions.map((definition) => ({
      ...NEW,
      name: definition.name,
      definition,
      ensemble: null,
    }));
  }

  /** Takes in the ensembles of the repository, or the one of that name. Call `refresh` then. */
  list({ ensembles, problems }: ModelList, name: string | null, place: Place): void {
    for (const [index, row] of this.rows.entries()) {
      if (row === undefined || row.ensemble === null || (name !== null && row.name !== name)) continue;
      if (ensembles.some((each) => each.name === row.name)) continue;
      const problem = problems.find((each) => each.name === row.name);
      if (problem !== undefined) row.refused = place.reasonOf(problem.error);
      else if (!place.keeps) {
        if (row.handle >= 0)
          place.handles.drop(row.handle, `pipeline ${row.name} is gone from the repository`);
        this.rows[index] = undefined;
      }
    }
    for (const ensemble of ensembles) {
      const row = this.row(ensemble.name);
      if (row === undefined) {
        const free = this.rows.indexOf(undefined);
        const index = free < 0 ? this.rows.length : free;
        this.rows[index] = { ...NEW, name: ensemble.name, definition: null, ensemble };
      } else if (row.ensemble === null)
        place.events.warn({ pipeline: row.name }, 'not served: a pipeline of the experiment has its name');
      else {
        row.refused = '';
        if (JSON.stringify(ensemble) !== JSON.stringify(row.ensemble)) row.ensemble = ensemble;
      }
    }
  }

  /** Models of the steps of a pipeline; undefined: there is none of that name. */
  modelsOf(name: string): readonly string[] | undefined {
    const { definition, ensemble } = this.row(name) ?? {};
    return (
      definition?.steps.flatMap(({ modelNames }) => modelNames) ?? ensemble?.steps.map(({ model }) => model)
    );
  }

  /** Why a pipeline, or its replacement, is not served; '' if it is. */
  problemOf(name: string): string {
    const { problem = '', wired = null } = this.row(name) ?? {};
    return problem && wired !== null ? `${problem}; the pipeline loaded before stays in service` : problem;
  }

  /** Problems of pipelines, those that `isWanted`. */
  problems(isWanted: (name: string) => boolean): string[] {
    return this.rows.flatMap((row) =>
      row !== undefined && row.problem !== '' && isWanted(row.name)
        ? `pipeline ${row.name}: ${row.problem}`
        : [],
    );
  }

  /** True if a pipeline needs the model of that handle. */
  needs(handle: number): boolean {
    return this.needed.has(handle);
  }

  /** Takes pipelines into service or out of it. Call after each change of the models. */
  refresh(place: Place): void {
    // Serving one is a change, too.
    if (this.isRefreshing) return;
    this.isRefreshing = true;
    try {
      this.needed.clear();
      for (const [index, row] of this.rows.entries())
        if (row !== undefined) this.refreshRow(index, row, place);
    } finally {
      this.isRefreshing = false;
    }
  }

  entries(
    labels: Pick<ModelLabels, 'numberOf'>,
    blockedOf: (handle: number) => Pick<ModelEntry, 'blocked'>,
  ): ModelEntry[] {
    const rows = this.rows.filter((row) => row !== undefined);
    const served = 'serves the pipeline loaded before; its replacement is rejected';
    return rows.map(({ name, wired, handle, problem }) => ({
      ...{ name, label: labels.numberOf(name), version: '1', isDefault: true },
      ...{ state: wired === null ? 'unavailable' : 'ready', index: handle, ...blockedOf(handle) },
      reason: problem && `${wired === null ? 'not available' : served}: ${problem}`,
      model: wired?.model ?? null,
    }));
  }

  private refreshRow(index: number, row: Row, place: Place): void {
    const { name, last } = row;
    row.problem = row.refused || this.wire(index, row, row.ensemble, place);
    const isServed = row.problem === '' || (last !== null && this.wire(index, row, last, place) === '');
    if (!isServed) {
      if (row.handle >= 0) place.handles.drop(row.handle, `pipeline ${name}: ${row.problem}`);
      Object.assign(row, { wired: null, models: '', handle: -1 });
    }
    if (place.isStarting || row.problem === row.warned) return;
    row.warned = row.problem;
    const what = isServed
      ? 'its replacement is rejected; the pipeline loaded before stays in service'
      : 'pipeline cannot be served';
    const { file, line } = row.definition?.place ?? {};
    if (row.problem !== '') place.events.warn({ pipeline: name, file, line, error: row.problem }, what);
  }

  private row(name: string): Row | undefined {
    return this.rows.find((each) => each?.name === name);
  }

  /** Wires it with the models that are there. Returns why they cannot serve it; empty if they can. */
  private wire(
    index: number,
    row: Row,
    ensemble: Ensemble | null,
    { table, handles, put, events }: Place,
  ): string {
    const { name } = row;
    if (table.versions(name).length > 0) return 'a model has its name: rename one of them';
    const used: string[] = [];
    try {
      const definition = ensemble === null ? row.definition : ensemblePipeline(ensemble);
      const find: FindModel = (model, version) => {
        const found = served(table.versions(model), version);
        const at = found === undefined ? -1 : handles.indexOf(found.handle);
        if (found?.model == null || at < 0) return this.whyNot(model, version, table);
        this.needed.add(found.handle);
        used.push(`${at} ${found.handle}`);
        return { index: at, model: found.model };
      };
      const wired = wirePipeline(definition as PipelineDefinition, find, ensemble);
      const models = used.join();
      if (models === row.models && ensemble === row.last) return '';
      const number = put(index, wired);
      const isSame = JSON.stringify(row.wired?.model.signature) === JSON.stringify(wired.model.signature);
      if (!isSame || row.handle < 0) {
        const handle = handles.issue(wired.model, number);
        if (row.handle >= 0) handles.replace(row.handle, handle);
        row.handle = handle;
        for (const { id, isOne, each } of definition?.steps ?? [])
          if (!isOne && each.length === 0)
            events.warn(
              { pipeline: name, step: id },
              'served as one request: fanOut and probability need each to apply here',
            );
      }
      Object.assign(row, { wired, models, last: ensemble });
      events.info({ pipeline: name }, 'pipeline is ready');
      return '';
    } catch (error) {
      const { message } = error as Error;
      return ensemble === null ? message : `${name}/config.pbtxt: ${message}`;
    }
  }

  /** Why there is no such model for a step. */
  private whyNot(name: string, version: string | null, table: ModelTable): string {
    const versions = table.versions(name);
    const which =
      version === null || versions.length === 0 ? `model ${name}` : `version ${version} of model ${name}`;
    const row = version === null ? versions.at(-1) : versions.find((each) => each.version === version);
    if (row !== undefined) return `${which} is ${row.status === 'ready' ? 'asleep' : shownState(row).reason}`;
    if (versions.length > 0)
      return `there is no ${which}, only ${versions.map((each) => each.version).join(', ')}`;
    if (this.row(name) !== undefined) return `${name} is a pipeline, which cannot be a step`;
    const { names } = table;
    const meant = nearest(name, names);
    const known =
      names.length > MOST_KNOWN ? `${names.slice(0, MOST_KNOWN).join(', ')}, …` : names.join(', ');
    return `there is no ${which}; ${meant === undefined ? `known: ${known}` : `did you mean ${meant}?`}`;
  }
}

/** Models that an error lists at most. */
const MOST_KNOWN = 10;

const NEW = {
  ...{ last: null, refused: '', wired: null, models: '', handle: -1 },
  ...{ problem: 'waiting for its models', warned: '' },
} as const;

/** Version that a step means: of that number, or the highest one that is ready. */
function served(versions: readonly Deployed[], version: string | null): Deployed | undefined {
  return versions.findLast((row) => row.status === 'ready' && (version === null || row.version === version));
}

/** Makes a pipeline of an ensemble. Throws an error for operators if its steps do not fit together. */
function ensemblePipeline({ name, sloNs, steps, inputs, outputs }: Ensemble): PipelineDefinition {
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
    throw new Error(`its steps form a cycle: ${circle}`);
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
