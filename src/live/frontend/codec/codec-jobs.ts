import { splitInputs } from './split-inputs.js';

/**
 * What codec threads do, by name. A job is a pure function of plain data: it throws a `Refusal` for what the client got
 * wrong.
 */
export const CODEC_JOBS = {
  splitInputs,
} as const;

type CodecJobs = typeof CODEC_JOBS;
export type CodecJob = keyof CodecJobs;
export type JobInput<Name extends CodecJob> = Parameters<CodecJobs[Name]>[0];
export type JobValue<Name extends CodecJob> = ReturnType<CodecJobs[Name]>['value'];
