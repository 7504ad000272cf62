import type { ClusterObserver } from './cluster.js';

/** Collects problems of a cluster's devices, each message once, in order. */
export class DeviceProblems implements ClusterObserver {
  private readonly seen = new Set<string>();
  readonly events = {
    gpuDown: (gpu: number, reason: string) => this.seen.add(`GPU ${gpu} was lost: ${reason}`),
    deviceError: (gpu: number, model: string, error: string) =>
      this.seen.add(`GPU ${gpu}, ${model}: ${error}`),
  };

  get messages(): string[] {
    return [...this.seen];
  }
}
