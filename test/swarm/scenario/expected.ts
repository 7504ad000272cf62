import type { ClusterScenario, PipelineScenario } from './scenario.js';

/** As a client or a model deals out for a request. */
const MOST_ROWS = 4;
/** By what the numbers of rows differ. */
const ROW = 1 / 64;

/** What a model or a pipeline makes of a request: devices add one to the number that a tensor begins with. */
export interface Expected {
  /** By output: the number that each row begins with. */
  readonly numbers: readonly (readonly number[])[];
  /** By step: its models, the most accurate first, and its requests. */
  readonly runs: readonly { readonly models: readonly string[]; readonly count: number }[];
}

/** Numbers that the rows of a number begin with, none or several. */
export function rowsOf(number: number): number[] {
  return Array.from({ length: number % (MOST_ROWS + 1) }, (_, row) => number + row * ROW);
}

export function isPipeline({ pipelines = [] }: ClusterScenario, name: string): boolean {
  return pipelines.some((one) => one.name === name);
}

/** Bytes of each row of an output. */
export function rowBytes({ models }: ClusterScenario, name: string): number {
  const { outputBytes } = models.find((model) => model.name === name) ?? models[0];
  return 4 * Math.max(1, Math.ceil(outputBytes / 4));
}

/** For the request of that number. */
export function expectedOf(cluster: ClusterScenario, name: string, request: number): Expected {
  const pipeline = cluster.pipelines?.find((one) => one.name === name);
  if (pipeline !== undefined) return ofPipeline(cluster, pipeline, request);
  return { numbers: [made(cluster, name, request)], runs: [{ models: [name], count: 1 }] };
}

function made({ models }: ClusterScenario, name: string, number: number): number[] {
  const hasRows = models.find((model) => model.name === name)?.yieldsRows === true;
  return (hasRows ? rowsOf(number) : [number]).map((row) => row + 1);
}

function ofPipeline(cluster: ClusterScenario, { steps }: PipelineScenario, request: number): Expected {
  const yields: number[][] = [];
  const counts: number[] = [];
  for (const { models, after, source, isDealt } of steps) {
    const dealt = source === null ? rowsOf(request) : yields[source];
    const given = isDealt ? dealt : source === null ? [request] : dealt;
    const isSkipped = after.length > 0 && after.every((before) => counts[before] === 0);
    counts.push(isSkipped ? 0 : given.length);
    yields.push(isSkipped ? [] : given.flatMap((number) => made(cluster, models[0], number)));
  }
  const isLast = (s: number) => steps.every(({ after }) => !after.includes(s));
  return {
    numbers: yields.filter((_, s) => isLast(s)),
    runs: steps.map(({ models }, s) => ({ models, count: counts[s] })),
  };
}
