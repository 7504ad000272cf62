import type { OrtDeviceSpec } from '../../device.js';
import { ModelSession } from '../../ort/session.js';
import type { InferLog, OperatorRecorder } from './operator-recorder.js';
import type { HostModel } from './protocol.js';

/** A model on the device. */
interface LoadedModel {
  readonly session: ModelSession;
  /** Null: its operators are not recorded. */
  log: InferLog | null;
  /** It could not be reopened. */
  isStuck: boolean;
}

/**
 * The sessions of one host thread, and which of them are recorded. A session that is there when a recording begins is
 * replaced by one that is recorded, and that in turn when its log is long enough. Where `hasUpkeep`, call `upkeep` when
 * there is time: it does a step of that, of some ms.
 */
export class HostSessions {
  private readonly loaded = new Map<number, LoadedModel>();
  /** It was replaced and is to be closed. */
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

  /** Throws as `ModelSession.create` does. */
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
      // First the new one: without memory for it the old one must still be there.
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

  /** A model whose session should be replaced; −1: none. */
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
