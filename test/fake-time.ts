import { afterEach, beforeEach, vi } from 'vitest';

type Timers = NonNullable<NonNullable<Parameters<typeof vi.useFakeTimers>[0]>['toFake']>;

/** Time stands still in each test of a file or group but for what it advances. Default: all timers are faked. */
export function useFakeTime(toFake?: Timers): void {
  beforeEach(() => void vi.useFakeTimers(toFake && { toFake }));
  afterEach(() => void vi.useRealTimers());
}
