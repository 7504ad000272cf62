import { firstLine } from './run.js';

/**
 * What is asked of each GPU, with the names that it has had, newest first. Driver 535 renamed throttle reasons to "event
 * reasons"; compute_cap and mig.mode.current came with 5xx and 450.
 */
export const FIELDS = {
  index: ['index'],
  uuid: ['uuid'],
  name: ['name'],
  driver: ['driver_version'],
  busId: ['pci.bus_id'],
  computeCapability: ['compute_cap'],
  persistence: ['persistence_mode'],
  computeMode: ['compute_mode'],
  mig: ['mig.mode.current'],
  throttle: ['clocks_event_reasons.active', 'clocks_throttle_reasons.active'],
  graphicsMhz: ['clocks.current.graphics'],
  maxGraphicsMhz: ['clocks.max.graphics'],
  applicationsGraphicsMhz: ['clocks.applications.graphics'],
  applicationsMemoryMhz: ['clocks.applications.memory'],
  defaultApplicationsGraphicsMhz: ['clocks.default_applications.graphics'],
  defaultApplicationsMemoryMhz: ['clocks.default_applications.memory'],
  utilizationPercent: ['utilization.gpu'],
  eccMode: ['ecc.mode.current'],
  eccCorrected: ['ecc.errors.corrected.volatile.total'],
  eccUncorrected: ['ecc.errors.uncorrected.volatile.total'],
  memoryTotalMib: ['memory.total'],
  memoryFreeMib: ['memory.free'],
  powerLimitW: ['power.limit'],
  powerMaxLimitW: ['power.max_limit'],
} as const satisfies Record<string, readonly string[]>;

export type Field = keyof typeof FIELDS;
export const ALL_FIELDS = Object.keys(FIELDS) as readonly Field[];

/** What nvidia-smi printed for each field; one that was not asked or that the driver does not know is absent. */
export type Row = Readonly<Partial<Record<Field, string>>>;

/** The value of a field; null where the GPU or driver has none. */
export function reported(row: Row, field: Field): string | null {
  const text = row[field];
  return text === undefined || NO_VALUE.test(text) ? null : text;
}

export function reportedNumber(row: Row, field: Field): number | null {
  const text = reported(row, field);
  return text !== null && /^\d+(\.\d+)?$/.test(text) ? Number(text) : null;
}

/** Why there is no value, in nvidia-smi's words. */
export function notReported(row: Row, field: Field): string {
  const text = row[field];
  return text === undefined
    ? 'not supported by this driver'
    : `nvidia-smi says: ${firstLine(text.replace(/^\[|\]$/g, ''))}`;
}

/** [N/A], [Not Supported], [Unknown Error], [Insufficient Permissions], [Requested functionality …]. */
const NO_VALUE = /^(\[.*\]|N\/A|)$/s;
