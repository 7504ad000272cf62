/** A bug that is put into the program, to see that the swarm finds it. */
export interface SeededBug {
  readonly name: string;
  /** In src. */
  readonly file: string;
  /** Occurs once. */
  readonly find: string;
  readonly replace: string;
  /** A plan of test/swarm/regressions that finds it. */
  readonly plan?: string;
  /** True: it is random experiments in the simulator that find it. */
  readonly isSimulated?: boolean;
}

const ANSWERS: readonly SeededBug[] = [
  {
    name: 'an answer is given twice',
    file: 'live/frontend/thread/remote-service.ts',
    find: 'request.done(answer);',
    replace: `request.done(answer);
      if (answer.batchSize > 3) request.done(answer);`,
  },
  {
    name: 'the last answers of a step are lost if there are many',
    file: 'live/controller/in-flight.ts',
    find: 'of this.ready.splice(0))',
    replace: 'of this.ready.splice(0).slice(0, 6))',
  },
  {
    name: 'late answers say in time',
    file: 'core/retry.ts',
    find: 'return inTime ? OUTCOME_OK : OUTCOME_LATE;',
    replace: 'return OUTCOME_OK;',
  },
  {
    name: 'a request whose worker is lost is not tried elsewhere',
    file: 'core/retry.ts',
    find: 'case STATUS_WORKER_LOST:\n    case STATUS_ABORTED:\n      return true;',
    replace: 'case STATUS_ABORTED:\n      return true;',
  },
  {
    name: 'a server that is to end does not wait for its answers',
    file: 'live/controller/live-controller.ts',
    find: 'while (this.core.requests.size > 0 && this.nowNs() < untilNs)',
    replace: 'while (this.nowNs() < 0)',
  },
  {
    name: 'a model is loaded where the worker lacks it',
    file: 'core/load-bars.ts',
    find: 'for (const gpu of gpus) this.absent.add(model, gpu);',
    replace: 'for (const gpu of gpus.slice(1)) this.absent.add(model, gpu);',
  },
  {
    name: 'a model that goes forgets the requests that wait for it',
    file: 'core/model-slots.ts',
    find: 'if (this.open[model] === 0 && this.isNowhere(',
    replace: 'if (this.isNowhere(',
  },
  {
    name: 'symphony gives up requests that missed its margin',
    file: 'policies/symphony/candidate.ts',
    find: 'if (this.first === queue.length) this.first = queue.firstFrom(startNs + cluster.execNs(gpu, model, b));',
    replace: '',
    plan: 'symphony-holds-a-lone-request.json',
  },
];

const LEASES_AND_LINKS: readonly SeededBug[] = [
  {
    name: 'a lease stays taken when its driver has gone',
    file: 'live/worker/endpoint/machine-endpoint.ts',
    find: 'this.driver = null;\n    this.yields = false;',
    replace: 'this.yields = false;',
    plan: 'a-driver-that-has-gone-leaves-its-lease.json',
  },
  {
    name: 'a driver that is deposed does not learn it',
    file: 'live/worker/endpoint/machine-endpoint.ts',
    find: 'driver?.deposed();',
    replace: '',
  },
  {
    name: 'a standby takes over from a controller that is well',
    file: 'live/controller/link/election.ts',
    find: "return lease.controller === '' || this.isOurs(lease) || (this.takesOver && lease.yields === true);",
    replace: 'return true;',
  },
  {
    name: 'results for an earlier driver go to the next',
    file: 'live/worker/endpoint/machine-endpoint.ts',
    find: 'this.machine.attach(NO_DRIVER)',
    replace: 'this.machine.attach(driver)',
  },
  {
    name: 'what waits on a GPU runs on for the next driver',
    file: 'live/worker/executor/executor-loop.ts',
    find: 'this.worker.dropWaiting();',
    replace: '',
  },
  {
    name: 'a worker that says nothing counts as there',
    file: 'live/controller/link/heartbeat.ts',
    find: 'if (this.silentIntervals * everyMs > silenceMs) silent();\n    else this.ping();',
    replace: 'this.ping();',
  },
  {
    name: 'a lost connection is not made again after the third time',
    file: 'live/controller/link/remote-link.ts',
    find: 'const delayMs = this.backoff.delayMs(this.nowNs());',
    replace: `const delayMs = this.backoff.delayMs(this.nowNs());
        this.ends = (this.ends ?? 0) + 1;
        if (this.ends > 2) return;`,
  },
  {
    name: 'a link that is closed connects again',
    file: 'live/controller/link/remote-link.ts',
    find: 'this.reconnect?.cancel();\n    const { connection } = this;',
    replace: 'const { connection } = this;',
  },
  {
    name: 'a worker does not register again when its connection has ended',
    file: 'live/worker/endpoint/registrar.ts',
    find: 'this.call = null;\n        this.unanswered = 0;',
    replace: 'this.unanswered = 0;',
  },
  {
    name: 'damaged messages are taken for good',
    file: 'live/wire/framing.ts',
    find: 'if (end < LENGTH_BYTES || crc32(bytes.subarray(0, end)) !== bytes.readUInt32LE(end))',
    replace: 'if (end < LENGTH_BYTES)',
    plan: 'a-message-is-damaged.json',
  },
  {
    name: 'a message that is lost on its way is not noticed',
    file: 'live/wire/framing.ts',
    find: 'if (message.number !== ++this.last)',
    replace: 'if (message.number < ++this.last)',
    plan: 'a-message-is-lost.json',
  },
];

const WEIGHTS: readonly SeededBug[] = [
  {
    name: 'pages of a LOAD that failed are not free again',
    file: 'core/controller.ts',
    find: 'cluster.pages[gpu].release(cluster.models[model].pages);',
    replace: '',
  },
  {
    name: 'pages of a model that a worker drops are not free again',
    file: 'core/worker.ts',
    find: 'this.cache.release(this.models[model].pages);',
    replace: 'if (this.models[model].pages < 8) this.cache.release(this.models[model].pages);',
  },
  {
    name: 'the weights that a new driver finds are forgotten',
    file: 'live/controller/live-controller.ts',
    find: 'this.core.gpuUp(gpu, kept, kind);',
    replace: 'this.core.gpuUp(gpu, [], kind);',
  },
  {
    name: 'the weights that a new driver finds take no pages',
    file: 'core/gpu-change.ts',
    find: 'cluster.pages[gpu].take(cluster.models[model].pages);',
    replace: '',
  },
  {
    name: 'a model is evicted while an INFER of it runs',
    file: 'core/cluster.ts',
    find: 'return this.running[gpu * this.models.length + model] > 0;',
    replace: 'return false;',
  },
  {
    name: 'an executor that starts again misses a change of models',
    file: 'live/worker/executor/executor.ts',
    find: 'for (let index = changed(); index >= 0; index = changed()) {',
    replace: 'for (let index = -1; index >= 0; index = changed()) {',
  },
];

const STARTS_AND_ENDS: readonly SeededBug[] = [
  {
    name: 'a controller whose only worker drops while it starts ends',
    file: 'serve/model-service.ts',
    find: 'if (error instanceof NoWorker) {',
    replace: 'if (error === null) {',
    plan: 'the-only-worker-drops-at-a-start.json',
  },
  {
    name: 'a server that is to end takes requests while it says goodbye to workers',
    file: 'serve/server.ts',
    find: 'await Promise.all([joining?.close(), running?.close(drainNs, noticeNs)]);',
    replace: 'await joining?.close();\n    await running?.close(drainNs, noticeNs);',
    plan: 'a-server-that-ends-takes-no-requests.json',
  },
];

const TIMES: readonly SeededBug[] = [
  {
    name: 'windows are given in the clock of the controller',
    file: 'live/controller/fleet-worker.ts',
    find: 'actions.map((action) => toMachineTime(action, offsetNs))',
    replace: 'actions.map((action) => toMachineTime(action, 0 * offsetNs))',
  },
  {
    name: 'a clock that jumps is not noticed',
    file: 'live/controller/link/clock-sync.ts',
    find: 'const contradicts = Math.abs(offsetNs - this.offsetNs) > errorNs + knownErrorNs;',
    replace: 'const contradicts = false;',
    plan: 'a-clock-jumps.json',
  },
  {
    name: 'the end of a window is not looked at',
    file: 'core/worker.ts',
    find: 'if (nowNs > latestNs) this.refuse(action, STATUS_INFER_TOO_LATE, nowNs);\n    else if (',
    replace: 'if (',
  },
  {
    name: 'an action may begin before its window',
    file: 'core/worker.ts',
    find: 'while (this.executing === null && this.exec.headEarliestNs <= nowNs)',
    replace: 'while (this.executing === null && this.exec.headEarliestNs <= nowNs + 1e6)',
  },
];

const RECORDS: readonly SeededBug[] = [
  {
    name: 'journal: GPUs that come back are left out',
    file: 'live/controller/live-controller.ts',
    find: 'journal?.gpuUp(gpu, kept, kind);',
    replace: '',
  },
  {
    name: 'journal: results come after the step that takes them in',
    file: 'live/controller/live-controller.ts',
    find: 'this.options.journal?.result(action);',
    replace:
      'const late = { ...action }; this.options.clock.time.soon(() => this.options.journal?.result(late));',
  },
  {
    name: 'metrics count late answers twice',
    file: 'live/observe/telemetry/controller-metrics.ts',
    find: 'this.ended(requests, slot, outcome);',
    replace:
      'this.ended(requests, slot, outcome);\n    if (outcome === OUTCOME_LATE) this.ended(requests, slot, outcome);',
  },
  {
    name: 'the log does not say that a worker is lost',
    file: 'live/controller/fleet.ts',
    find: 'this.events?.worker(name, false,',
    replace: 'if (reason === WORKER_SHUTS_DOWN) this.events?.worker(name, false,',
  },
];

const PIPELINES: readonly SeededBug[] = [
  {
    name: 'a join begins when the first step that it waits for ends',
    file: 'core/pipelines.ts',
    find: 'after.some((before) => open[before] !== 0)',
    replace: '(after.length > 0 && after.every((before) => open[before] !== 0))',
    isSimulated: true,
  },
  {
    name: 'a pipeline that has failed forgets what waits of it',
    file: 'core/pipelines.ts',
    find: 'for (const slot of flow.slots) host.cancel(slot);',
    replace: '',
    isSimulated: true,
  },
  {
    name: 'all requests of a step get the first row',
    file: 'live/controller/pipeline-requests.ts',
    find: 'row(flow, source, i)',
    replace: 'row(flow, source, 0)',
  },
  {
    name: 'a step has the deadline of the next',
    file: 'core/pipelines.ts',
    find: 'sloNs[slot] * pipeline.shares[s])',
    replace: 'sloNs[slot] * (pipeline.shares[s + 1] ?? 1))',
    isSimulated: true,
  },
];

export const BUGS: readonly SeededBug[] = [
  ...ANSWERS,
  ...LEASES_AND_LINKS,
  ...WEIGHTS,
  ...STARTS_AND_ENDS,
  ...TIMES,
  ...RECORDS,
  ...PIPELINES,
];
