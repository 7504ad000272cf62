import type { EscapementError } from '../base/errors.js';
import type { DiskAndTime } from '../base/world/disk.js';
import { JournalWriter } from '../live/journal/journal-writer.js';
import type { Assembly, ClusterObserver } from './cluster.js';

/** Writes all inputs of a cluster's core to a journal. */
export class JournalObserver implements ClusterObserver {
  readonly inputs: JournalWriter;
  /** True if the server never started: a journal without requests is useless. */
  startFailed = false;

  /** Like `JournalWriter`: the file gets another number if `name` exists; throws `E_FILE_WRITE`. */
  constructor(
    name: string,
    { cluster: { spec }, settings }: Assembly,
    onFailure: (error: EscapementError) => void,
    world: DiskAndTime = {},
  ) {
    const { policy, sloNs, admission, missedWindow, classes = [], padding = 'batch' } = settings;
    const tenants = settings.tenants?.list ?? [];
    const header = {
      ...{ spareModels: 0, spareBatch: 1, spareGpus: 0, oneLane: false, ...spec },
      ...{ policy, defaultSloNs: sloNs, admission, missedWindow, padding },
      ...(tenants.length === 0 ? {} : { tenants }),
      ...(classes.length === 0
        ? {}
        : { classes: classes.map(({ name, weight, share }) => ({ name, weight, share })) }),
    };
    this.inputs = new JournalWriter(name, header, onFailure, world);
  }

  get path(): string {
    return this.inputs.path;
  }

  ended(digest: string): Promise<void> {
    return this.startFailed ? this.inputs.discard(digest) : this.inputs.close(digest);
  }
}
