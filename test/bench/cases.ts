/** One benchmark: an experiment as text, and overrides of it. */
export interface BenchCase {
  readonly name: string;
  /** Requests per wall second that the project aims for on one thread; 0: no aim. */
  readonly aim: number;
  readonly experiment: string;
  readonly overrides: readonly string[];
}

/** Overrides that shorten a case to about a second, for versions that take turns. */
const SHORT: Readonly<Record<string, string>> = {
  '15-models-1-gpu': 'workload.duration=400s',
  '60-models-4-gpus': 'workload.duration=100s',
  '60-models-4-gpus-escapement': 'workload.duration=100s',
  '15-models-1-gpu-escapement': 'workload.duration=300s',
  '400-models-100-gpus-escapement': 'workload.duration=5s',
  '4026-models-100-gpus': 'workload.interval=2s',
  'm-m-1': 'workload.duration=1000s',
};

/** The cases of `benchCases` that two versions run in turns, shortened. */
export function shortCases(): BenchCase[] {
  return benchCases(undefined)
    .filter(({ name }) => name in SHORT)
    .map((one) => ({ ...one, overrides: [...one.overrides, SHORT[one.name]] }));
}

const RESNET50 =
  'models: { kind: profile, path: profiles/resnet50_v2.clockwork-sim.v100.json, copies: COPIES }';
const VARIETIES = 61;
const POLICY = 'policy: { kind: clockwork, scheduleAhead: 5ms }\nslo: 100ms\nseed: 1';
const ESCAPEMENT = 'policy: { kind: escapement }\nslo: 100ms\nseed: 1';
/** Admission by prediction is measured by `--set admission=predict`. */
const OVERRIDES = ['admission=none'];

/** GPUs of the cases of growth. */
export const GROWTH = [1, 10, 100, 400, 1000] as const;

/** Seconds of one GPU's load that each case plays, and no less than one of all. */
const GPU_SECONDS = 667;

/** The same load per GPU on more and more of them, with about as many requests in all, and 15 models per 4 GPUs. */
export function growthCases(): BenchCase[] {
  return GROWTH.map((gpus) => {
    const models = Math.ceil((15 / 4) * gpus);
    const varieties = Math.min(VARIETIES, models);
    const copies = Math.ceil(models / varieties);
    const seconds = Math.max(1, Math.round(GPU_SECONDS / gpus));
    return {
      name: `growth-${gpus}`,
      aim: 0,
      overrides: OVERRIDES,
      experiment: `${POLICY}
cluster: { gpus: ${gpus} }
models: { kind: zoo, varieties: ${varieties}, copies: ${copies} }
workload: { kind: azure-like, functions: ${varieties * copies}, minutes: ${seconds}, rate: ${300 * gpus}/s, interval: 1s }`,
    };
  });
}

/** Paths are relative to the experiments folder. `trace`: a real day in the layout of Azure Functions 2019. */
export function benchCases(trace: string | undefined): BenchCase[] {
  const day =
    trace === undefined
      ? '{ kind: azure-like, functions: 1250, minutes: 1440, rate: 211.6/s }'
      : `{ kind: azure-2019, path: ${JSON.stringify(trace)} }`;
  const cases = [
    {
      name: '15-models-1-gpu',
      aim: 1_000_000,
      experiment: `${POLICY}
cluster: { gpus: 1, pages: 1376 }
${RESNET50.replace('COPIES', '15')}
workload: { kind: poisson, rate: 1000/s, duration: 3000s }`,
    },
    {
      name: '60-models-4-gpus',
      aim: 500_000,
      experiment: `${POLICY}
cluster: { gpus: 4, pages: 1376 }
${RESNET50.replace('COPIES', '60')}
workload: { kind: poisson, rate: 3000/s, duration: 600s }`,
    },
    {
      name: '4026-models-100-gpus',
      aim: 250_000,
      experiment: `${POLICY}
cluster: { gpus: 100, pages: 1376 }
models: { kind: zoo, varieties: 61, copies: 66 }
workload: { kind: azure-like, functions: 4026, minutes: 1, rate: 24000/s }`,
    },
    {
      name: trace === undefined ? 'azure-like-day-6-gpus' : 'azure-day-6-gpus',
      aim: 305_000,
      experiment: `${POLICY}
cluster: { gpus: 6, pages: 1376 }
models: { kind: zoo, varieties: 61, copies: 10 }
workload: ${day}`,
    },
    {
      name: '15-models-1-gpu-escapement',
      aim: 0,
      experiment: `${ESCAPEMENT}
cluster: { gpus: 1, pages: 1376 }
${RESNET50.replace('COPIES', '15')}
workload: { kind: poisson, rate: 1000/s, duration: 3000s }`,
    },
    {
      name: '60-models-4-gpus-escapement',
      aim: 0,
      experiment: `${ESCAPEMENT}
cluster: { gpus: 4, pages: 1376 }
${RESNET50.replace('COPIES', '60')}
workload: { kind: poisson, rate: 3000/s, duration: 600s }`,
    },
    {
      name: '400-models-100-gpus-escapement',
      aim: 0,
      experiment: `${ESCAPEMENT}
cluster: { gpus: 100, pages: 1376 }
${RESNET50.replace('COPIES', '400')}
workload: { kind: poisson, rate: 60000/s, duration: 20s }`,
    },
    {
      // One server, exponential times, a load of 0.8, so that other simulators can be compared.
      name: 'm-m-1',
      aim: 0,
      experiment: `policy: { kind: fifo, maxDelay: 0ms, maxBatch: 1 }\nslo: 1h\nseed: 1
cluster: { gpus: 1, network: { delay: 0ms }, noise: { distribution: exponential } }
${RESNET50.replace('COPIES', '1')}
workload: { kind: poisson, rate: ${0.8 / 0.00273}/s, duration: 3400s }`,
    },
  ];
  return cases.map((one) => ({ ...one, overrides: OVERRIDES }));
}
