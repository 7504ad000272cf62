import { type GpuSnapshot, type History, type HistoryEvent, nameOf } from '../history/history.js';
import { pagesOn } from '../scenario/scenario.js';
import { type Check, Findings } from './finding.js';

/** What a device holds, by what it was seen to do. */
class DeviceWeights {
  readonly present = new Set<string>();
  loading: { readonly action: number; readonly model: string } | null = null;
  executing: { readonly action: number; readonly model: string } | null = null;
}

/** As published it evicts what was used least recently, whether it runs or not. */
const EVICTS_WHAT_RUNS = 'clockwork';

/**
 * No device holds more than its cache, and none loses weights that it uses. In a quiet moment the controller that drives a GPU
 * knows exactly what the GPU holds, and counts its pages right.
 */
export const weights: Check = {
  name: 'weights',
  run(history: History) {
    return new WeightsCheck(history).run();
  },
};

class WeightsCheck {
  private readonly findings = new Findings('weights');
  /** By the name of the worker and its GPU. */
  private readonly devices = new Map<string, DeviceWeights>();
  private readonly pages: ReadonlyMap<string, number>;

  constructor(private readonly history: History) {
    this.pages = new Map(history.scenario.cluster.models.map(({ name, pages }) => [name, pages]));
  }

  run() {
    for (const event of this.history.events) {
      if (event.kind === 'executorStarted')
        for (const gpu of event.gpus)
          this.devices.set(`${nameOf(event.process)} ${gpu}`, new DeviceWeights());
      else if (event.kind === 'began' && event.what === 'LOAD') this.beginLoad(event);
      else if (event.kind === 'began') this.checkPresent(event);
      else if (event.kind === 'ended') this.end(event);
      else if (event.kind === 'unloaded') this.unload(event);
      else if (event.kind === 'snapshot' && event.drives && event.actions === 0)
        for (const gpu of event.gpus) this.compare(gpu, event.atNs, event.process);
    }
    return this.findings.list;
  }

  private device({ process, gpu }: { readonly process: string; readonly gpu: number }): DeviceWeights {
    const key = `${nameOf(process)} ${gpu}`;
    const device = this.devices.get(key) ?? new DeviceWeights();
    this.devices.set(key, device);
    return device;
  }

  private beginLoad(event: Extract<HistoryEvent, { readonly kind: 'began' }>): void {
    const device = this.device(event);
    const machine = this.history.scenario.cluster.machines.find(({ name }) => name === nameOf(event.process));
    if (machine?.lacks?.includes(event.model) === true)
      this.findings.add(
        event.atNs,
        `LOAD ${event.action} begins on ${event.process}, which lacks ${event.model}`,
      );
    device.present.delete(event.model);
    device.loading = event;
    const used = this.pagesOf([...device.present, event.model]);
    const pages = pagesOn(this.history.scenario.cluster, nameOf(event.process));
    if (used <= pages) return;
    const what = `LOAD ${event.action} of ${event.model} begins on ${event.process}, GPU ${event.gpu}: it would hold ${used} of ${pages} pages`;
    this.findings.add(event.atNs, what, (one) => 'action' in one && one.action === event.action);
  }

  private checkPresent(event: Extract<HistoryEvent, { readonly kind: 'began' }>): void {
    const device = this.device(event);
    device.executing = event;
    if (device.present.has(event.model)) return;
    const what = `INFER ${event.action} begins on ${event.process}, GPU ${event.gpu}, which does not hold ${event.model}`;
    this.findings.add(event.atNs, what, (one) => 'model' in one && one.model === event.model);
  }

  private end(event: Extract<HistoryEvent, { readonly kind: 'ended' }>): void {
    const device = this.device(event);
    if (device.executing?.action === event.action) device.executing = null;
    if (device.loading?.action !== event.action) return;
    if (event.isOk) device.present.add(device.loading.model);
    device.loading = null;
  }

  private unload(event: Extract<HistoryEvent, { readonly kind: 'unloaded' }>): void {
    const device = this.device(event);
    device.present.delete(event.model);
    const { cluster } = this.history.scenario;
    if (device.executing?.model !== event.model || cluster.policy.kind === EVICTS_WHAT_RUNS) return;
    const what = `${event.model} is unloaded on ${event.process}, GPU ${event.gpu}, while INFER ${device.executing.action} of it runs`;
    this.findings.add(event.atNs, what, (one) => 'gpu' in one && one.gpu === event.gpu);
  }

  private compare({ worker, gpu, warm, freePages }: GpuSnapshot, atNs: number, controller: string): void {
    const present = [...(this.devices.get(`${worker} ${gpu}`)?.present ?? [])].sort();
    const concerns = (event: HistoryEvent) =>
      'gpu' in event && event.gpu === gpu && nameOf(event.process) === worker;
    const believed = [...warm].sort();
    if (believed.join() !== present.join()) {
      const what = `${controller} believes that GPU ${gpu} of ${worker} holds [${believed}], and it holds [${present}]`;
      this.findings.add(atNs, what, concerns);
      return;
    }
    const free = pagesOn(this.history.scenario.cluster, worker) - this.pagesOf(present);
    if (free === freePages) return;
    const what = `${controller} counts ${freePages} free pages on GPU ${gpu} of ${worker}, and there are ${free}`;
    this.findings.add(atNs, what, concerns);
  }

  private pagesOf(models: readonly string[]): number {
    return models.reduce((sum, model) => sum + (this.pages.get(model) ?? 0), 0);
  }
}
