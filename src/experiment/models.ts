import { dirname, isAbsolute, join } from 'node:path';
import { type ErrorPlace, EscapementError } from '../core/errors.js';
import type { ModelSpec } from '../core/model.js';
import type { ClusterConfig } from './experiment.js';
import { fitModel } from './fit.js';
import { readModelsCsv } from './models-csv.js';
import { profileModel, readProfile } from './profile.js';
import type { ModelsSection } from './schema-models.js';
import { formatBytes, formatCount } from './units-text.js';
import { zooModels } from './zoo.js';

/** What the sections need to know of the experiment around them. */
export interface ModelsContext {
  /** The experiment file: paths are relative to its folder. */
  readonly file: string;
  readonly cluster: ClusterConfig;
  /** Where section `index`, or a key of it, is written. */
  placeOf(index: number, key?: string): ErrorPlace;
}

/**
 * All models of the run, section by section in order. Throws what reading their files throws,
 * `E_CONFIG_VALUE` where two have the same name and `E_MODEL_TOO_LARGE` where one exceeds the weights cache.
 */
export async function buildModels(
  sections: readonly ModelsSection[],
  context: ModelsContext,
): Promise<ModelSpec[]> {
  const models: ModelSpec[] = [];
  const names = new Set<string>();
  for (const [index, section] of sections.entries()) {
    for (const model of await sectionModels(section, context, index)) {
      if (names.has(model.name)) {
        throw new EscapementError(
          'E_CONFIG_VALUE',
          `two models are named ${model.name}: give one section another name`,
          context.placeOf(index),
        );
      }
      checkFits(model, context, index);
      names.add(model.name);
      models.push(model);
    }
  }
  return models;
}

/** A path of the experiment file as seen from where the program runs. */
export function relativeTo(file: string, path: string): string {
  return isAbsolute(path) ? path : join(dirname(file), path);
}

async function sectionModels(
  section: ModelsSection,
  context: ModelsContext,
  index: number,
): Promise<ModelSpec[]> {
  const { pageBytes } = context.cluster;
  switch (section.kind) {
    case 'csv':
      return readModelsCsv(relativeTo(context.file, section.path), pageBytes).catch(named(context, index));
    case 'profile': {
      const profile = await readProfile(relativeTo(context.file, section.path)).catch(named(context, index));
      return copiesOf(profileModel(profile, section.name ?? profile.name, pageBytes), section.copies);
    }
    case 'fit': {
      const name = section.name ?? `fit-${formatCount(section.parameters)}`;
      return copiesOf(fitModel({ name, parameters: section.parameters }, pageBytes), section.copies);
    }
    case 'zoo':
      return zooModels(section.varieties, section.copies, pageBytes);
  }
}

/** A missing file is reported where the experiment names it; other mistakes are in that file. */
function named(context: ModelsContext, index: number): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof EscapementError) || error.code !== 'E_FILE_MISSING') throw error;
    throw new EscapementError(error.code, error.message, context.placeOf(index, 'path'));
  };
}

function copiesOf(model: ModelSpec, copies: number): ModelSpec[] {
  if (copies === 1) return [model];
  return Array.from({ length: copies }, (_, copy) => ({ ...model, name: `${model.name}-${copy}` }));
}

function checkFits(model: ModelSpec, context: ModelsContext, index: number): void {
  const { pages, pageBytes } = context.cluster;
  if (model.pages <= pages) return;
  throw new EscapementError(
    'E_MODEL_TOO_LARGE',
    `model ${model.name} needs ${model.pages} pages of ${formatBytes(pageBytes)} and the weights cache of a GPU has ${pages}: ` +
      'raise cluster.pages or cluster.memory',
    context.placeOf(index),
  );
}
