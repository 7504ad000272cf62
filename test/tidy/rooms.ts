import type { Grants } from './walls.js';

/**
 * What each room (a folder of src) may import besides itself. The controller, the workers and the policies must run
 * unchanged under any clock, so nothing above leaks into `core` and `policies`.
 */
export const ROOMS: Grants = {
  base: [],
  core: ['base'],
  // Checks what the others claim, so it shares no code with them but the reading of files.
  audit: ['base'],
  policies: ['base', 'core'],
  // Like policies pure: they decide how many GPUs there are.
  scalers: ['base', 'core', 'policies'],
  bounds: ['base', 'core'],
  sim: ['base', 'core'],
  workload: ['base', 'core'],
  text: ['base'],
  record: ['base', 'core', 'text'],
  config: ['base', 'core', 'bounds', 'policies', 'scalers', 'sim', 'workload', 'record'],
  report: ['base', 'record', 'text'],
  live: ['base', 'core', 'record'],
  load: ['base', 'core', 'record', 'live'],
  // Data as people have it: logs, measurements.
  import: ['base', 'core', 'workload', 'config', 'live'],
  // Where experiments, models on disk and live mode meet.
  serve: ['base', 'core', 'scalers', 'workload', 'record', 'config', 'live'],
  run: [
    ...[
      'base',
      'core',
      'bounds',
      'scalers',
      'sim',
      'workload',
      'text',
      'record',
      'config',
      'report',
      'live',
      'load',
    ],
    'serve',
  ],
  // What a web page gets: nothing that it reaches imports Node's modules.
  browser: ['base', 'core', 'policies', 'record', 'config', 'run'],
  // Web pages: the playground, which runs the simulator, and that of a running server.
  play: [
    ...['base', 'core', 'policies', 'workload', 'record', 'text', 'config', 'report', 'live', 'run'],
    'browser',
  ],
  tools: ['base', 'core', 'record', 'text', 'config', 'report', 'live', 'load', 'serve', 'play'],
  cli: [
    ...['base', 'core', 'audit', 'policies', 'workload', 'record', 'text', 'config', 'report', 'live'],
    ...['import', 'load', 'serve', 'run', 'tools', 'play'],
  ],
  // src/index.ts, the public door: command line and benchmarks are no part of the library.
  index: ['core', 'bounds', 'policies', 'sim', 'workload', 'record', 'config', 'run'],
};

/** Lines that each room may have. A room that needs more takes a library or drops something; files may be of any length. */
export const BUDGETS: Readonly<Record<string, number>> = {
  audit: 2_150,
  base: 1_915,
  bounds: 1_500,
  browser: 125,
  cli: 5_085,
  config: 5_070,
  core: 5_550,
  index: 30,
  live: 24_025,
  load: 2_020,
  play: 4_105,
  policies: 7_625,
  record: 4_820,
  report: 5_910,
  run: 5_765,
  scalers: 865,
  serve: 4_210,
  sim: 1_235,
  text: 295,
  tools: 3_230,
  import: 2_665,
  workload: 3_045,
};
/** Files of src. A file is one idea: under 60 lines with one importer it is rarely one of its own. */
export const MOST_FILES = 790;

/**
 * Walls inside rooms: what each folder of a room may import of the same room. `own` is the files that lie in the room
 * itself; one with a line of its own lies above them.
 */
export const WINGS: Readonly<Record<string, Grants>> = {
  base: { own: [], files: ['own', 'world'], random: [], world: [], clock: ['world'], limits: [] },
  // No policy knows another.
  policies: {
    own: [],
    common: ['own'],
    'alpaserve-sr': ['own', 'common'],
    clipper: ['own', 'common'],
    clockwork: ['own', 'common'],
    edf: ['own', 'common'],
    edgeserving: ['own', 'common'],
    escapement: ['own', 'common'],
    fifo: ['own', 'common'],
    nexus: ['own', 'common'],
    shepherd: ['own', 'common'],
    symphony: ['own', 'common'],
    registry: [
      ...['own', 'alpaserve-sr', 'clipper', 'clockwork', 'edf', 'edgeserving', 'escapement', 'fifo', 'nexus'],
      ...['shepherd', 'symphony'],
    ],
  },
  workload: {
    own: [],
    files: ['own'],
    generators: ['own'],
    'azure-like': ['own'],
    'arrivals-source': ['own', 'files'],
    'offered-mix': ['own', 'files', 'azure-like'],
    'trace-info': ['own', 'files'],
    'trace-write': ['own', 'files'],
    open: ['own', 'files', 'generators', 'azure-like', 'arrivals-source'],
    'open-on-disk': ['own', 'open'],
  },
  record: { own: [], flight: ['own'] },
  live: {
    // What the wings agree on: devices, models, messages, services.
    own: [],
    wire: ['own'],
    // What live mode takes from the machine that it runs on.
    world: ['wire'],
    journal: [],
    onnx: [],
    ort: ['own', 'onnx'],
    // Samples are decoded as requests are.
    models: ['own', 'ort', 'onnx', 'frontend'],
    worker: ['own', 'ort', 'wire', 'world'],
    controller: ['own', 'journal', 'wire', 'world', 'worker'],
    frontend: ['own', 'wire', 'world'],
    observe: ['own', 'wire', 'frontend'],
  },
  report: {
    own: [],
    thresholds: [],
    // What results say, without a way to show it.
    study: ['own'],
    policies: ['own', 'study'],
    compare: ['own'],
    // How it is shown.
    charts: ['own', 'study', 'policies'],
    html: ['own', 'charts'],
    terminal: ['own', 'policies', 'compare', 'pages'],
    pages: ['own', 'study', 'policies', 'compare', 'charts', 'html'],
  },
  import: { own: [], trace: ['own'], profiles: ['own'], init: ['own'] },
  run: { own: [], calibrate: ['own'], sweep: ['own'], plan: ['own', 'sweep'], queue: ['sweep'] },
  tools: { bench: [], doctor: [], play: [], profile: [], top: [] },
  play: {
    // What page and engine say to each other.
    own: [],
    share: [],
    engine: ['own'],
    timeline: ['own'],
    charts: ['timeline'],
    page: ['own', 'share', 'timeline', 'charts'],
    // The page of a running server.
    live: ['own', 'share', 'timeline', 'charts'],
  },
};
