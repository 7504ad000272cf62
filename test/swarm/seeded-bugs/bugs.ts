/** A bug that is put into the compiled program, to see that the swarm finds it. */
export interface SeededBug {
  readonly name: string;
  /** In dist. */
  readonly file: string;
  /** Occurs once. */
  readonly find: string;
  readonly replace: string;
}

export const BUGS: readonly SeededBug[] = [
  {
    name: 'an answer is given twice',
    file: 'live/frontend/thread/remote-service.js',
    find: 'this.requests.take(id)?.done(answer);',
    replace:
      'const request = this.requests.take(id); request?.done(answer); if (answer.batchSize > 3) request?.done(answer);',
  },
  {
    name: 'the last answer of a step is lost if there are many',
    file: 'live/controller/answers.js',
    find: 'of this.ready.splice(0))',
    replace: 'of this.ready.splice(0).slice(0, 6))',
  },
  {
    name: 'late answers say in time',
    file: 'core/retry.js',
    find: 'return inTime ? OUTCOME_OK : OUTCOME_LATE;',
    replace: 'return OUTCOME_OK;',
  },
  {
    name: 'a request whose worker is lost is not tried elsewhere',
    file: 'core/retry.js',
    find: 'case STATUS_WORKER_LOST:\n        case STATUS_ABORTED:\n            return true;',
    replace: 'case STATUS_ABORTED:\n            return true;',
  },
  {
    name: 'a seat stays taken when its driver has gone',
    file: 'live/worker/endpoint/seat.js',
    find: 'this.driver = null;\n        this.announce();',
    replace: 'this.announce();',
  },
  {
    name: 'a driver that is deposed does not learn it',
    file: 'live/worker/endpoint/seat.js',
    find: 'driver?.deposed();',
    replace: '',
  },
  {
    name: 'pages of a LOAD that failed are not free again',
    file: 'core/controller.js',
    find: 'cluster.pages[gpu].release(cluster.models[model].pages);',
    replace: '',
  },
  {
    name: 'pages of a model that a worker drops are not free again',
    file: 'core/worker.js',
    find: 'this.cache.release(this.models[model].pages);',
    replace: 'if (this.models[model].pages < 8) this.cache.release(this.models[model].pages);',
  },
  {
    name: 'windows are given in the clock of the controller',
    file: 'live/controller/link/machine-link.js',
    find: 'actions.map((action) => toMachineTime(action, offsetNs))',
    replace: 'actions.map((action) => toMachineTime(action, 0))',
  },
  {
    name: 'the end of a window is not looked at',
    file: 'core/worker.js',
    find: 'if (nowNs > latestNs)\n            this.refuse(action, STATUS_INFER_TOO_LATE, nowNs);\n        else if (!this.held',
    replace: 'if (!this.held',
  },
  {
    name: 'an action may begin before its window',
    file: 'core/worker.js',
    find: 'while (this.executing === null && this.exec.headEarliestNs <= nowNs)',
    replace: 'while (this.executing === null && this.exec.headEarliestNs <= nowNs + 1e6)',
  },
  {
    name: 'journal: GPUs that come back are left out',
    file: 'live/controller/live-controller.js',
    find: 'journal?.gpuUp(gpu, kept);',
    replace: '',
  },
  {
    name: 'journal: results come after the step that takes them in',
    file: 'live/controller/live-controller.js',
    find: 'this.options.journal?.result(action);',
    replace:
      'const late = { ...action }; this.options.clock.time.soon(() => this.options.journal?.result(late));',
  },
  {
    name: 'what waits on a GPU runs on for the next driver',
    file: 'live/worker/executor/gpu-executor.js',
    find: 'this.worker.dropWaiting();',
    replace: '',
  },
  {
    name: 'damaged messages are taken for good',
    file: 'live/wire/checked-messages.js',
    find: 'if (end < 0 || crc32(bytes.subarray(0, end)) !== bytes.readUInt32LE(end))',
    replace: 'if (end < 0)',
  },
  {
    name: 'a worker that says nothing counts as there',
    file: 'live/controller/link/heartbeat.js',
    find: 'if (this.silentIntervals * everyMs > silenceMs)\n            silent();\n        else\n            this.ping();',
    replace: 'this.ping();',
  },
  {
    name: 'a server that is to end does not wait for its answers',
    file: 'live/controller/live-controller.js',
    find: 'while (this.core.requests.size > 0 && this.nowNs() < untilNs)',
    replace: 'while (false)',
  },
  {
    name: 'the weights that a new driver finds are forgotten',
    file: 'live/controller/live-controller.js',
    find: 'this.core.gpuUp(gpu, kept);',
    replace: 'this.core.gpuUp(gpu, []);',
  },
  {
    name: 'metrics count late answers as in time, too',
    file: 'live/observe/telemetry/metrics.js',
    find: 'OUTCOME_NAMES[outcome]',
    replace: "(outcome === 1 ? 'ok' : OUTCOME_NAMES[outcome])",
  },
  {
    name: 'a lost connection is not made again after the third time',
    file: 'live/controller/link/reconnecting-link.js',
    find: 'this.reconnect = options.world.time.after(delayMs, () => this.connect(events));',
    replace:
      'this.ends = (this.ends ?? 0) + 1; if (this.ends < 3) this.reconnect = options.world.time.after(delayMs, () => this.connect(events));',
  },
];
