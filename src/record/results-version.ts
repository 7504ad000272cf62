/**
 * Version of `run.json` and `results.json`. In its own file, so that pages that simulate do not load the schemas of
 * results.
 */
export const RESULTS_VERSION = 7;
