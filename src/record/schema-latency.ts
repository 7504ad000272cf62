import * as z from 'zod';
import { list, text } from './schema-figure.js';

const latency = () => z.number().nonnegative().nullable();

export const latencyMsSchema = z.object({
  mean: latency().describe('Arithmetic mean.'),
  p50: latency().describe('50th percentile (nearest rank, within 0.05 %, as the other percentiles).'),
  p90: latency().describe('90th percentile.'),
  p95: latency().describe('95th percentile.'),
  p99: latency().describe('99th percentile.'),
  p999: latency().describe('99.9th percentile.'),
  p9999: latency().describe('99.99th percentile.'),
  max: latency().describe('Largest value.'),
});

/** Both readings of latency, for a run or for a group of its requests. */
export const latencies = {
  offeredLatencyMs: latencyMsSchema.describe(
    'Latency of all offered requests, ms, which thresholds and targets use. A request that was not answered within its SLO counts as infinitely late: a percentile that falls on one is null, and so are mean and max if there is one.',
  ),
  executedLatencyMs: latencyMsSchema.describe('Latency of executed requests only (ok and late).'),
};

export const percentileMsSchema = z.object({
  percentile: z.number().min(0).max(100).describe('E.g. 99.95.'),
  offeredMs: latency().describe('As in offeredLatencyMs.'),
  executedMs: latency().describe('As in executedLatencyMs.'),
});

export const latencyCdfSchema = z.object({
  percentile: list(
    z.number().min(0).max(100),
    'Ascending; the last is the share of requests answered in time.',
  ),
  ms: list(z.number().nonnegative(), 'Latency at each percentile, ms.'),
});

export const thresholdResultSchema = z.object({
  threshold: text('As written.'),
  ok: z.boolean().describe('True if it is met.'),
  actual: z
    .number()
    .nullable()
    .describe(
      'The measured value, latencies in ms; null if there was nothing to measure, which fails, or if a latency falls on a request not answered in time.',
    ),
  measured: text('Figure as text, e.g. 94 ms.'),
});
