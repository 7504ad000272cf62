import { basename } from 'node:path';
import { EscapementError } from '../../base/errors.js';
import { NS_PER_MS } from '../../base/units.js';
import { summarize } from '../../live/models/measure/until-stable.js';
import type { Measurement, ReadMeasurements, Stated } from './measurement.js';

/** A format that is no table: how it is recognized, and how it is read. */
interface Format {
  readonly name: string;
  readonly isOf: (begin: string) => boolean;
  readonly read: (text: string, stated: Stated, fail: Fail) => Omit<ReadMeasurements, 'format'>;
}

type Fail = (what: string) => EscapementError;

const NO_BATCH = 'has no batch size: give --batch, or name the file NAME_b8';

/** Formats of benchmark tools, in the order in which they are tried. */
const FORMATS: readonly Format[] = [
  {
    name: 'trtexec log',
    isOf: (begin) => /\[I\].*(?:TensorRT|Performance summary|=== )/.test(begin),
    read: (text, stated, fail) => {
      const line = /GPU Compute Time: (min = .*)/.exec(text)?.[1];
      if (line === undefined) throw fail('is a trtexec log without a line "GPU Compute Time"');
      const ms = (word: string) => {
        const found = new RegExp(`${word} = ([\\d.e+-]+) ms`).exec(line)?.[1];
        return found === undefined ? undefined : Number(found);
      };
      const medianMs = ms('median') ?? ms('mean');
      if (medianMs === undefined) throw fail('has neither a median nor a mean of the GPU compute time');
      const shape = /--(?:opt)?[sS]hapes=[^\s:]+:(\d+)x/.exec(text)?.[1] ?? /--batch=(\d+)/.exec(text)?.[1];
      const source = /--(?:onnx|loadEngine)=(\S+)/.exec(text)?.[1];
      const [, engine, engineUnit] = /[Ll]oaded engine size: (\d+) (MiB|MB)/.exec(text) ?? [];
      const one = {
        ...known(stated, fail, {
          model: source && basename(source).replace(/\.[^.]+$/, ''),
          gpu: /Selected Device: (.+)/.exec(text)?.[1],
          batch: shape === undefined ? undefined : Number(shape),
          precision: /--(fp16|int8|fp8|bf16|best)\b/.exec(text)?.[1],
        }),
        ...{ medianMs, minMs: ms('min'), maxMs: ms('max') },
        ...{ p90Ms: ms('percentile\\(90%\\)'), p99Ms: ms('percentile\\(99%\\)') },
        ...(engine && { weightsBytes: Number(engine) * (engineUnit === 'MiB' ? 2 ** 20 : 1e6) }),
        runtime: 'TensorRT',
      };
      const notes = ['an INFER is the GPU compute time; copies are not part of it'];
      return { measurements: [{ ...one, from: '' }], notes };
    },
  },
  {
    name: 'trtexec times',
    isOf: (begin) => /"computeMs"/.test(begin),
    read: (text, stated, fail) => {
      const rows = parseJson(text, fail);
      const times = (Array.isArray(rows) ? rows : []).map((row) => Number(row?.computeMs));
      return fromTimes(times, 'TensorRT', stated, fail, 'an INFER is the GPU compute time');
    },
  },
  {
    name: 'perf_analyzer export',
    isOf: (begin) => /^\s*\{/.test(begin) && begin.includes('"experiments"'),
    read: (text, stated, fail) => {
      const { experiments } = parseJson(text, fail) as { experiments: unknown };
      const all: readonly PerfExperiment[] = Array.isArray(experiments) ? experiments : [];
      const loads = all.filter(
        ({ experiment, requests }) => experiment?.mode !== undefined && Array.isArray(requests),
      );
      const least = loads.sort((a, b) => Number(a.experiment.value) - Number(b.experiment.value))[0];
      const times = (least?.requests ?? []).flatMap(({ timestamp, response_timestamps: responses }) => {
        const last = Array.isArray(responses) ? responses[responses.length - 1] : undefined;
        return last === undefined ? [] : [(Number(last) - Number(timestamp)) / 1e6];
      });
      const at = least === undefined ? '' : ` at ${least.experiment.mode} ${least.experiment.value}`;
      const note = `an INFER is what a client waited${at}, with the way to the server and back`;
      return fromTimes(times, 'Triton', stated, fail, note);
    },
  },
  {
    name: 'MLPerf summary',
    isOf: (begin) => begin.includes('MLPerf Results Summary'),
    read: (text, stated, fail) => {
      const value = (title: string) => new RegExp(`^\\s*${title}\\s*: (.+)$`, 'm').exec(text)?.[1]?.trim();
      const scenario = value('Scenario');
      if (scenario !== 'SingleStream' && scenario !== 'MultiStream') {
        const why =
          'requests of a batch are not known; SingleStream and MultiStream have the times of batches';
        throw fail(`is of scenario ${scenario ?? 'unknown'}: ${why}`);
      }
      const ms = (title: string) => {
        const ns = Number(value(`${title} latency \\(ns\\)`) ?? Number.NaN);
        return Number.isFinite(ns) ? ns / 1e6 : undefined;
      };
      const medianMs = ms('50\\.00 percentile') ?? ms('Mean');
      if (medianMs === undefined) throw fail('has no line "50.00 percentile latency (ns)"');
      const samples = value('samples_per_query');
      const one = {
        ...known(stated, fail, { batch: scenario === 'SingleStream' ? 1 : Number(samples) }),
        ...{ medianMs, minMs: ms('Min'), maxMs: ms('Max') },
        ...{ p90Ms: ms('90\\.00 percentile'), p99Ms: ms('99\\.00 percentile') },
        runtime: `MLPerf (${value('SUT name') ?? 'unnamed'})`,
      };
      const notes = [`an INFER is the latency of a ${scenario} query`];
      return { measurements: [{ ...one, from: '' }], notes };
    },
  },
];

interface PerfExperiment {
  readonly experiment: { readonly mode?: unknown; readonly value?: unknown };
  readonly requests: readonly { readonly timestamp: unknown; readonly response_timestamps: unknown }[];
}

/** Reads the output of a benchmark tool; null: it is none that is known. Throws `E_PROFILE`. */
export function readReport(text: string, file: string, stated: Stated): ReadMeasurements | null {
  const format = FORMATS.find(({ isOf }) => isOf(text.slice(0, 1 << 16)));
  if (format === undefined) return null;
  const fail = (what: string) => new EscapementError('E_PROFILE', what, { file });
  const { measurements, notes } = format.read(text, stated, fail);
  return { format: format.name, measurements: measurements.map((one) => ({ ...one, from: file })), notes };
}

/** Facts of a file: its own, or else stated ones. */
function known(
  stated: Stated,
  fail: Fail,
  said: {
    readonly model?: string | undefined;
    readonly gpu?: string | undefined;
    readonly precision?: string | undefined;
    readonly batch?: number | undefined;
  } = {},
): Pick<Measurement, 'model' | 'gpu' | 'precision' | 'batch'> {
  const batch = said.batch ?? stated.batch;
  if (batch === undefined || !(batch >= 1)) throw fail(NO_BATCH);
  return {
    model: said.model ?? stated.model,
    gpu: said.gpu?.trim() ?? stated.gpu,
    precision: said.precision ?? stated.precision,
    batch,
  };
}

function fromTimes(timesMs: readonly number[], runtime: string, stated: Stated, fail: Fail, note: string) {
  const times = timesMs.filter((ms) => ms > 0 && Number.isFinite(ms));
  if (times.length === 0) throw fail('has no times');
  const one = { ...known(stated, fail), ...summarize(times.map((ms) => ms * NS_PER_MS)), runtime, from: '' };
  return { measurements: [one], notes: [note] };
}

function parseJson(text: string, fail: Fail) {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw fail(`is not valid JSON: ${(error as Error).message}`);
  }
}
