/** Upper bounds of histogram buckets, in seconds: answers take milliseconds to seconds. */
export const LATENCY_BUCKETS_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** Requests per INFER. Models have batch sizes that are powers of two. */
export const BATCH_BUCKETS = [1, 2, 4, 8, 16, 32, 64, 128];
/** Errors of predictions and timers, and steps of the scheduler: good values are far below a millisecond. */
export const ERROR_BUCKETS_S = [
  0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
];
