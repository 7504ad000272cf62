import { X509Certificate } from 'node:crypto';
import { Gauge, type Registry } from 'prom-client';
import { unixMsOf } from '../../../base/clock/wall-clock.js';
import { NS_PER_S } from '../../../base/units.js';
import type { Cluster } from '../../../core/cluster.js';
import { REQUEST_FREE, REQUEST_QUEUED, type RequestTable } from '../../../core/request.js';
import type { ScalingStatus } from '../status/cluster-status.js';
import { warmModels } from '../warm-models.js';
import { ModelLabels } from './labels.js';
import { STAGE_NAMES, type Stage, type StageAverages } from './stage-averages.js';

/** Gauges of queue lengths, free pages, warm models, and GPUs in service; computed on scrape, free otherwise. */
export function registerClusterGauges(
  registry: Registry,
  { cluster, requests }: { readonly cluster: Cluster; readonly requests: RequestTable },
  /** Name of the GPU's worker; empty: none has it. */
  workerOf: (gpu: number) => string,
  /** Name of the GPU's kind. */
  kindOf: (gpu: number) => string,
): void {
  const registers = [registry];
  new Gauge({
    name: 'escapement_queued_requests',
    help: 'Requests that wait for a model',
    labelNames: ['model'],
    registers,
    collect() {
      this.reset();
      const labels = new ModelLabels(cluster.models.map(({ name }) => name));
      const queued = new Float64Array(labels.values.length);
      const { state, model } = requests;
      for (let slot = 0; slot < state.length; slot++) {
        if (state[slot] === REQUEST_QUEUED) queued[labels.indexOf(model[slot])]++;
      }
      labels.values.forEach((name, index) => {
        this.set({ model: name }, queued[index]);
      });
    },
  });
  new Gauge({
    name: 'escapement_unanswered_requests',
    help: 'Requests that wait or run',
    registers,
    collect() {
      this.set(requests.state.reduce((sum, state) => sum + (state === REQUEST_FREE ? 0 : 1), 0));
    },
  });
  registerGpuGauges(registry, cluster, workerOf, kindOf);
}

function registerGpuGauges(
  registry: Registry,
  cluster: Cluster,
  workerOf: (gpu: number) => string,
  kindOf: (gpu: number) => string,
): void {
  const registers = [registry];
  new Gauge({
    name: 'escapement_gpu_up',
    help: '1 while the GPU takes actions, 0 while it is away or another controller drives it',
    labelNames: ['gpu', 'worker'],
    registers,
    collect() {
      this.reset();
      for (let gpu = 0; gpu < cluster.gpus; gpu++) {
        const worker = workerOf(gpu);
        if (worker !== '') this.set({ gpu: String(gpu), worker }, cluster.up.has(gpu) ? 1 : 0);
      }
    },
  });
  new Gauge({
    name: 'escapement_gpu_info',
    help: 'Always 1: its labels say what kind of GPU it is',
    labelNames: ['gpu', 'kind'],
    registers,
    collect() {
      this.reset();
      for (let gpu = 0; gpu < cluster.gpus; gpu++)
        if (workerOf(gpu) !== '') this.set({ gpu: String(gpu), kind: kindOf(gpu) }, 1);
    },
  });
  new Gauge({
    name: 'escapement_free_pages',
    help: 'Pages of a weights cache that are free',
    labelNames: ['gpu'],
    registers,
    collect() {
      this.reset();
      for (let gpu = 0; gpu < cluster.gpus; gpu++)
        if (workerOf(gpu) !== '') this.set({ gpu: String(gpu) }, cluster.pages[gpu].free);
    },
  });
  new Gauge({
    name: 'escapement_warm_models',
    help: 'Models that a GPU holds',
    labelNames: ['gpu'],
    registers,
    collect() {
      for (const [gpu, models] of warmModels(cluster).entries()) this.set({ gpu: String(gpu) }, models);
    },
  });
}

/** Role of a certificate file. */
export type CertificateUse = 'server' | 'worker_authority' | 'controller_authority';

const MS_PER_S = 1000;

/** Expiry of certificates in use, and validity of their files. Without TLS there are no series. */
export class CertificateGauges {
  private readonly expiry: Gauge;
  private readonly isWell: Gauge;

  constructor(registry: Registry) {
    const own = { labelNames: ['certificate'], registers: [registry] };
    this.expiry = new Gauge({
      ...own,
      name: 'escapement_certificate_expiry_timestamp_seconds',
      help: 'When the certificate in use expires, in Unix time',
    });
    this.isWell = new Gauge({
      ...own,
      name: 'escapement_certificate_last_reload_successful',
      help: '1 if the files of the certificate hold what is in use, 0 if they cannot be used',
    });
  }

  /** Records the certificate in use, also that of the file. Of several certificates the first counts. */
  uses(certificate: CertificateUse, pem: Buffer): void {
    this.isWell.set({ certificate }, 1);
    const expiryMs = expiryOf(pem);
    if (expiryMs === null) this.expiry.remove({ certificate });
    else this.expiry.set({ certificate }, expiryMs / MS_PER_S);
  }

  /** Records that the file is unusable: the certificate in use stays. */
  failed(certificate: CertificateUse): void {
    this.isWell.set({ certificate }, 0);
  }
}

/** Null if TLS accepts the file but it cannot be parsed here. */
function expiryOf(pem: Buffer): number | null {
  try {
    return unixMsOf(new X509Certificate(pem).validTo);
  } catch {
    return null;
  }
}

/** Number of GPUs needed, for an external autoscaler. Without a scaler there is no such metric. */
export function registerNeededGpus(registry: Registry, needed: () => ScalingStatus | null): void {
  const registers = [registry];
  new Gauge({
    name: 'escapement_gpus_needed',
    help: 'GPUs that the scaler wants, including those in service',
    labelNames: ['kind'],
    registers,
    collect() {
      this.reset();
      for (const { kind, needed: gpus } of needed()?.gpus ?? []) this.set({ kind }, gpus);
    },
  });
  new Gauge({
    name: 'escapement_gpus_needed_reason',
    help: 'Always 1: its label says why this many GPUs are needed',
    labelNames: ['reason'],
    registers,
    collect() {
      this.reset();
      const reason = needed()?.reason;
      if (reason !== undefined) this.set({ reason }, 1);
    },
  });
}

/** Moving averages as a gauge, computed on scrape. Models without recent runs have no value. */
export function registerStageGauge(
  registry: Registry,
  averages: StageAverages,
  cluster: Pick<Cluster, 'models'>,
  nowNs: () => number,
): void {
  new Gauge({
    name: 'escapement_stage_seconds',
    help: 'Moving average, over about ten seconds, of the time that executed requests spent in a stage',
    labelNames: ['model', 'stage'],
    registers: [registry],
    collect() {
      this.reset();
      const atNs = nowNs();
      const labels = new ModelLabels(cluster.models.map(({ name }) => name));
      labels.values.forEach((model, label) => {
        const models = labels.modelsOf(label);
        STAGE_NAMES.forEach((stage, index) => {
          const meanNs = averages.meanNs(models, index as Stage, atNs);
          if (meanNs !== null) this.set({ model, stage }, meanNs / NS_PER_S);
        });
      });
    },
  });
}

/** Gauge of whether the journal ended early, absent without a journal. Returns a function to call then. */
export function registerJournalGauge(registry: Registry): () => void {
  const help = '1 once the journal could not be written any more, otherwise 0';
  const failed = new Gauge({ name: 'escapement_journal_failed', help, registers: [registry] });
  return () => failed.set(1);
}
