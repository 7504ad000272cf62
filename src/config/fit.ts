import { NS_PER_MS, NS_PER_S } from '../base/units.js';
import type { ModelSpec } from '../core/model.js';

/**
 * Estimates latencies of a model without a profile, as of Clockwork's runtime on a V100 (TVM, FP32):
 * latency(b) ≈ α·b + β. The three models that Clockwork's authors measured give
 *
 *   model     parameters   α ms    β ms    ms an image on an RTX 3090 (timm, AMP, batch 1024)
 *   resnet18     11.69 M   0.680   1.034   0.1080
 *   resnet50     25.56 M   1.206   2.575   0.3107
 *   resnet152    60.19 M   3.408   7.454   0.7281
 *
 * (α and β: straight lines through their medians at batch 1 to 16.) Both α and β are proportional to the model's size,
 * in parameters or better in measured time; each constant below is the geometric mean of the three ratios. The
 * estimated α and β of the three are within 20 % by parameters, within 30 % by time.
 */
const ALPHA_MS_PER_M_PARAMETERS = 0.0538;
const BETA_MS_PER_M_PARAMETERS = 0.1033;
const ALPHA_PER_IMAGE_TIME = 4.86;
const BETA_PER_IMAGE_TIME = 9.33;

/** FP32. */
const BYTES_PER_PARAMETER = 4;
/** Host to GPU over PCIe 3 x16: Clockwork loads the 102.16 MB of ResNet-50 in 8.37 ms. */
const LOAD_BYTES_PER_S = 12.2e9;
const BATCH_SIZES = [1, 2, 4, 8, 16];
/** 1,000 classes, FP32. */
export const OUTPUT_BYTES = 4000;
const DEFAULT_IMAGE_SIZE = 224;
/** A square RGB image of the usual size, FP32. */
export const IMAGE_BYTES = imageBytes(DEFAULT_IMAGE_SIZE);

/** Known properties of a model. */
interface FitInput {
  readonly name: string;
  readonly parameters: number;
  /** Measured images per second on an RTX 3090, if known: more accurate than the parameters. */
  readonly imagesPerS?: number;
  /** Side of the square RGB input, pixels; default 224. */
  readonly imageSize?: number;
}

/** Model specification by the fit, with pages of `pageBytes`. */
export function fitModel(known: FitInput, pageBytes: number): ModelSpec {
  const weightsBytes = Math.round(known.parameters * BYTES_PER_PARAMETER);
  const { alphaMs, betaMs } = fitLatency(known);
  return {
    name: known.name,
    weightsBytes,
    pages: Math.max(1, Math.ceil(weightsBytes / pageBytes)),
    loadNs: loadNsOf(weightsBytes),
    batchSizes: BATCH_SIZES,
    execNs: BATCH_SIZES.map((batch) => Math.max(1, Math.round((alphaMs * batch + betaMs) * NS_PER_MS))),
    inputBytes: imageBytes(known.imageSize ?? DEFAULT_IMAGE_SIZE),
    outputBytes: OUTPUT_BYTES,
  };
}

/** α (per request of the batch) and β (per INFER) of the fit. */
export function fitLatency(known: FitInput): { readonly alphaMs: number; readonly betaMs: number } {
  if (known.imagesPerS === undefined) {
    const millions = known.parameters / 1e6;
    return { alphaMs: ALPHA_MS_PER_M_PARAMETERS * millions, betaMs: BETA_MS_PER_M_PARAMETERS * millions };
  }
  const imageMs = 1000 / known.imagesPerS;
  return { alphaMs: ALPHA_PER_IMAGE_TIME * imageMs, betaMs: BETA_PER_IMAGE_TIME * imageMs };
}

/** Duration of a LOAD of this size. */
export function loadNsOf(weightsBytes: number): number {
  return Math.max(1, Math.round((weightsBytes / LOAD_BYTES_PER_S) * NS_PER_S));
}

/** Weights of a model whose INFER of one request takes this long by the fit. */
export function estimatedWeightsBytes(firstNs: number): number {
  const millions = firstNs / NS_PER_MS / (ALPHA_MS_PER_M_PARAMETERS + BETA_MS_PER_M_PARAMETERS);
  return Math.max(1, Math.round(millions * 1e6 * BYTES_PER_PARAMETER));
}

/** Latencies by batch size, ascending. */
type Sizes = readonly (readonly [batch: number, ns: number])[];

/**
 * Latency at batch 1: measured, or on the straight line through the two smallest batches, but no less than a request's
 * part of the smallest batch, and no more than that batch takes. With a single batch, on the line of `fit`.
 */
export function firstNs([smallest, second]: Sizes): number {
  const [batch, ns] = smallest!;
  if (batch === 1) return ns;
  const [alpha, beta] = [ALPHA_MS_PER_M_PARAMETERS, BETA_MS_PER_M_PARAMETERS];
  if (second === undefined) return Math.max(1, Math.round((ns * (alpha + beta)) / (alpha * batch + beta)));
  const slopeNs = (second[1] - ns) / (second[0] - batch);
  return Math.round(Math.min(ns, Math.max(ns / batch, ns - (batch - 1) * slopeNs)));
}

function imageBytes(side: number): number {
  return 3 * side * side * BYTES_PER_PARAMETER;
}
