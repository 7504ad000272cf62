import type { PipelineDefinition } from '../core/pipeline-definition.js';
import type { Ensemble } from '../live/model-list.js';
import type { ModelLabels } from '../live/observe/telemetry/labels.js';
import { type ServedPipeline, wirePipeline } from '../live/pipeline.js';
import type { ModelEntry } from '../live/service.js';
import { ensemblePipeline } from './ensemble-pipeline.js';
import type { ModelHandles } from './model-handles.js';
import type { Deployed, ModelTable } from './model-table.js';

/** A pipeline that a server was given, and what became of it. */
interface Row {
  readonly name: string;
  /** Null: its ensemble is. */
  readonly definition: PipelineDefinition | null;
  /** As a repository has it; null: it is not from one. */
  readonly ensemble: Ensemble | null;
  /** The pipeline as its models make it; null: they are not there. */
  wired: ServedPipeline | null;
  /** Models in their slots that it was last wired with; '': none. */
  models: string;
  handle: number;
  reason: string;
  /** Reason that the log has last. */
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
  /** Says why a pipeline is not served. */
  warn(name: string, why: string): void;
}

/** Pipelines of a server and ensembles of its repository, each in service while all of its models are. */
export class ServedPipelines {
  /** At the index of its pipeline. */
  private rows: (Row | undefined)[] = [];
  /** Handles of models that pipelines need. */
  private readonly needed = new Set<number>();

  constructor(definitions: readonly PipelineDefinition[]) {
    this.rows = definitions.map((definition) => ({
      ...NEW,
      name: definition.name,
      definition,
      ensemble: null,
    }));
  }

  /** Takes in the ensembles of the repository, or the one of that name. Call `refresh` then. */
  list(ensembles: readonly Ensemble[], name: string | null, { handles, warn, keeps }: Place): void {
    for (const [index, row] of this.rows.entries()) {
      if (row === undefined || row.ensemble === null || keeps || (name !== null && row.name !== name))
        continue;
      if (ensembles.some((each) => each.name === row.name)) continue;
      if (row.handle >= 0) handles.drop(row.handle, `pipeline ${row.name} is gone from the repository`);
      this.rows[index] = undefined;
    }
    for (const ensemble of ensembles) {
      const row = this.row(ensemble.name);
      if (row === undefined) {
        const free = this.rows.indexOf(undefined);
        const index = free < 0 ? this.rows.length : free;
        this.rows[index] = { ...NEW, name: ensemble.name, definition: null, ensemble };
      } else if (row.ensemble === null) warn(row.name, 'a pipeline of the experiment has its name');
      else if (JSON.stringify(ensemble) !== JSON.stringify(row.ensemble))
        this.rows[this.rows.indexOf(row)] = { ...row, ensemble, models: '' };
    }
  }

  /** Why a pipeline is not served, '' if it is; undefined: there is none of that name. */
  reasonOf(name: string): string | undefined {
    return this.row(name)?.reason;
  }

  /** True if a pipeline needs the model of that handle. */
  needs(handle: number): boolean {
    return this.needed.has(handle);
  }

  /** Takes pipelines into service or out of it. Call after each change of the models. */
  refresh(place: Place): void {
    this.needed.clear();
    for (const [index, row] of this.rows.entries()) {
      if (row === undefined) continue;
      try {
        this.wire(index, row, place);
      } catch (error) {
        const why = (error as Error).message;
        if (why !== row.warned && !place.isStarting) {
          place.warn(row.name, why);
          row.warned = why;
        }
        if (row.handle >= 0) place.handles.drop(row.handle, why);
        Object.assign(row, { wired: null, models: '', handle: -1, reason: why });
      }
    }
  }

  entries(labels: Pick<ModelLabels, 'numberOf'>): ModelEntry[] {
    const rows = this.rows.filter((row) => row !== undefined);
    return rows.map(({ name, wired, handle, reason }) => ({
      ...{ name, label: labels.numberOf(name), version: '1', isDefault: true },
      ...{ state: wired === null ? 'unavailable' : 'ready', index: handle },
      reason: reason && `not available: ${reason}`,
      model: wired?.model ?? null,
    }));
  }

  private row(name: string): Row | undefined {
    return this.rows.find((each) => each?.name === name);
  }

  private wire(index: number, row: Row, { table, handles, put }: Place): void {
    if (table.versions(row.name).length > 0)
      throw new Error(`pipeline ${row.name}: a model has its name: rename one of them`);
    const used: string[] = [];
    const found = wirePipeline(
      row.definition ?? ensemblePipeline(row.ensemble as Ensemble),
      (name, version) => {
        const model = served(table.versions(name), version);
        const at = model === undefined ? -1 : handles.indexOf(model.handle);
        if (model?.model == null || at < 0) return whyNot(name, version, table.versions(name));
        this.needed.add(model.handle);
        used.push(`${at} ${model.handle}`);
        return { index: at, model: model.model };
      },
      row.ensemble,
    );
    const models = used.join();
    if (models === row.models) return;
    row.models = models;
    const number = put(index, found);
    const isSame = JSON.stringify(row.wired?.model.signature) === JSON.stringify(found.model.signature);
    if (!isSame || row.handle < 0) {
      const handle = handles.issue(found.model, number);
      if (row.handle >= 0) handles.replace(row.handle, handle);
      row.handle = handle;
    }
    Object.assign(row, { wired: found, reason: '', warned: '' });
  }
}

const NEW = { wired: null, models: '', handle: -1, reason: 'waiting for its models', warned: '' } as const;

/** Version that a step means: of that number, or the highest one that is ready. */
function served(versions: readonly Deployed[], version: string | null): Deployed | undefined {
  return versions.findLast((row) => row.state === 'ready' && (version === null || row.version === version));
}

function whyNot(name: string, version: string | null, versions: readonly Deployed[]): string {
  const which = version === null ? `model ${name}` : `version ${version} of model ${name}`;
  const row = version === null ? versions.at(-1) : versions.find((each) => each.version === version);
  return row === undefined ? `there is no ${which}` : `${which} is ${row.state}: ${row.reason || 'asleep'}`;
}
