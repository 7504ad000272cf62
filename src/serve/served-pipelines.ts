import type { PipelineDefinition } from '../core/pipeline-definition.js';
import type { ModelLabels } from '../live/observe/telemetry/labels.js';
import { type DeclaredTensors, type ServedPipeline, wirePipeline } from '../live/pipeline.js';
import type { ModelEntry } from '../live/service.js';
import type { ModelHandles } from './model-handles.js';
import type { Deployed, ModelTable } from './model-table.js';

/** A pipeline that a server was given, and what became of it. */
interface Row {
  readonly definition: PipelineDefinition;
  readonly declared: DeclaredTensors | null;
  /** The pipeline as its models make it; null: they are not there. */
  wired: ServedPipeline | null;
  /** Models in their slots that it was last wired with; '': none. */
  models: string;
  handle: number;
  reason: string;
}

interface Place {
  readonly table: ModelTable;
  readonly handles: ModelHandles;
  /** Serves a pipeline. Returns its index. */
  put(index: number, pipeline: ServedPipeline): number;
  /** Says why a pipeline is not served. */
  warn(name: string, why: string): void;
}

/** Pipelines of a server, each in service while all of its models are. */
export class ServedPipelines {
  private readonly rows: Row[] = [];
  /** Handles of models that pipelines need. */
  private readonly needed = new Set<number>();

  constructor(definitions: readonly PipelineDefinition[]) {
    for (const definition of definitions) this.add(definition, null);
  }

  /** Adds a pipeline, or gives that of its name another form. */
  add(definition: PipelineDefinition, declared: DeclaredTensors | null): void {
    const row = { definition, declared, wired: null, models: '', handle: -1, reason: WAITS };
    const at = this.rows.findIndex((each) => each.definition.name === definition.name);
    if (at < 0) this.rows.push(row);
    else if (JSON.stringify(definition) !== JSON.stringify(this.rows[at].definition))
      this.rows[at] = { ...row, handle: this.rows[at].handle };
  }

  /** True if a pipeline needs the model of that handle. */
  needs(handle: number): boolean {
    return this.needed.has(handle);
  }

  /** Takes pipelines into service or out of it. Call after each change of the models. */
  refresh(place: Place): void {
    this.needed.clear();
    for (const [index, row] of this.rows.entries()) {
      try {
        this.wire(index, row, place);
      } catch (error) {
        const why = (error as Error).message;
        if (why !== row.reason) place.warn(row.definition.name, why);
        if (row.handle >= 0) place.handles.drop(row.handle, why);
        Object.assign(row, { wired: null, models: '', handle: -1, reason: why });
      }
    }
  }

  entries(labels: Pick<ModelLabels, 'numberOf'>): ModelEntry[] {
    return this.rows.map(({ definition: { name }, wired, handle, reason }) => ({
      ...{ name, label: labels.numberOf(name), version: '1', isDefault: true },
      ...{ state: wired === null ? 'unavailable' : 'ready', reason, index: handle },
      model: wired?.model ?? null,
    }));
  }

  private wire(index: number, row: Row, { table, handles, put }: Place): void {
    const { definition, declared } = row;
    if (table.versions(definition.name).length > 0)
      throw new Error(`pipeline ${definition.name}: a model has its name: rename one of them`);
    const used: string[] = [];
    const found = wirePipeline(
      definition,
      (name, version) => {
        const model = served(table.versions(name), version);
        const at = model === undefined ? -1 : handles.indexOf(model.handle);
        if (model?.model == null || at < 0) return whyNot(name, version, table.versions(name));
        this.needed.add(model.handle);
        used.push(`${at} ${model.handle}`);
        return { index: at, model: model.model };
      },
      declared,
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
    Object.assign(row, { wired: found, reason: '' });
  }
}

const WAITS = 'waiting for its models';

/** Version that a step means: of that number, or the highest one that is ready. */
function served(versions: readonly Deployed[], version: string | null): Deployed | undefined {
  return versions.findLast((row) => row.state === 'ready' && (version === null || row.version === version));
}

function whyNot(name: string, version: string | null, versions: readonly Deployed[]): string {
  const which = version === null ? `model ${name}` : `version ${version} of model ${name}`;
  const row = version === null ? versions.at(-1) : versions.find((each) => each.version === version);
  return row === undefined ? `there is no ${which}` : `${which} is ${row.state}: ${row.reason || 'asleep'}`;
}
