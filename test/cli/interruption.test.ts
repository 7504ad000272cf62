import { afterEach, expect, it, vi } from 'vitest';
import { endBySignals } from '../../src/cli/interruption.js';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const before = new Map(SIGNALS.map((signal) => [signal, process.listeners(signal)]));
/** Those that the test added. */
const added = (signal: (typeof SIGNALS)[number]) =>
  process.listeners(signal).filter((listener) => before.get(signal)?.includes(listener) !== true);

afterEach(() => {
  for (const signal of SIGNALS) for (const listener of added(signal)) process.off(signal, listener);
  vi.restoreAllMocks();
});

it('ends the first process of a container by the signals that end any other', () => {
  const exit = vi.spyOn(process, 'exit').mockImplementation(() => undefined as never);
  vi.spyOn(process, 'listenerCount').mockReturnValue(1);
  endBySignals(1);
  for (const signal of SIGNALS) added(signal)[0]?.(signal);
  expect(exit.mock.calls).toEqual([[130], [130], [130]]);
});

it('leaves a signal to the command that handles it', () => {
  const exit = vi.spyOn(process, 'exit').mockImplementation(() => undefined as never);
  vi.spyOn(process, 'listenerCount').mockReturnValue(2);
  endBySignals(1);
  added('SIGTERM')[0]?.('SIGTERM');
  expect(exit).not.toHaveBeenCalled();
});

it('changes nothing for any other process', () => {
  endBySignals(process.pid);
  expect(SIGNALS.flatMap(added)).toEqual([]);
});
