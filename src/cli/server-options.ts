import { HOST_VARIABLE } from '../config/host-variable.js';
import { PROVIDERS } from '../live/device.js';
import { DEFAULT_CLIENT_REQUESTS, DEFAULT_CONNECTIONS } from '../live/frontend/limits.js';
import { MOST_NAMED_MODELS } from '../live/observe/telemetry/labels.js';
import { LOG_LEVELS } from '../live/observe/telemetry/log-level.js';
import { MEASURES, MODEL_CONTROLS } from '../serve/deployment-options.js';
import { plugin } from './common-options.js';
import {
  address,
  choice,
  duration,
  file,
  group,
  list,
  option,
  port,
  positiveDuration,
  share,
  size,
  text,
  toggle,
  whole,
} from './options.js';

const LOCAL_HOST = '127.0.0.1';

/** Settings of commands that execute models. */
export const runtimeFlags = group('Settings', {
  experiment: text('Experiment file whose runtime section applies'),
  set: list('Override a runtime setting, e.g. runtime.intraOpThreads=2'),
});

/** Folder for files made from models. */
export const cacheFlags = group('Models and GPUs', {
  'cache-dir': text(
    'Folder for optimized models and profiles',
    'next to each model; ~/.cache/escapement if that is read-only',
  ),
});

/** Flags of every process with GPUs of its own: `serve` and `worker`. */
export const machineFlags = group('Models and GPUs', {
  repository: list('Models to serve, as NAME/VERSION/model.onnx'),
  ...cacheFlags,
  measure: choice(MEASURES).or(
    'quick',
    'Measure new models: none: fewest runs; quick: refined when idle; full: until stable',
  ),
  budget: duration('Time for each model', '150ms; full: 3s'),
  device: text.or(
    'cpu',
    `Execution provider: ${PROVIDERS.join(', ')}; or simulated:PROFILE[,PROFILE...], which needs no models`,
  ),
  gpus: whole(1).or(1, 'GPUs of this process'),
  adapter: whole(0).or(0, 'Index of the first GPU, where the device has several'),
  memory: size("Size of each GPU's weights cache", '8GiB, or what runtime.memoryReserve leaves'),
  'page-size': size.or('16MiB', 'Size of its pages'),
  copies: whole(1).or(1, 'Copies of each profile that a simulated device serves'),
  'time-scale': option(timeScaleOf).or(
    '1',
    'Factor by which a simulated device is slower; 0: it takes no time',
  ),
});

/** Selection of the repository's models that a server runs. */
export const deploymentFlags = group('Models and GPUs', {
  'model-control': choice(MODEL_CONTROLS).or(
    'all',
    'Models that run: all, and clients may load and unload; none: all, and clients may not; explicit: those of --load-model, and what clients load; poll: what the repository holds',
  ),
  'load-model': list('With --model-control explicit: load this model at the start; *: every one'),
  'poll-interval': duration('With --model-control poll: polling interval', '15s'),
  'idle-unload': positiveDuration.orOff(
    'off',
    'Free the memory of a model without requests for this long; the next one loads it',
  ),
  strict: toggle('Fail the start if a model cannot be served'),
});

/** The execution provider of onnxruntime that a command uses. */
export const deviceFlags = group('Device', {
  device: choice(PROVIDERS).or('cpu', 'Execution provider'),
  adapter: whole(0).or(0, 'Index of the GPU, where the provider can choose one'),
});

/** Flags of every process that listens. */
export const listenFlags = {
  ...group('Network', {
    host: {
      ...address.or(
        LOCAL_HOST,
        `Address to listen on; 0.0.0.0: every network; environment variable: ${HOST_VARIABLE}`,
      ),
      default: () => process.env[HOST_VARIABLE] || LOCAL_HOST,
      defaultDescription: LOCAL_HOST,
    },
    'metrics-port': port.orOff('8002', 'Port of /metrics for Prometheus; off: none'),
  }),
  ...group('Security', {
    'token-file': file('File with the token that clients must send'),
    'tls-cert': { ...file("This server's certificate (PEM); requires --tls-key"), implies: 'tls-key' },
    'tls-key': { ...file('Its private key (PEM)'), implies: 'tls-cert' },
  }),
  ...group('Log', {
    'log-level': choice(LOG_LEVELS).or(
      'info',
      'Minimum level of the log on stderr, in JSON lines unless that is a terminal',
    ),
  }),
};

/** Path of a run's journal; null: not kept. */
export const journalFlag = text(
  'Record every input of the scheduler to this file, for replay; if it exists, to FILE.1, FILE.2, …',
);

export const serverExperiment = text(
  'Experiment file whose slo, policy, plugins, admission, classes, tenants, padding, scaler, pipelines and runtime apply',
);

/** Flags of every process with a controller: `serve` and `controller`. */
export const serverFlags = {
  ...group('Settings', {
    experiment: serverExperiment,
    set: list('Override one of those, e.g. policy.scheduleAhead=5ms'),
    plugin,
  }),
  ...group('Network', {
    'http-port': port.orOff('8000', 'Port for HTTP; off: none, 0: any free port'),
    'grpc-port': port.orOff('8001', 'Port for gRPC; off: none, 0: any free port'),
    'max-body': size.or('64MiB', 'Largest request body'),
    'max-batch': whole(1).or(256, 'Largest batch of one request'),
    'max-json': size.or('4MiB', 'Largest JSON in a request body; tensors can also be sent as binary data'),
    frontends: whole(1).or(1, 'Threads of each transport; more than 1 needs Node 22.12 or newer'),
    'max-inflight': size(
      'Most memory for bodies and answers in flight',
      '1GiB, or a quarter of the memory if that is less',
    ),
    'max-connections': whole(1).or(
      DEFAULT_CONNECTIONS,
      'Most connections for HTTP and gRPC together; half of them from one address',
    ),
    'max-client-requests': whole(1).orOff(
      DEFAULT_CLIENT_REQUESTS,
      'Most requests in flight per address; off: no limit',
    ),
    cors: text('Let pages of this origin use HTTP; *: any'),
    ui: toggle('Web page at /ui/ of --metrics-port'),
    'drain-notice': duration.or('0s', 'On SIGTERM, keep serving for this long while reporting not ready'),
    drain: duration.or('30s', 'After that, how long requests may take to finish'),
  }),
  ...group('Log', {
    'metrics-models': whole(1).or(MOST_NAMED_MODELS, 'Most models named in metrics'),
    journal: journalFlag,
    'journal-keep': size.orOff('10GiB', 'Total size of journals to keep; off: keep all'),
    otlp: option(collectorOf)(
      'Send spans of requests to this OpenTelemetry collector, e.g. http://127.0.0.1:4318',
    ),
    'otlp-sample': {
      ...share('Share of requests to trace if clients do not decide', '1%, or what OTEL_TRACES_SAMPLER says'),
      implies: 'otlp',
    },
  }),
};

/** URL at which a collector takes traces. */
function collectorOf(given: string): URL {
  if (!URL.canParse(given) || !/^https?:/i.test(given))
    throw new Error('must be a URL such as http://127.0.0.1:4318');
  const url = new URL(given);
  if (url.pathname === '/') url.pathname = '/v1/traces';
  return url;
}

function timeScaleOf(given: string): number {
  const scale = given.trim() === '' ? Number.NaN : Number(given);
  if (scale >= 0 && Number.isFinite(scale)) return scale;
  throw new Error('must be a number, at least 0');
}
