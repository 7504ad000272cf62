import type { OrtDeviceSpec } from '../../device.js';
import { ModelSession } from '../../ort/session.js';
import type { InferLog, OperatorRecorder } from './operator-recorder.js';
import type { HostModel } from './protocol.js';

/** A model on the device. */
interface LoadedModel {
  readonly session: ModelSession;
  /** Null: its operators are not recorded. */
  log: InferLog | null;
  /** True if it could not be reopened. */
  isStuck: boolean;
}

/**
 * Sessions of one host thread, recorded or not. A session that exists when a recording begins is replaced by a recorded
 * one, and that in turn when its log is long enough. If `hasUpkeep`, call `upkeep` when idle: it does one step of that,
 * taking some ms.
 */
export class HostSessions {
  private readonly loaded = new Map<number, LoadedModel>();
  /** Replaced session, to be closed. */
  private replaced: LoadedModel | null = null;

  constructor(
    private readonly device: OrtDeviceSpec,
    /** By index among the models of the machine. */
    private readonly models: ReadonlyMap<number, HostModel>,
    private readonly recorder: OperatorRecorder,
  ) {}

  get(model: number): LoadedModel | undefined {
    return this.loaded.get(model);
  }

  /** Throws like `ModelSession.create`. */
  async open(index: number): Promise<LoadedModel> {
    const { model, bytes } = this.models.get(index) as HostModel;
    const log = this.recorder.newLog();
    const { signature, spec } = model;
    const session = await ModelSession.create(bytes, signature, spec.batchSizes, this.device, log?.prefix);
    return { session, log, isStuck: false };
  }

  async load(model: number): Promise<void> {
    await this.unload(model);
    this.loaded.set(model, await this.open(model));
  }

  async unload(model: number): Promise<void> {
    const held = this.loaded.get(model);
    this.loaded.delete(model);
    if (held !== undefined) await this.close(held);
  }

  async close({ session, log }: LoadedModel): Promise<void> {
    if (log !== null) this.recorder.end(session, log);
    await session.release();
  }

  get hasUpkeep(): boolean {
    const { recorder } = this;
    return this.replaced !== null || recorder.isBehind || (recorder.isOn && this.oldModel() >= 0);
  }

  /** Never throws. */
  async upkeep(): Promise<void> {
    const { replaced } = this;
    if (replaced?.log) this.endLog(replaced);
    else if (replaced !== null) {
      this.replaced = null;
      await replaced.session.release().catch(() => {});
    } else if (this.recorder.isBehind) {
      const recorded = this.recorded();
      if (recorded === undefined) this.recorder.follow();
      else this.endLog(recorded);
    } else await this.renew(this.oldModel());
  }

  private async renew(model: number): Promise<void> {
    const held = this.loaded.get(model);
    if (held === undefined) return;
    try {
      // The new one first: if memory does not suffice, the old one must still exist.
      this.loaded.set(model, await this.open(model));
      this.replaced = held;
    } catch {
      held.isStuck = true;
      if (held.log !== null) this.endLog(held);
    }
  }

  private endLog(held: LoadedModel): void {
    if (held.log !== null) this.recorder.end(held.session, held.log);
    held.log = null;
  }

  /** A model whose session should be replaced, or −1. */
  private oldModel(): number {
    for (const [model, { log, isStuck }] of this.loaded)
      if (!isStuck && this.recorder.isOld(log)) return model;
    return -1;
  }

  private recorded(): LoadedModel | undefined {
    for (const held of this.loaded.values()) if (held.log !== null) return held;
    return undefined;
  }
}
