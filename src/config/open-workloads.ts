import { longestInput } from '../core/lengths.js';
import { mergeSources } from '../workload/merge.js';
import { openWorkload } from '../workload/open.js';
import type { StreamedSource } from '../workload/source.js';
import type { WorkloadSpec } from '../workload/spec.js';
import type { Experiment } from './experiment.js';
import { refuse } from './fields.js';
import { sectionNames } from './part-names.js';
import { targetNames } from './pipelines.js';

/** All workload sections of a run as one stream. */
export interface OpenedWorkloads {
  readonly source: StreamedSource;
  /** Nominal end of the run: the end of the last section. */
  readonly durationNs: number;
  /** Names of the sections, and the first user id of each. */
  readonly sections: readonly string[];
  readonly sectionStarts: readonly number[];
  /** SLO of each section's requests, ns; null if rows of a file carry their own. */
  readonly sectionSlosNs: readonly (number | null)[];
}

/** Opens every workload section of an experiment. Throws coded errors for bad traces and model names. */
export async function openWorkloads(experiment: Experiment): Promise<OpenedWorkloads> {
  const { workloads, sloNs, seed, files, classes, tenants } = experiment;
  const models = targetNames(experiment.models, experiment.pipelines);
  const longest = experiment.models.map(longestInput);
  const sources: StreamedSource[] = [];
  const sectionStarts: number[] = [];
  let durationNs = 0;
  let users = 0;
  for (let i = 0; i < workloads.length; i++) {
    const placeOf = (key: string) => experiment.placeOf(['workload', i, key]);
    const opened = await openWorkload(
      workloads[i],
      { models, longest, sloNs, seed, files, placeOf },
      streamsOf(i),
    );
    opened.source.requestClass = indexOf(classes, workloads[i].class);
    opened.source.tenant = indexOf(tenants.list, workloads[i].tenant);
    sources.push(opened.source);
    sectionStarts.push(users);
    users += opened.source.users;
    durationNs = Math.max(durationNs, opened.durationNs);
  }
  if (durationNs <= experiment.warmupNs) {
    const what = 'the warm-up lasts as long as the workload: nothing is left to count';
    refuse(what, experiment.placeOf(['warmup']));
  }
  return {
    source: sources.length === 1 ? sources[0] : mergeSources(sources),
    durationNs,
    sections: sectionNames(experiment),
    sectionStarts,
    sectionSlosNs: workloads.map((workload) => sloOf(workload, sloNs)),
  };
}

/** Index of a name; the first if a section names none. */
function indexOf(declared: readonly { readonly name: string }[], name: string | undefined): number {
  const index = declared.findIndex((each) => each.name === name);
  return Math.max(0, index);
}

/** Name of the random streams of a section. */
export function streamsOf(section: number): string {
  return `workload-${section}`;
}

function sloOf(workload: WorkloadSpec, runSloNs: number): number | null {
  if (workload.sloNs !== undefined) return workload.sloNs;
  return workload.kind === 'arrivals' && !workload.overrideSlo ? null : runSloNs;
}
